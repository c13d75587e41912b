"""Where each entry of a list of references begins."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["reference_starts"]

_BRACKET = re.compile(r"\s*\[(\d{1,3})\]")
_DOT = re.compile(r"\s*(\d{1,3})\.(?:\s|$)")
_LABEL = re.compile(r"\s*\[[A-Z][\w+&’'-]{1,12}\d{2}[a-z]?\]|\s*\[[A-Z][^\]]{2,40}\(?(?:19|20)\d\d[a-z]?\)?\]")
_NAME = re.compile(r"[^\W\d_][\w.’'\-]*(?:[ ,.]|$)")
_ENDED = re.compile(r"[.)\]”\"/]\s*$|\d\s*$")
_MOST_INDENT_PT = 40.0
_LEAST_INDENT_PT = 4.0
_MOST_SKIPPED = 3
"""Numbers that may be missing between one entry and the next: a page that could not be read, or a damaged digit."""


def reference_starts(lines: Sequence[tuple[str, float]]) -> tuple[int, ...]:
    """Places of the lines that begin an entry, among the lines of a list of references in reading order.

    A line is its text and where it begins, in points from the left. Numbers in brackets or before a dot decide, then
    labels ("[Knu86]"), then a hanging indent, then a line with a name after one that ends as entries end.
    """
    for pattern in (_BRACKET, _DOT):
        numbered = _counted(lines, pattern)
        if len(numbered) >= max(2, len(lines) // 12):
            return numbered
    labelled = tuple(place for place, (text, _) in enumerate(lines) if _LABEL.match(text))
    if len(labelled) >= max(2, len(lines) // 12):
        return labelled
    bases = _bases([left for _, left in lines])
    if bases:
        return tuple(place for place, (_, left) in enumerate(lines) if round(left) in bases)
    return tuple(
        place
        for place, (text, _) in enumerate(lines)
        if place == 0
        or (_NAME.match(text.lstrip()) and text.lstrip()[:1].isupper() and _ENDED.search(lines[place - 1][0]))
    )


def _counted(lines: Sequence[tuple[str, float]], pattern: re.Pattern[str]) -> tuple[int, ...]:
    """Lines whose numbers count up; others ("12. Springer, 2003" within an entry) are left out."""
    starts: list[int] = []
    last = 0
    for place, (text, _) in enumerate(lines):
        match = pattern.match(text)
        if match and last < int(match[1]) <= last + 1 + (_MOST_SKIPPED if starts else 0):
            starts.append(place)
            last = int(match[1])
    return tuple(starts)


def _bases(lefts: Sequence[float]) -> frozenset[int]:
    """The left edges, in whole points, that other lines are indented from, one or two a column; empty without indents.

    A column whose lines all begin at its edge holds no entries that go on in a second line, or has no hanging indent.
    """
    edges = Counter(round(left) for left in lefts)
    common = sorted(edge for edge, times in edges.items() if times >= max(2, 0.02 * len(lefts)))
    bases = set()
    for edge in common:
        is_indented = any(_LEAST_INDENT_PT <= edge - other <= _MOST_INDENT_PT for other in common)
        has_indented = any(_LEAST_INDENT_PT <= other - edge <= _MOST_INDENT_PT for other in common)
        if has_indented and not is_indented:
            bases.update({edge - 1, edge, edge + 1})
    inside = sum(times for edge, times in edges.items() if edge in bases)
    return frozenset(bases) if 0 < inside < 0.9 * len(lefts) else frozenset()
