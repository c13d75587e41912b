"""Zones of a page with columns: parts of its height that span the columns, and parts with columns side by side."""

from __future__ import annotations

import re
from collections import Counter

from ragscience.reading.text_rows import Row

__all__ = ["find_zones"]

_CAPTION = re.compile(r"(?:Figure|Fig\.|Table|TABLE|FIGURE|Algorithm)\s?\d+")
_ITEM_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Z]|[IVX]+)(?:\.\d{1,2}){0,3}[.:)]?|\[\d{1,3}\]|[•–—-]")
_LETTERS = 12


def find_zones(segments: list[Row], gutter: float) -> list[tuple[bool, list[Row]]]:
    """Zones of the page from top to bottom: those that span the gutter, and those with columns next to it.

    Not every row of a spanning table, or of names under a title, crosses the gutter: lines between or next to spanning
    lines that are not running text of a column belong to their zone.
    """
    spanning = [row for row in segments if row.x0 < gutter - 4 and row.x1 > gutter + 4]
    body = _running_text(segments, gutter)
    rest = [row for row in segments if id(row) not in body and row not in spanning]
    lines = [row for row in segments if id(row) in body]
    marks = sorted([(row.base, False) for row in lines] + [(row.base, True) for row in spanning])
    bounds: list[tuple[bool, float, float]] = []
    for base, is_spanning in marks:
        if bounds and bounds[-1][0] == is_spanning:
            bounds[-1] = is_spanning, bounds[-1][1], base
        else:
            bounds.append((is_spanning, base, base))
    if not bounds:
        return [(False, segments)]
    zones: list[tuple[bool, list[Row]]] = [(is_spanning, []) for is_spanning, _, _ in bounds]
    for base, row in sorted([(row.base, row) for row in segments], key=lambda item: (item[0], item[1].x0)):
        is_rest = any(row is one for one in rest)
        zones[_zone_of(base, row, bounds, is_rest)][1].append(row)
    _to_captions(zones, bounds, {id(row) for row in rest})
    return [zone for zone in zones if zone[1]]


def _to_captions(zones: list[tuple[bool, list[Row]]], bounds: list[tuple[bool, float, float]], rest: set[int]) -> None:
    """Move tables and figures of a column from a spanning zone to a nearer caption in a column."""
    for index, (is_spanning, rows) in enumerate(zones):
        if not is_spanning:
            continue
        _, top, bottom = bounds[index]
        for other, loose, edge in (
            (index + 1, [row for row in rows if row.base > bottom and id(row) in rest], bottom),
            (index - 1, [row for row in rows if row.base < top and id(row) in rest], top),
        ):
            if not loose or not 0 <= other < len(zones) or not zones[other][1]:
                continue
            near = (min if other > index else max)(zones[other][1], key=lambda row: row.base)
            level = [row for row in zones[other][1] if abs(row.base - near.base) < near.size]
            low, high = min(row.base for row in loose), max(row.base for row in loose)
            to_text, to_spanning = (near.base - high, low - edge) if other > index else (low - near.base, edge - high)
            if any(_CAPTION.match(row.text) for row in level) and to_text < min(to_spanning, 3 * near.size):
                rows[:] = [row for row in rows if row not in loose]
                zones[other][1].extend(loose)
                zones[other][1].sort(key=lambda row: (row.base, row.x0))


def _zone_of(base: float, row: Row, bounds: list[tuple[bool, float, float]], is_rest: bool) -> int:
    for index, (_, top, bottom) in enumerate(bounds):
        if top - 0.01 <= base <= bottom + 0.01:
            return index
        if base < top:
            if index == 0:
                return 0
            before = bounds[index - 1]
            if not is_rest:
                return index
            # Between two zones: in the spanning one, unless it is close to the text.
            to_before, to_after = base - before[2], top - base
            if before[0] == bounds[index][0]:
                return index if to_after < to_before else index - 1
            spanning, gap_to_text = (index - 1, to_after) if before[0] else (index, to_before)
            text = index if before[0] else index - 1
            return text if gap_to_text < 1.3 * row.size else spanning
    return len(bounds) - 1


def _are_number_and_name(row: Row, other: Row) -> bool:
    """Whether one of two segments of a line is the number of the other, of a heading or a list's item."""
    first, second = sorted((row, other), key=lambda one: one.x0)
    return bool(_ITEM_NUMBER.fullmatch(first.text)) and second.x0 - first.x1 < 3 * first.size


def _running_text(segments: list[Row], gutter: float) -> set[int]:
    """The ids of running text: segments alone on their line, as wide as the column or next to such a line."""
    found: set[int] = set()
    left = [row for row in segments if row.x1 <= gutter + 4]
    right = [row for row in segments if row.x0 >= gutter - 4 and row.x1 > gutter + 4]
    for side in filter(None, (left, right)):
        lengths = sorted(row.x1 - row.x0 for row in side)
        width = lengths[int(0.9 * (len(lengths) - 1))]
        starts = Counter(round(row.x0 / 2) for row in side if row.x1 - row.x0 > 0.6 * width)
        usual = 2 * starts.most_common(1)[0][0] if starts else 0
        alone = [
            row
            for number, row in enumerate(side)
            if not any(
                abs(other.base - row.base) < 0.6 * row.size and not _are_number_and_name(row, other)
                for other in (*side[max(0, number - 2) : number], *side[number + 1 : number + 3])
            )
        ]
        lines = [row for row in alone if row.x1 - row.x0 > 0.6 * width and len(row.text) >= _LETTERS]
        found.update(map(id, lines))
        for step, gap, indent in ((1, 1.7, 3.0), (-1, 3.0, 0.0)):
            last: Row | None = None
            for row in alone[::step]:
                is_next = last is not None and step * (row.base - last.base) < gap * row.size
                if id(row) in found or (is_next and abs(row.x0 - usual) < (indent * row.size or 3)):
                    found.add(id(row))
                    last = row
    return found
