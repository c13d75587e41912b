"""The rows of a table become its cells: columns are told by the white that runs through the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.reading.placing import Placed
from ragscience.reading.rows import join_spans
from ragscience.reading.spans import Piece
from ragscience.records import Box

__all__ = ["TableRow", "markdown_row", "table_rows"]

_WORD_GAP = 0.55
"""In font sizes: pieces nearer than that are one cell's, whatever stands above and below."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table as Markdown's cells."""

    cells: tuple[str, ...]
    box: Box
    """In the frame in which it is read."""
    turn: int
    page: int


@dataclass(frozen=True, slots=True)
class _Cell:
    pieces: tuple[Piece, ...]
    x0: float
    x1: float
    base: float
    size: float


def table_rows(placed: Sequence[Placed], rules: Sequence[Box]) -> list[TableRow]:
    """The rows of a table, each with as many cells as the table has columns; where it has none, one cell a row.

    `rules` are the lines drawn on the page. A cell that reaches over several columns stands in the first of them.
    """
    lines = [_cells_of(one) for one in placed]
    bounds = _columns(lines, rules)
    size = max(one.row.size for one in placed)
    rows: list[list[list[_Cell]]] = []
    places: list[list[Placed]] = []
    for one, cells in zip(placed, lines, strict=True):
        slots: list[list[_Cell]] = [[] for _ in range(len(bounds) + 1)]
        for cell in cells:
            slots[_column_of(cell, bounds)].append(cell)
        if rows and _belongs_above(slots, rows[-1], one, places[-1][-1], size, rules):
            rows[-1] = [above + new for above, new in zip(rows[-1], slots, strict=True)]
            places[-1].append(one)
        else:
            rows.append(slots)
            places.append([one])
    return [_table_row(slots, place) for slots, place in zip(rows, places, strict=True)]


def markdown_row(cells: Sequence[str]) -> str:
    """`| a | b |`, bars within a cell escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cells_of(one: Placed) -> list[_Cell]:
    """The runs of pieces between which there are more than word spaces."""
    groups: list[list[Piece]] = []
    right = 0.0
    for piece in sorted(one.row.pieces, key=lambda piece: piece.x0):
        if groups and piece.x0 - right <= _WORD_GAP * one.row.size:
            groups[-1].append(piece)
        else:
            groups.append([piece])
        right = max(right, piece.x1) if groups and len(groups[-1]) > 1 else piece.x1
    return [
        _Cell(
            tuple(group),
            min(piece.x0 for piece in group),
            max(piece.x1 for piece in group),
            one.row.base,
            one.row.size,
        )
        for group in groups
    ]


def _columns(lines: Sequence[Sequence[_Cell]], rules: Sequence[Box]) -> list[float]:
    """The x between two columns each: where the rows with many cells all are white."""
    most = max((len(cells) for cells in lines), default=0)
    if most < 2:
        return []
    full = [cells for cells in lines if len(cells) >= max(2, 0.5 * most)]
    spans = [(cell.x0, cell.x1) for cells in full for cell in cells]
    low, high = min(x0 for x0, _ in spans), max(x1 for _, x1 in spans)
    scale = 2
    length = int((high - low) * scale) + 2
    covered = [0] * (length + 1)
    for x0, x1 in spans:
        covered[int((x0 - low) * scale)] += 1
        covered[min(int((x1 - low) * scale) + 1, length)] -= 1
    bounds: list[float] = []
    depth, begun = 0, -1
    allowed = len(full) // 12
    for x in range(length):
        depth += covered[x]
        if depth <= allowed:
            begun = x if begun < 0 else begun
        elif begun >= 0:
            if begun > 0 and x - begun >= 2 * scale:
                bounds.append(low + (begun + x) / 2 / scale)
            begun = -1
    return bounds


def _column_of(cell: _Cell, bounds: Sequence[float]) -> int:
    """The column in which most of a cell stands, or the first one that it reaches over."""
    edges = [float("-inf"), *bounds, float("inf")]
    shares = [
        max(0.0, min(cell.x1, right) - max(cell.x0, left)) for left, right in zip(edges, edges[1:], strict=False)
    ]
    width = max(cell.x1 - cell.x0, 0.1)
    best = max(range(len(shares)), key=lambda column: shares[column])
    if shares[best] > 0.8 * width:
        return best
    return next(column for column, share in enumerate(shares) if share > 0.15 * width or column == best)


def _belongs_above(
    slots: Sequence[Sequence[_Cell]],
    above: Sequence[Sequence[_Cell]],
    one: Placed,
    before: Placed,
    size: float,
    rules: Sequence[Box],
) -> bool:
    """Whether a line is a part of the row above: it stands at half its height, or goes on with some of its cells."""
    if one.page != before.page:
        return False
    gap = one.row.base - before.row.base
    filled = [column for column, cells in enumerate(slots) if cells]
    taken = [column for column, cells in enumerate(above) if cells]
    if any(before.row.base < rule[1] < one.row.base - 0.6 * one.row.size and rule[2] - rule[0] > 40 for rule in rules):
        return False
    if gap < 0.8 * size:
        # The cell of several rows stands beside the middle of them: it goes to the one just above.
        return not set(filled) & {c for c in taken if any(abs(x.base - one.row.base) < 0.9 * size for x in above[c])}
    is_rest = len(filled) < len(slots) and 0 not in filled and set(filled) <= set(taken)
    texts = [cell for column in filled for cell in slots[column]]
    wordy = all(len("".join(piece.text for piece in cell.pieces).strip()) > 2 for cell in texts)
    return is_rest and gap < 1.25 * size and len(filled) <= 2 and wordy and len(taken) > len(filled) + 1


def _table_row(slots: Sequence[Sequence[_Cell]], places: Sequence[Placed]) -> TableRow:
    cells = []
    for slot in slots:
        ordered = sorted(slot, key=lambda cell: (round(cell.base), cell.x0))
        cells.append(" ".join(join_spans(cell.pieces, cell.base, cell.size) for cell in ordered))
    rows = [one.row for one in places]
    box = min(row.x0 for row in rows), min(row.y0 for row in rows), max(row.x1 for row in rows), max(row.y1 for row in rows)
    return TableRow(tuple(cells), box, rows[0].turn, places[0].page)
