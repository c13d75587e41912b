"""Answers from passages: quotes, wording, checking, and questions of other kinds."""
