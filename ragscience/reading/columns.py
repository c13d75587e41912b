"""The reading order of a page: columns are found by the white between them, zones of columns by lines across it."""

import re
from collections import Counter
from collections.abc import Sequence

from ragscience.reading.headers_footers import find_zones
from ragscience.reading.side_by_side import side_by_side
from ragscience.reading.text_rows import Region, Row, make_rows, make_segments, runs

_CAPTION = re.compile(r"(?:Figure|Fig\.|Table|TABLE|FIGURE|Algorithm)\s?\d+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_WIDE = 0.15
"""Share of the page's width: shorter lines do not show where a column ends."""
_LETTERS = 12
_FULL = 0.6
"""Share of a region's width: a wider line is in no column."""
_LEAST_WHITE = 0.8
"""Share of the white between two columns that is between two pieces on one line of both."""
_LEAST_GAP = 0.5
"""In font sizes: more than the word spaces of most lines."""
_MANY = 15
"""Lines of a column that may begin at several indents, at least."""
_MOST_COLUMNS = 4
"""Papers have no more columns of running text."""


def reading_order(segments: Sequence[Row], page_width: float) -> list[Region]:
    """The regions of a page in reading order."""
    return _ordered(list(segments), page_width, _MOST_COLUMNS)


def _ordered(segments: list[Row], page_width: float, depth: int) -> list[Region]:
    if not segments:
        return []
    if depth < 2:
        return [_region(part) for part in side_by_side(segments)]
    if white := _gutter(segments, page_width):
        return _in_columns(segments, white, page_width, depth - 1)
    regions: list[Region] = []
    for band, white in _bands(segments, page_width):
        if white:
            regions += _in_columns(band, white, page_width, depth - 1)
        else:
            regions += [_region(part) for part in side_by_side(band)]
    return regions


def _in_columns(segments: list[Row], white: tuple[float, float], page_width: float, depth: int) -> list[Region]:
    """The regions of segments that stand in columns on both sides of the white."""
    gutter = (white[0] + white[1]) / 2
    segments = _without_bridges(segments, white)
    width = max(row.x1 for row in segments) - min(row.x0 for row in segments)
    if any(row.x0 < gutter < row.x1 and row.x1 - row.x0 < 0.6 * width and _CAPTION.match(row.text) for row in segments):
        # Text next to floats of several widths looks like columns.
        parts = side_by_side(segments)
        if len(parts) > 1:
            return [region for part in parts for region in _ordered(part, page_width, depth)]
    regions = []
    for is_spanning, zone in find_zones(segments, gutter):
        if is_spanning:
            regions += [_region(part) for part in side_by_side(zone)]
        else:
            sides = [[row for row in zone if ((row.x0 + row.x1) / 2 < gutter) == is_left] for is_left in (True, False)]
            regions += [region for side in sides for region in _ordered(side, page_width, depth)]
    return regions


def _bands(segments: list[Row], page_width: float) -> list[tuple[list[Row], tuple[float, float] | None]]:
    """The segments in bands from top to bottom, with the white between the columns of a band that has some.

    Such a band stands between lines of the whole width: a first page may have two columns below its title and its
    abstract, too few lines to show on the whole page.
    """
    low, high = min(row.x0 for row in segments), max(row.x1 for row in segments)
    is_wide = {id(row): row.x1 - row.x0 > _FULL * (high - low) for row in segments}
    ordered = sorted(segments, key=lambda row: (row.base, row.x0))
    bands: list[tuple[list[Row], tuple[float, float] | None]] = [([], None)]
    for band in runs(ordered, lambda band, row: is_wide[id(band[-1])] == is_wide[id(row)]):
        # Text next to a float with its caption is for side_by_side.
        may_be = not is_wide[id(band[0])] and not any(_CAPTION.match(row.text) for row in band)
        white = _gutter(band, page_width, is_band=True) if may_be else None
        if white and _are_prose([row for row in band if row.x1 - row.x0 >= _WIDE * page_width], sum(white) / 2):
            bands += [(band, white), ([], None)]
        else:
            bands[-1][0].extend(band)
    return [band for band in bands if band[0]]


def _are_prose(wide: list[Row], gutter: float) -> bool:
    """Whether most lines on both sides, and three at least, are words and as wide as their side."""
    for side in ([row for row in wide if row.x1 <= gutter], [row for row in wide if row.x0 >= gutter]):
        width = max((row.x1 for row in side), default=0.0) - min((row.x0 for row in side), default=0.0)
        prose = [row for row in side if row.x1 - row.x0 > 0.8 * width and len(_WORD.findall(row.text)) >= 4]
        if len(prose) < max(3, 0.6 * len(side)):
            return False
    return True


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


def _without_bridges(segments: list[Row], white: tuple[float, float]) -> list[Row]:
    """The segments, those of two columns that were taken for one line made anew on each side of the white.

    A column may begin nearer to the other than the words of a table stand to each other, and an index may join a line
    of one column to a line of the other. No piece of such a segment is in the white between the columns.
    """
    low, high = white
    middle = (low + high) / 2
    bridges: list[Row] = []
    for row in segments:
        left = max((piece.x1 for piece in row.pieces if piece.x1 <= middle), default=None)
        right = min((piece.x0 for piece in row.pieces if piece.x0 >= middle), default=None)
        if left is None or right is None or any(piece.x0 < middle < piece.x1 for piece in row.pieces):
            continue
        if right - left >= max(_LEAST_WHITE * (high - low), _LEAST_GAP * row.size):
            bridges.append(row)
    if not bridges:
        return segments
    ids = set(map(id, bridges))
    pieces = [piece for row in bridges for piece in row.pieces]
    sides = ([piece for piece in pieces if (piece.x1 <= middle) == is_left] for is_left in (True, False))
    parts = [part for side in sides for part in make_segments(side)]
    return sorted([*(row for row in segments if id(row) not in ids), *parts], key=lambda row: (row.base, row.x0))


def _gutter(segments: list[Row], page_width: float, *, is_band: bool = False) -> tuple[float, float] | None:
    """The left and right edge of the white between two columns of running text, or None.

    In a band of a page, the short last line of a paragraph counts as one that begins below the others.
    """
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
    white = _least_crossed(segments, low + best[1], low + best[2])
    return white if _are_columns(wide, segments if is_band else wide, sum(white) / 2) else None


def _least_crossed(segments: list[Row], low: int, high: int) -> tuple[float, float]:
    """The widest part of the white from `low` to `high` with the fewest short lines in it.

    The numbers of a list of references stand between its lines and the other column.
    """
    short = [(row.x0, row.x1) for row in segments if low < row.x1 and row.x0 < high]
    counts = [sum(x0 < x < x1 for x0, x1 in short) for x in range(low, high + 1)]
    least = min(counts)
    parts = runs(
        (low + number for number, count in enumerate(counts) if count == least), lambda run, x: x == run[-1] + 1
    )
    widest = max(parts, key=len)
    return float(widest[0]), float(widest[-1])


def _are_columns(wide: list[Row], segments: list[Row], gutter: float) -> bool:
    """Whether on both sides of a gutter lines begin below each other, at common heights."""
    sides = [row for row in wide if row.x1 <= gutter + 2], [row for row in wide if row.x0 >= gutter - 2]
    if min(map(len, sides)) < 3:
        return False
    if not (all(_is_aligned(side, segments) for side in sides) or _are_indented(*sides)):
        return False
    (top, bottom), (other_top, other_bottom) = (
        (min(row.y0 for row in side), max(row.y1 for row in side)) for side in sides
    )
    return min(bottom, other_bottom) - max(top, other_top) > 2 * wide[0].size


def _is_aligned(side: list[Row], segments: list[Row]) -> bool:
    """Whether many wide lines of a side begin at one x, and at least three of all segments."""
    starts = Counter(round(row.x0 / 2) for row in side)
    every = Counter(round(row.x0 / 2) for row in segments)
    start = max(starts, key=lambda one: starts[one] + starts[one + 1])
    return every[start] + every[start + 1] >= 3 and starts[start] + starts[start + 1] >= 0.35 * len(side)


def _are_indented(left: list[Row], right: list[Row]) -> bool:
    """Whether two columns have many lines at few indents: code, or a list of references below the text.

    The rows of a table have common base lines; two columns with type of several sizes have few.
    """
    for side in (left, right):
        starts = Counter(round(row.x0 / 2) for row in side)
        if len(side) < _MANY or sum(count for count in starts.values() if count >= 3) < 0.7 * len(side):
            return False
    bases = [row.base for row in right]
    common = sum(any(abs(row.base - base) < 0.5 for base in bases) for row in left)
    return common < 0.5 * len(left)
