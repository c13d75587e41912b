"""Floats side by side on a part of a page, or a float next to the text that flows around it.

They are found by a caption and by white space next to it that runs past several lines, however narrow it is.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragscience.reading.text_rows import Row, split_row

_CAPTION = re.compile(r"(?:Figure|Fig\.|Table|TABLE|FIGURE)\s?[A-Z]?\.?\d{1,3}[a-z]?\s*(?P<end>[:.|]|$|\s)")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST = 0.15
"""Share of a region's width: the least width of a side."""
_LEAST_LINES = 4
"""Lines on each side: fewer may have white at one x by chance."""
_FAR = 2.8
"""In font sizes: the largest distance between two lines of a float."""
_SPARSE = 12.0
"""In font sizes: the largest distance between two labels of a figure."""
_LEVEL = 4.0
"""In font sizes: the largest difference in height of the captions of two floats side by side."""
_GAP = 0.3
"""In font sizes: the least white before a caption within a row; most word spaces are smaller."""
_WORDS = 4
"""Words in a line of running text next to a float, at least."""


@dataclass(frozen=True, slots=True)
class _Zone:
    """A part of a page between two heights, with white space at x."""

    top: float
    bottom: float
    x: float


def side_by_side(segments: Sequence[Row]) -> list[list[Row]]:
    """The segments of a region in parts, in reading order: the left side before the right side.

    There is one part where nothing is side by side. A segment that spans both sides is split.
    """
    starts = sorted(caption_starts(segments), key=lambda item: item[1].base)
    region = _Rest(segments, starts)
    parts: list[list[Row]] = []
    for start, caption in starts:
        zone = _zone_of(region, start, caption) if caption.base > region.above else None
        if zone is None:
            continue
        left, right = _sides([row for row in region.rows if zone.top <= row.base <= zone.bottom], zone.x)
        parts += [[row for row in region.rows if row.base < zone.top], left, right]
        region = _Rest([row for row in region.rows if row.base > zone.bottom], starts, zone.bottom)
    return [part for part in (*parts, region.rows) if part]


class _Rest:
    """What is left of a region below `above`."""

    def __init__(self, rows: Sequence[Row], starts: Sequence[tuple[float, Row]], above: float = float("-inf")) -> None:
        self.rows, self.above = list(rows), above
        self.left = min((row.x0 for row in rows), default=0.0)
        self.right = max((row.x1 for row in rows), default=0.0)
        self.starts = [start for start in starts if start[1].base > above]
        """(x, row) of each caption in it."""
        self._down = sorted(rows, key=lambda row: row.base)
        self._bases = [row.base for row in self._down]

    def near(self, base: float, far: float) -> Sequence[Row]:
        """The rows whose base line is less than `far` away."""
        return self._down[bisect_right(self._bases, base - far) : bisect_left(self._bases, base + far)]


def caption_starts(segments: Sequence[Row]) -> Iterator[tuple[float, Row]]:
    """(x, row) of each place where a caption begins, also within a row."""
    for row in segments:
        if not _CAPTION.search(row.text):
            continue
        right = float("-inf")
        for number, piece in enumerate(row.pieces):
            words = " ".join(part.text.strip() for part in row.pieces[number : number + 4])
            match = _CAPTION.match(words)
            if match and _begins(match, words, number, piece.x0 - right > _GAP * row.size):
                yield piece.x0, row
            right = piece.x1


def _begins(match: re.Match[str], words: str, number: int, is_apart: bool) -> bool:
    """Whether a caption begins at this piece of a row, rather than a sentence's "Table 3." or a table's cell."""
    if number == 0:
        return match.end() < len(words) or bool(match["end"])
    return is_apart and (match["end"] in (":", "|") or (match["end"] == "." and match.end() < len(words)))


def _zone_of(region: _Rest, start: float, caption: Row) -> _Zone | None:
    """The zone of the caption that begins at x `start` of a row, or None where nothing is next to its float."""
    margin = _LEAST * (region.right - region.left)
    for x in (round(start - 1, 1), *sorted(_aligned(region.near(caption.base, 6 * caption.size), caption, start))):
        is_inside = region.left + margin < x < region.right - margin
        zone = _zone(region.rows, region.starts, caption, x) if is_inside else None
        if zone is not None:
            return zone
    return None


def _aligned(segments: Sequence[Row], caption: Row, start: float) -> set[float]:
    """Each x where at least three lines near a caption begin, right of its start, or end, left of it."""
    found: dict[float, set[float]] = {}
    for row in segments:
        ahead = row.base - caption.base
        for piece in row.pieces:
            if piece.x0 > start + 1 and abs(ahead) < 3 * caption.size:
                found.setdefault(round(piece.x0) - 1.5, set()).add(row.base)
            elif piece.x1 < start - 1:
                found.setdefault(3 * round(piece.x1 / 3) + 3.0, set()).add(row.base)
    return {x for x, bases in found.items() if len(bases) >= 3}


def _zone(segments: Sequence[Row], starts: Sequence[tuple[float, Row]], caption: Row, x: float) -> _Zone | None:
    """How far the white at x reaches from a caption, next to another float or to running text."""
    top, bottom = float("-inf"), float("inf")
    for row in segments:
        if row.x0 < x - 0.3 and row.x1 > x + 0.3 and any(p.x0 < x - 0.3 and p.x1 > x + 0.3 for p in row.pieces):
            if abs(row.base - caption.base) < 0.3 * caption.size:
                return None
            if row.base < caption.base:
                top = max(top, row.base)
            else:
                bottom = min(bottom, row.base)
    sides = _sides([row for row in segments if top < row.base < bottom], x)
    if any(len({round(row.base) for row in side}) < _LEAST_LINES for side in sides):
        return None
    captions = [[row for at, row in starts if (at < x) == is_left and top < row.base < bottom] for is_left in (1, 0)]
    pairs = [
        (one, other)
        for one in captions[0]
        for other in captions[1]
        if abs(one.base - other.base) < _LEVEL * one.size and caption in (one, other)
    ]
    if pairs:
        return _around_floats(sides, pairs[0], x)
    for text, floating, theirs in ((sides[0], sides[1], captions[1]), (sides[1], sides[0], captions[0])):
        if caption in theirs:
            return _around_text(text, floating, caption, x)
    return None


def _around_floats(sides: tuple[list[Row], list[Row]], captions: tuple[Row, Row], x: float) -> _Zone:
    """The zone of two floats: as far as lines follow each other on both sides."""
    tops, bottoms = [], []
    for side, caption in zip(sides, captions, strict=True):
        is_figure = caption.text.lstrip()[:3].lower() == "fig"
        tops.append(_reach(side, caption, -1, float("inf") if is_figure else _FAR))
        bottoms.append(_reach(side, caption, 1, _FAR))
    bottom = max(bottoms)
    # A table that begins lower than the one next to it ends below it.
    for side in sides:
        for row in sorted(side, key=lambda row: row.base):
            if bottom < row.base < bottom + 1.4 * row.size:
                bottom = row.base
    return _Zone(min(tops) - 0.1, bottom + 0.1, x)


def _reach(side: Sequence[Row], caption: Row, step: int, far: float) -> float:
    """The base line of the last row above (-1) or below (1) a caption without a wide gap on the way."""
    last = caption.base
    for row in sorted(side, key=lambda row: step * row.base):
        ahead = step * (row.base - last)
        if ahead <= 0:
            continue
        is_text = far == float("inf") and _fills(row, side)
        if ahead > far * caption.size or is_text:
            break
        last = row.base
    return last


def _fills(row: Row, side: Sequence[Row]) -> bool:
    """Whether a row is a line of running text, as wide as its side."""
    width = max(other.x1 for other in side) - min(other.x0 for other in side)
    words = _WORD.findall(row.text)
    return row.x1 - row.x0 > 0.8 * width and len(words) >= _WORDS and sum(map(len, words)) > 0.55 * len(row.text)


def _around_text(text: Sequence[Row], floating: Sequence[Row], caption: Row, x: float) -> _Zone | None:
    """The zone of the running text next to a float, or None unless it reaches above and below the caption."""
    full = sorted((row for row in text if _fills(row, text)), key=lambda row: row.base)
    size = caption.size
    if len(full) < _LEAST_LINES or len(full) < 0.5 * len(text):
        return None
    last = caption.base
    for row in floating:
        if 0 < row.base - last < 1.5 * size and abs(row.x0 - caption.x0) < 3:
            last = row.base
    if full[0].base > caption.base + 0.6 * size or full[-1].base < last - 1.6 * size:
        return None
    # A float may reach above the text next to it; rows below it may belong to the next float.
    top, bottom = min(full[0].base, _reach(floating, caption, -1, _SPARSE)), full[-1].base
    end = _reach(floating, caption, 1, _FAR)
    if any(row.base > end for row in floating):
        bottom = max((row.base for row in text if row.base < end + 1.6 * size), default=end)
    # The last line of a paragraph is short; the float may reach below it.
    for side in (text, floating):
        for row in sorted(side, key=lambda row: row.base):
            if bottom < row.base < bottom + 1.6 * size:
                bottom = row.base
    return _Zone(top - 0.4 * size, bottom + 0.1, x)


def _sides(segments: Sequence[Row], x: float) -> tuple[list[Row], list[Row]]:
    sides: tuple[list[Row], list[Row]] = [], []
    for row in segments:
        for part in split_row(row, x) if row.x0 < x < row.x1 else (row,):
            sides[(part.x0 + part.x1) / 2 >= x].append(part)
    return sides
