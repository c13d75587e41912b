"""Checks every sentence of an answer against the pages that it cites."""
