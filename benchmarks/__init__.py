"""Measurements of this project beside the plain reading of the guide, in one run and as ratios."""
