"""Pieces become segments, and segments become rows: what reads as one line, with its text.

A segment is a run of pieces on one base line with word spaces between them, indices and exponents included. A row is
all that stands on a line of its column, however wide the gaps.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from ragscience.reading.text_cleaning import mend_accents
from ragscience.reading.text_spans import ASCENT, DESCENT, Piece, Span
from ragscience.records import Box

__all__ = [
    "LaidPage",
    "Measures",
    "Placed",
    "Region",
    "Row",
    "is_prose",
    "join_spans",
    "make_rows",
    "make_segments",
    "measure",
    "place_rows",
    "split_row",
    "widest_gap",
]

_WIDE_GAP = 0.9
"""In font sizes: justified lines have word spaces of up to 0.8, columns of tables begin at about 1."""
_SMALL = 0.85
"""An index is at most so large as the text that it belongs to."""
_TOUCHING = 0.12
"""In font sizes: letters nearer than this belong to one word. Word spaces begin at 0.2."""
_ORDINAL = re.compile("(?:st|nd|rd|th)$")
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Row:
    """Text on a line: of a column, or of a part of it."""

    pieces: tuple[Piece, ...]
    """From left to right, as they are read."""
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    text: str
    font: str
    """Of most of its characters."""
    bold: bool
    italic: bool
    turn: int

    @property
    def box(self) -> Box:
        """In the frame in which it is read."""
        return self.x0, self.y0, self.x1, self.y1


@dataclass(frozen=True, slots=True)
class Region:
    """Rows that are read one after the other, from top to bottom."""

    rows: tuple[Row, ...]
    x0: float
    x1: float


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


def make_segments(pieces: Sequence[Piece]) -> list[Row]:
    """The segments of pieces that have one turn, from top to bottom."""
    groups = [group for line in _base_lines(pieces) for group in _split_at_gaps(line)]
    groups = _with_indices(groups)
    return sorted((_row(group) for group in groups), key=lambda row: (row.base, row.x0))


def make_rows(segments: Sequence[Row]) -> list[Row]:
    """The rows that the segments of one column make, from top to bottom."""
    rows: list[list[Row]] = []
    for segment in sorted(segments, key=lambda segment: (segment.base, segment.x0)):
        if rows and segment.base - rows[-1][0].base <= 0.3 * min(segment.size, rows[-1][0].size):
            rows[-1].append(segment)
        else:
            rows.append([segment])
    return [row[0] if len(row) == 1 else _row([piece for part in row for piece in part.pieces]) for row in rows]


def split_row(row: Row, x: float) -> list[Row]:
    """The part of a row left of x and the one right of it, by the middles of its pieces; the row where one is empty."""
    sides: tuple[list[Piece], list[Piece]] = [], []
    for piece in row.pieces:
        sides[(piece.x0 + piece.x1) / 2 >= x].append(piece)
    return [_row(side) for side in sides] if all(sides) else [row]


def _base_lines(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces by base line; two that overlap are not on one line, whatever their base lines say."""
    lines: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (piece.base, piece.x0)):
        last = lines[-1][0] if lines else None
        if (
            last
            and piece.base - last.base <= 0.2 * min(piece.size, last.size)
            and _SMALL**2 <= piece.size / last.size <= 1 / _SMALL**2
        ):
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return lines


def _split_at_gaps(line: list[Piece]) -> list[list[Piece]]:
    line.sort(key=lambda piece: piece.x0)
    groups = [[line[0]]]
    right = line[0].x1
    for piece in line[1:]:
        if piece.x0 - right > _WIDE_GAP * piece.size:
            groups.append([piece])
        else:
            groups[-1].append(piece)
        right = max(right, piece.x1)
    return groups


def _with_indices(groups: list[list[Piece]]) -> list[list[Piece]]:
    """The groups, small ones put into the larger one beside which they stand; the parts of one they join become one."""
    groups.sort(key=lambda group: group[0].base)
    bases = [group[0].base for group in groups]
    spans = [[min(p.x0 for p in group), max(p.x1 for p in group)] for group in groups]
    sizes = [max(piece.size for piece in group) for group in groups]
    into: dict[int, int] = {}
    largest = max(sizes, default=0.0)
    for index, _ in enumerate(groups):
        low = bisect_left(bases, bases[index] - 0.7 * largest)
        best: tuple[float, int] | None = None
        for other in range(low, len(groups)):
            if bases[other] > bases[index] + 0.7 * largest:
                break
            size = sizes[other]
            if other == index or sizes[index] > _SMALL * size or other in into:
                continue
            if not -0.55 * size <= bases[index] - bases[other] <= 0.4 * size:
                continue
            gap = max(spans[other][0] - spans[index][1], spans[index][0] - spans[other][1])
            if gap < 0.35 * size and spans[index][1] - spans[index][0] < 8 * size and (not best or gap < best[0]):
                best = gap, other
        if best:
            into[index] = best[1]
            host = spans[best[1]]
            host[0], host[1] = min(host[0], spans[index][0]), max(host[1], spans[index][1])
    for index, host_index in into.items():
        while host_index in into:
            host_index = into[host_index]
        groups[host_index].extend(groups[index])
    joined = [group for index, group in enumerate(groups) if index not in into]
    # With its index in place, "W" and the "∈ R" after it are one run again.
    return _rejoined(joined)


def _rejoined(groups: list[list[Piece]]) -> list[list[Piece]]:
    lines: list[list[list[Piece]]] = []
    heads = [max(group, key=lambda piece: (piece.size, piece.x1 - piece.x0)) for group in groups]
    for head, group in sorted(zip(heads, groups, strict=True), key=lambda item: (item[0].base, item[0].x0)):
        last = lines[-1][0][0] if lines else None
        if last and abs(head.base - last.base) <= 0.2 * min(head.size, last.size):
            lines[-1].append([head, *(piece for piece in group if piece is not head)])
        else:
            lines.append([[head, *(piece for piece in group if piece is not head)]])
    result = []
    for line in lines:
        line.sort(key=lambda group: min(piece.x0 for piece in group))
        current = line[0]
        right = max(piece.x1 for piece in current)
        for group in line[1:]:
            if min(piece.x0 for piece in group) - right > _WIDE_GAP * group[0].size:
                result.append(current)
                current = []
            current = current + group
            right = max(piece.x1 for piece in current)
        result.append(current)
    return result


def _row(pieces: Iterable[Piece]) -> Row:
    ordered = sorted(pieces, key=lambda piece: piece.x0)
    if sum(piece.is_rtl for piece in ordered) * 2 > len(ordered):
        ordered.reverse()
    spans = [span for piece in ordered for span in piece.spans]
    weights: dict[tuple[float, float], float] = {}
    fonts: dict[str, float] = {}
    for span in spans:
        if not span.text.isspace():
            key = span.size, span.base
            weights[key] = weights.get(key, 0.0) + len(span.text) * span.size
            fonts[span.font] = fonts.get(span.font, 0.0) + len(span.text)
    (size, base), _ = max(weights.items(), key=lambda item: item[1])
    font = max(fonts.items(), key=lambda item: item[1])[0]
    letters = [(len(span.text), span.bold, span.italic) for span in spans if any(map(str.isalpha, span.text))]
    total = sum(count for count, _, _ in letters)
    bold = total > 0 and sum(count for count, is_bold, _ in letters if is_bold) > 0.8 * total
    italic = total > 0 and sum(count for count, _, is_italic in letters if is_italic) > 0.8 * total
    return Row(
        tuple(ordered),
        min(piece.x0 for piece in ordered),
        base - ASCENT * size,
        max(piece.x1 for piece in ordered),
        base + DESCENT * size,
        base,
        size,
        join_spans(ordered, base, size),
        font,
        bold,
        italic,
        ordered[0].turn,
    )


def join_spans(pieces: Sequence[Piece], base: float, size: float) -> str:
    """The text of pieces that stand on one line: blanks where there are gaps, "^" before an exponent's first letter."""
    parts: list[str] = []
    right = None
    tail = ""
    for piece in pieces:
        first = True
        for span in piece.spans:
            text = span.text
            if first and right is not None and (piece.is_rtl or span.x0 - right > _TOUCHING * size):
                parts.append(" ")
                tail = " "
            first = False
            if _is_exponent(span, base, size) and tail.isalnum() and text[:1].isalnum() and not _ORDINAL.match(text):
                text = "^" + text
            parts.append(text)
            tail = text[-1]
        right = piece.x1 if right is None else max(right, piece.x1)
    return mend_accents(" ".join("".join(parts).split()))


def _is_exponent(span: Span, base: float, size: float) -> bool:
    return span.size <= _SMALL * size and span.base < base - 0.2 * size


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
