"""The reading order of a page: columns are found by the white between them, zones of columns by lines across it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ragscience.reading.side_by_side import side_by_side
from ragscience.reading.text_rows import Region, Row, make_rows

__all__ = ["reading_order"]

_CAPTION = re.compile(r"(?:Figure|Fig\.|Table|TABLE|FIGURE|Algorithm)\s?\d+")
_WIDE = 0.15
"""Share of the page's width: shorter lines do not show where a column ends."""
_LETTERS = 12
_MOST_COLUMNS = 4
"""Papers have no more columns of running text."""


def reading_order(segments: Sequence[Row], page_width: float) -> list[Region]:
    """The regions of a page in reading order."""
    return _ordered(list(segments), page_width, _MOST_COLUMNS)


def _ordered(segments: list[Row], page_width: float, depth: int) -> list[Region]:
    if not segments:
        return []
    gutter = _gutter(segments, page_width) if depth > 1 else None
    if gutter is None:
        return [_region(part) for part in side_by_side(segments)]
    width = max(row.x1 for row in segments) - min(row.x0 for row in segments)
    if any(row.x0 < gutter < row.x1 and row.x1 - row.x0 < 0.6 * width and _CAPTION.match(row.text) for row in segments):
        # Text next to floats of several widths looks like columns.
        parts = side_by_side(segments)
        if len(parts) > 1:
            return [region for part in parts for region in _ordered(part, page_width, depth - 1)]
    regions = []
    for is_spanning, zone in _zones(segments, gutter):
        if is_spanning:
            regions += [_region(part) for part in side_by_side(zone)]
        else:
            sides = [[row for row in zone if ((row.x0 + row.x1) / 2 < gutter) == is_left] for is_left in (True, False)]
            regions += [region for side in sides for region in _ordered(side, page_width, depth - 1)]
    return regions


def _region(segments: list[Row]) -> Region:
    x0, x1 = min(row.x0 for row in segments), max(row.x1 for row in segments)
    rows: list[Row] = []
    rest = segments
    for sides in _side_captions(segments, x0, x1):
        left = set(map(id, rest))
        neighbors, caption = ([row for row in side if id(row) in left] for side in sides)
        if not neighbors or not caption:
            continue
        ids = {id(row) for row in (*neighbors, *caption)}
        top = min(row.base for row in (*neighbors, *caption))
        rows += make_rows([row for row in rest if row.base < top and id(row) not in ids])
        rest = [row for row in rest if row.base >= top and id(row) not in ids]
        parts = (neighbors, caption) if neighbors[0].x0 < caption[0].x0 else (caption, neighbors)
        rows += [row for part in parts for row in make_rows(part)]
    return Region((*rows, *make_rows(rest)), x0, x1)


def _side_captions(segments: list[Row], x0: float, x1: float) -> list[tuple[list[Row], list[Row]]]:
    """(the float's lines, the caption's lines) for each caption left or right of its float, from top to bottom."""
    found = []
    for first in segments:
        width = x1 - x0
        match = _CAPTION.match(first.text)
        if first.x1 - first.x0 > 0.75 * width or not match:
            continue
        if match.end() == len(first.text) and any(
            row is not first and abs(row.x0 - first.x0) < 2 and _CAPTION.fullmatch(row.text) for row in segments
        ):
            # A column of a table that refers to other tables.
            continue
        lines = [first]
        for row in segments:
            if abs(row.x0 - first.x0) < 2 and 0 < row.base - lines[-1].base < 1.5 * first.size:
                lines.append(row)
        for is_right in (True, False):
            side = _beside(segments, lines, x0, x1, is_right)
            if side:
                found.append(side)
                break
    return found


def _beside(
    segments: list[Row], lines: list[Row], x0: float, x1: float, is_right: bool
) -> tuple[list[Row], list[Row]] | None:
    """The lines on the other side and those on the caption's side of its edge, as far as no line crosses the edge.

    With `is_right` the caption is on the right, else on the left.
    """
    edge = min(row.x0 for row in lines) - 2 if is_right else max(row.x1 for row in lines) + 2
    if edge < x0 + 0.25 * (x1 - x0) if is_right else edge > x1 - 0.25 * (x1 - x0):
        return None
    crossing = [row.base for row in segments if row.x0 < edge < row.x1]
    top = max((base for base in crossing if base < lines[0].base), default=0.0)
    bottom = min((base for base in crossing if base > lines[0].base), default=float("inf"))
    if bottom <= lines[-1].base:
        return None
    bottom = min(bottom, lines[-1].base + lines[-1].size)
    near = [row for row in segments if top < row.base < bottom]
    right = [row for row in near if row.x0 >= edge]
    left = [row for row in near if row.x1 <= edge]
    other, own = (left, right) if is_right else (right, left)
    level = [row for row in other if lines[0].y0 - 2 * lines[0].size < row.base < lines[-1].y1 + lines[0].size]
    return (other, own) if len(level) >= 2 and len(other) >= 4 else None


def _gutter(segments: list[Row], page_width: float) -> float | None:
    """The middle of the white between two columns of running text, or None."""
    wide = [row for row in segments if row.x1 - row.x0 >= _WIDE * page_width and len(row.text) >= _LETTERS]
    if len(wide) < 6:
        return None
    low, high = int(min(row.x0 for row in wide)), int(max(row.x1 for row in wide)) + 1
    length = high - low + 2
    ends, starts = [0] * length, [0] * length
    for row in wide:
        starts[int(row.x0) - low] += 1
        ends[min(int(row.x1) + 1 - low, length - 1)] += 1
    best: tuple[int, int, int] | None = None
    left, begun, total = 0, 0, len(wide)
    run_start = 0
    for x in range(length):
        left += ends[x]
        right = total - begun
        begun += starts[x]
        crossing = total - left - right
        balance = min(left, right)
        if balance >= 3 and crossing <= left + right:
            score = balance - crossing
            if best is None or score > best[0]:
                best, run_start = (score, x, x), x
            elif score == best[0] and best[2] == x - 1 and best[1] == run_start:
                best = (score, run_start, x)
    if best is None:
        return None
    middle = low + (best[1] + best[2]) / 2
    return middle if _are_columns(wide, middle) else None


def _are_columns(wide: list[Row], gutter: float) -> bool:
    """Whether on both sides of a gutter lines begin below each other, at common heights."""
    sides = [row for row in wide if row.x1 <= gutter + 2], [row for row in wide if row.x0 >= gutter - 2]
    reach = []
    for side in sides:
        if len(side) < 3:
            return False
        starts = Counter(round(row.x0 / 2) for row in side)
        aligned = max(count + starts[start + 1] for start, count in starts.items())
        if aligned < max(3, 0.35 * len(side)):
            return False
        reach.append((min(row.y0 for row in side), max(row.y1 for row in side)))
    (top, bottom), (other_top, other_bottom) = reach
    return min(bottom, other_bottom) - max(top, other_top) > 2 * wide[0].size


def _zones(segments: list[Row], gutter: float) -> list[tuple[bool, list[Row]]]:
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
                abs(other.base - row.base) < 0.6 * row.size
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
