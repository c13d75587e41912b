"""Answers from what a search found: worded by an LLM or quoted, with each citation checked."""
