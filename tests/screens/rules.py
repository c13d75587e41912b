"""What every screen keeps to, and what of it differs from run to run."""

import re

DATA = re.compile(r"--json\b|\bbib\b|--md\b")
"""Commands whose result is for a program: what they write is never wrapped, whatever the screen."""
ESCAPE = re.compile(r"\x1b|\x9b|\[[0-9;]{1,9}m|\]8;")
OF_ONE_RUN = re.compile(r"^milliseconds +|^ok +disk +")
MARKS = "“”»«…\"'`()[],.;:•|─━┄┈"
"""What may stand before or behind a word on one screen and not on another."""


def _zeros(found):
    return re.sub(r"\d", "0", found[0])


MASKS = (
    (re.compile(r"/tmp/home-\w{8}"), "/tmp/home-xxxxxxxx"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?=\b|T)|(?<![\d.:])\d\d:\d\d(?::\d\d)?(?![\d.:])"), _zeros),
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


def words(rows):
    """What stands between blanks or hyphens on a screen, without the marks around it."""
    parts = (part for row in settled(rows) for word in row.split() for part in re.split(r"(?<=\w[-/])(?=\w)", word))
    return {bare for part in parts if (bare := part.strip(MARKS))}


def settled(rows):
    """The rows masked; what has figures of one run or one machine all over ends where they begin."""
    kept, cut = [], ""
    for row in rows:
        if cut and row.startswith("   "):
            cut += row
            continue
        found = OF_ONE_RUN.search(row)
        cut = row if found else ""
        kept.append(f"{row[: found.end()]}#" if found else masked(row))
    return kept


def escape_codes(step):
    """The rows in which the rest of an escape code is to be read."""
    return [row for row in step.shown if ESCAPE.search(row)]
