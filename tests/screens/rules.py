"""What every screen keeps to, and what of it differs from run to run."""

import re

__all__ = ["broken_words", "escape_codes", "is_data", "masked", "passes_width"]

DATA = re.compile(r"--json\b|\bbib\b|--md\b")
"""Commands whose result is for a program: what they write is never wrapped, whatever the screen."""
ESCAPE = re.compile(r"\x1b|\x9b|\[[0-9;]{1,9}m|\]8;")
MASKS = (
    (re.compile(r"/tmp/home-\w{8}"), "/tmp/home-xxxxxxxx"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([T ])\d\d:\d\d"), r"0000-00-00\g<1>00:00"),
    (re.compile(r"(?<=00:00):\d\d\b"), ":00"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "x" * 12),
    (re.compile(r"\b\d{1,5}(?:\.\d{1,2})? (s|seconds|GiB|MB/s)\b"), r"# \1"),
)


def masked(text):
    """The text without what is of one run or one machine; most masks are as long as what they stand for."""
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text


def is_data(line):
    return bool(DATA.search(line))


def passes_width(step):
    """The rows that the terminal had to break, but for those with a single word wider than the screen."""
    return [] if is_data(step.line) else [row for row in step.broken if " " in row.strip()]


def broken_words(step, wide, columns):
    """The words on the screen that are not on the wide one; what is wider than the screen has to be broken."""
    if is_data(step.line):
        return []
    whole = {word for row in wide.shown for word in masked(row).split()}
    pieces = {word for word in whole if len(word) > columns}
    return [
        word
        for row in step.shown
        for word in masked(row).split()
        if word not in whole and not any(word in piece for piece in pieces)
    ]


def escape_codes(step):
    """The rows in which the rest of an escape code is to be read."""
    return [row for row in step.shown if ESCAPE.search(row)]
