"""Sentences, words and numbers of a text, and the page that each stretch of a passage is on."""
