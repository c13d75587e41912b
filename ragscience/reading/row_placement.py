"""Rows in reading order, each with what is around it, and what is usual in the whole document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ragscience.reading.columns import Region
from ragscience.reading.text_rows import Row
from ragscience.records import Box

__all__ = ["LaidPage", "Measures", "Placed", "is_prose", "measure", "place_rows", "widest_gap"]

_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class LaidPage:
    """A page's regions in reading order, and where lines and pictures are drawn on it."""

    number: int
    width: float
    height: float
    regions: tuple[Region, ...]
    rules: tuple[Box, ...]
    drawings: tuple[Box, ...]


@dataclass(slots=True)
class Placed:
    """A row in its column; what it is is found out step by step."""

    row: Row
    page: int
    region: int
    """Counts the document's regions."""
    left: float
    right: float
    """Between which the lines of its column usually stand, in points."""
    above: float | None
    """Points to the base line of the row above in its region, None for the first."""
    kind: str = ""
    level: int = 0
    group: int = 0
    """Rows of the same number, not 0, are one table, figure or caption."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What is usual in a document's running text."""

    size: float
    font: str
    leading: float
    """Points between two base lines."""


def place_rows(pages: Sequence[LaidPage]) -> list[Placed]:
    """The rows of all pages, in reading order."""
    placed = []
    region_number = 0
    for page in pages:
        for region in page.regions:
            region_number += 1
            left, right = _edges(region)
            before: Row | None = None
            for row in region.rows:
                above = row.base - before.base if before else None
                placed.append(Placed(row, page.number, region_number, left, right, above))
                before = row
    return placed


def _edges(region: Region) -> tuple[float, float]:
    width = region.x1 - region.x0
    wide = [row for row in region.rows if row.x1 - row.x0 > 0.6 * width]
    if len(wide) < 3:
        return region.x0, region.x1
    starts = Counter(round(row.x0) for row in wide)
    ends = sorted(row.x1 for row in wide)
    return float(starts.most_common(1)[0][0]), ends[int(0.8 * (len(ends) - 1))]


def measure(placed: Sequence[Placed]) -> Measures:
    """The type size and font of most characters, and the line spacing in them."""
    sizes: Counter[float] = Counter()
    fonts: Counter[str] = Counter()
    for one in placed:
        sizes[round(one.row.size * 2) / 2] += len(one.row.text)
        fonts[one.row.font] += len(one.row.text)
    size = sizes.most_common(1)[0][0] if sizes else 10.0
    gaps = [
        one.above
        for one in placed
        if one.above and abs(one.row.size - size) < 0.6 and 0.9 * size < one.above < 2.5 * size
    ]
    leading = median(gaps) if gaps else 1.2 * size
    return Measures(size, fonts.most_common(1)[0][0] if fonts else "", leading)


def is_prose(one: Placed, measures: Measures) -> bool:
    """Whether a row is a line of running text: as wide as its column, made of words, in the usual size or about it."""
    row = one.row
    if row.x1 - row.x0 < 0.7 * (one.right - one.left) or row.size < 0.88 * measures.size or row.turn:
        return False
    words = _WORD.findall(row.text)
    return len(words) >= 4 and sum(map(len, words)) > 0.55 * len(row.text) and widest_gap(row) < 1.6 * row.size


def widest_gap(row: Row) -> float:
    """The widest white between two pieces of a row, in points."""
    widest, right = 0.0, row.pieces[0].x1
    for piece in row.pieces[1:]:
        widest = max(widest, piece.x0 - right)
        right = max(right, piece.x1)
    return widest
