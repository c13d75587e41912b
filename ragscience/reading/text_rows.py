"""Pieces become segments, and segments become rows, which are placed in their columns.

A segment is a run of pieces on one base line with word spaces between them, with its indices and exponents. A row is
everything on a line of its column, however wide the gaps.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from ragscience.core.records import Box
from ragscience.reading.text_cleaning import mend_accents
from ragscience.reading.text_spans import ASCENT, DESCENT, TextPiece

T = TypeVar("T")
K = TypeVar("K")

_WIDE_GAP = 0.9
"""In font sizes: justified lines have word spaces of up to 0.8, columns of tables begin at about 1."""
_SMALL = 0.85
"""The size of an index relative to its text, at most."""
TOUCHING = 0.12
"""In font sizes: letters nearer than this belong to one word. Word spaces begin at 0.2."""
_ENDS = frozenset('.,;:!?)”’"')
"""Behind these a raised number is a footnote's or a reference's."""
_ORDINAL = re.compile("(?:st|nd|rd|th)$")
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Row:
    """Text on a line of a column, or on a part of it."""

    pieces: tuple[TextPiece, ...]
    """In reading order."""
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    text: str
    font: str
    """The font of most of its characters."""
    bold: bool
    italic: bool
    turn: int

    @property
    def box(self) -> Box:
        """In the frame in which the text is read."""
        return self.x0, self.y0, self.x1, self.y1


@dataclass(frozen=True, slots=True)
class Region:
    """Rows to read from top to bottom."""

    rows: tuple[Row, ...]
    x0: float
    x1: float


@dataclass(frozen=True, slots=True)
class TableArea:
    """A table that was found by its rules, and the segment with which its caption begins."""

    caption: Row
    rows: tuple[Row, ...]
    lines: tuple[Row, ...] = ()
    """Of its caption, where the captions of two tables stand side by side; else they are with the text."""


@dataclass(frozen=True, slots=True)
class LaidPage:
    """A page's regions in reading order, and the boxes of its rules and drawings."""

    number: int
    width: float
    height: float
    regions: tuple[Region, ...]
    rules: tuple[Box, ...]
    drawings: tuple[Box, ...]
    tables: tuple[TableArea, ...] = ()
    """Their rows are regions of their own."""


@dataclass(slots=True)
class Placed:
    """A row in its column; its kind is set step by step."""

    row: Row
    page: int
    region: int
    """Number of the region in the document."""
    left: float
    right: float
    """`left` and `right` are the usual edges of the column's lines, in points."""
    above: float | None
    """Points to the base line of the row above in its region, None for the first."""
    kind: str = ""
    level: int = 0
    group: int = 0
    """Rows of one number but 0 are one heading, table, figure or caption."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The usual type and line spacing of a document's running text."""

    size: float
    font: str
    leading: float
    """Points between two base lines."""


def make_segments(pieces: Sequence[TextPiece]) -> list[Row]:
    """The segments of pieces that have one turn, from top to bottom."""
    # Pieces of very different size overlap: they are not on one line.
    lines = runs(
        sorted(pieces, key=lambda piece: (piece.base, piece.x0)),
        lambda line, piece: (
            piece.base - line[0].base <= 0.2 * min(piece.size, line[0].size)
            and _SMALL**2 <= piece.size / line[0].size <= 1 / _SMALL**2
        ),
    )
    groups = _with_indices([group for line in lines for group in _split_at_gaps(line)])
    return sorted((_row(group) for group in groups), key=lambda row: (row.base, row.x0))


def make_rows(segments: Sequence[Row]) -> list[Row]:
    """The rows that the segments of one column make, from top to bottom."""
    rows = runs(
        sorted(segments, key=lambda segment: (segment.base, segment.x0)),
        lambda row, segment: segment.base - row[0].base <= 0.3 * min(segment.size, row[0].size),
    )
    return [row[0] if len(row) == 1 else _row([piece for part in row for piece in part.pieces]) for row in rows]


def split_row(row: Row, x: float) -> list[Row]:
    """The parts of a row left and right of x, by the middles of its pieces; the row itself where one is empty."""
    sides: tuple[list[TextPiece], list[TextPiece]] = [], []
    for piece in row.pieces:
        sides[(piece.x0 + piece.x1) / 2 >= x].append(piece)
    return [_row(side) for side in sides] if all(sides) else [row]


def runs(items: Iterable[T], belongs: Callable[[list[T], T], bool]) -> list[list[T]]:
    """The items in runs: an item that `belongs` to the run before it is added to it."""
    found: list[list[T]] = []
    for item in items:
        if found and belongs(found[-1], item):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """The second of each pair by its first, both in their order."""
    found: dict[K, list[T]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return found


def _split_at_gaps(line: list[TextPiece]) -> list[list[TextPiece]]:
    line.sort(key=lambda piece: piece.x0)
    return runs(line, lambda group, piece: piece.x0 - max([one.x1 for one in group]) <= _WIDE_GAP * piece.size)


def _with_indices(groups: list[list[TextPiece]]) -> list[list[TextPiece]]:
    """The groups, each small one joined to the larger one next to it; the parts of a group it connects become one."""
    groups.sort(key=lambda group: group[0].base)
    bases = [group[0].base for group in groups]
    spans = [[min([p.x0 for p in group]), max([p.x1 for p in group])] for group in groups]
    sizes = [max([piece.size for piece in group]) for group in groups]
    into: dict[int, int] = {}
    largest = max(sizes, default=0.0)
    for index, base in enumerate(bases):
        low, high = bisect_left(bases, base - 0.7 * largest), bisect_right(bases, base + 0.7 * largest)
        left, right = spans[index]
        best: tuple[float, int] | None = None
        for other in range(low, high):
            size = sizes[other]
            if other == index or sizes[index] > _SMALL * size or other in into:
                continue
            if not -0.55 * size <= base - bases[other] <= 0.4 * size:
                continue
            gap = max(spans[other][0] - right, left - spans[other][1])
            if gap < 0.35 * size and right - left < 8 * size and (not best or gap < best[0]):
                best = gap, other
        if best:
            into[index] = best[1]
            host = spans[best[1]]
            host[0], host[1] = min(host[0], left), max(host[1], right)
    for index, host_index in into.items():
        while host_index in into:
            host_index = into[host_index]
        groups[host_index].extend(groups[index])
    # With its index in place, "W" and the "∈ R" after it are one run again.
    return _rejoined([group for index, group in enumerate(groups) if index not in into])


def _rejoined(groups: list[list[TextPiece]]) -> list[list[TextPiece]]:
    """The groups of one base line without wide gaps between them as one; each begins with its head, the largest."""
    headed = []
    for group in groups:
        head = max(group, key=lambda piece: (piece.size, piece.x1 - piece.x0))
        headed.append([head, *(piece for piece in group if piece is not head)])
    lines = runs(
        sorted(headed, key=lambda group: (group[0].base, group[0].x0)),
        lambda line, group: abs(group[0].base - line[0][0].base) <= 0.2 * min(group[0].size, line[0][0].size),
    )
    result: list[list[TextPiece]] = []
    for line in lines:
        line.sort(key=lambda group: min(piece.x0 for piece in group))
        current = line[0]
        for group in line[1:]:
            right = max(piece.x1 for piece in current)
            if min(piece.x0 for piece in group) - right > _WIDE_GAP * group[0].size:
                result.append(current)
                current = []
            current = current + group
        result.append(current)
    return result


def _row(pieces: Iterable[TextPiece]) -> Row:
    ordered = sorted(pieces, key=lambda piece: piece.x0)
    if sum(piece.is_rtl for piece in ordered) * 2 > len(ordered):
        ordered.reverse()
    weights: defaultdict[tuple[float, float], float] = defaultdict(float)
    fonts: Counter[str] = Counter()
    total = bold = italic = 0
    for span in (span for piece in ordered for span in piece.spans):
        if not span.text.isspace():
            count = len(span.text)
            weights[span.size, span.base] += count * span.size
            fonts[span.font] += count
            if any(map(str.isalpha, span.text)):
                total, bold, italic = total + count, bold + count * span.bold, italic + count * span.italic
    size, base = max(weights, key=lambda key: weights[key])
    return Row(
        pieces=tuple(ordered),
        x0=min([piece.x0 for piece in ordered]),
        y0=base - ASCENT * size,
        x1=max([piece.x1 for piece in ordered]),
        y1=base + DESCENT * size,
        base=base,
        size=size,
        text=join_spans(ordered, base, size),
        font=fonts.most_common(1)[0][0],
        bold=bold > 0.8 * total,
        italic=italic > 0.8 * total,
        turn=ordered[0].turn,
    )


def join_spans(pieces: Sequence[TextPiece], base: float, size: float) -> str:
    """The text of pieces on one line: blanks at gaps, "^" before an exponent, "_" before a lowered word."""
    parts: list[str] = []
    right, tail = float("-inf"), ""
    for piece in pieces:
        if parts and (piece.is_rtl or piece.spans[0].x0 - right > TOUCHING * size):
            parts.append(" ")
            tail = " "
        for span in piece.spans:
            text = span.text
            is_small = span.size <= _SMALL * size
            is_behind = tail.isalnum() or (tail in _ENDS and text.strip().isdigit())
            if is_small and span.base < base - 0.2 * size and is_behind and text[0].isalnum():
                text = text if _ORDINAL.match(text) else f"^{text}"
            elif is_small and span.base > base + 0.1 * size and tail.isalpha() and _WORD.match(text):
                text = f"_{text}"
            parts.append(text)
            tail = text[-1]
        right = max(right, piece.x1)
    return mend_accents(" ".join("".join(parts).split()))


def place_rows(pages: Sequence[LaidPage]) -> list[Placed]:
    """The rows of all pages, in reading order."""
    placed: list[Placed] = []
    regions = [(page, region) for page in pages for region in page.regions]
    for number, (page, region) in enumerate(regions, 1):
        left, right = _edges(region)
        for before, row in zip([None, *region.rows], region.rows, strict=False):
            above = row.base - before.base if before else None
            placed.append(Placed(row, page.number, number, left, right, above))
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
    """The type size and font of most characters, and their line spacing."""
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
    """Whether a row is a line of running text: as wide as its column, of words, in about the usual size."""
    row = one.row
    if row.x1 - row.x0 < 0.7 * (one.right - one.left) or row.size < 0.88 * measures.size or row.turn:
        return False
    words = _WORD.findall(row.text)
    return len(words) >= 4 and sum(map(len, words)) > 0.55 * len(row.text) and widest_gap(row) < 1.6 * row.size


def gaps_of(row: Row) -> Iterator[float]:
    """The white between each two pieces of a row, in points; below 0 where they overlap."""
    right = row.pieces[0].x1
    for piece in row.pieces[1:]:
        yield piece.x0 - right
        right = max(right, piece.x1)


def widest_gap(row: Row) -> float:
    """The widest white between two pieces of a row, in points."""
    return max((0.0, *gaps_of(row)))
