"""The rows of a table: lines that belong together are one row, labels stand in the first row that they name."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragscience.core.records import Box
from ragscience.reading.table_cells import Grid, Spanning
from ragscience.reading.table_columns import SAME, Cell, Level, column_bounds
from ragscience.reading.text_rows import Placed, join_spans, runs
from ragscience.reading.text_spans import box_around

_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[+\-−±]?[\d.,]+[%KMB]?")
_MOST_HEADER_LINES = 7

Joiner = Callable[[str, str], tuple[int, str]]
"""As `Vocabulary.joiner`: how two lines of a cell are joined."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table."""

    cells: tuple[str, ...]
    box: Box
    """In the frame in which the text is read."""
    turn: int
    page: int


@dataclass(slots=True)
class _Row:
    """The cells of a row in each column, and its lines."""

    slots: list[list[Cell]]
    lines: list[Placed]

    @property
    def filled(self) -> list[int]:
        return [column for column, cells in enumerate(self.slots) if cells]

    @property
    def base(self) -> float:
        return self.lines[0].row.base


def table_rows(placed: Sequence[Placed], rules: Sequence[Box], joiner: Joiner) -> list[TableRow]:
    """The rows of a table, all with as many cells as the table has columns; a table without columns has one cell a row.

    `rules` are the lines drawn on the page. A cell that spans several columns is in the first of them, one that spans
    several rows in the first of these. Lines above the first rule below the header are its names, each joined to one
    cell; the names of groups of columns are a row above them.
    """
    grid = Grid(placed, rules, column_bounds(placed, rules))
    return [_table_row(row, joiner) for row in _Table(grid, rules).rows()]


def markdown_row(cells: Sequence[str]) -> str:
    """`| a | b |`, bars within a cell escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class _Table:
    """The lines of a table on their way to become rows."""

    def __init__(self, grid: Grid, rules: Sequence[Box]) -> None:
        self.grid, self.rules = grid, rules
        self.placed, self.lines = grid.placed, grid.lines
        self.ends = [float("-inf")] * len(grid.edges)
        """How far right the text of each column reaches."""
        for one in (one for line in self.lines for one in line):
            if one.cell.x1 < grid.edges[one.first][1]:
                self.ends[one.first] = max(self.ends[one.first], one.cell.x1)

    def rows(self) -> list[_Row]:
        """The rows from top to bottom."""
        beyond = self._header_end()
        self.grid.widen_single_values(beyond)
        header = self._header(beyond) if beyond else []
        separators = self.grid.separators(beyond)
        blocks = self._blocks(beyond, separators)
        if self._is_ruled(blocks):
            return [*header, *self._ruled(blocks, separators)]
        return [*header, *self._with_labels_first(self._body(beyond))]

    def _row(self, line: Sequence[Spanning], places: Sequence[Placed]) -> _Row:
        slots: list[list[Cell]] = [[] for _ in self.grid.edges]
        for one in line:
            slots[one.first].append(one.cell)
        return _Row(slots, list(places))

    def _header_end(self) -> int:
        """The number of lines above the first rule below the header; 0 where there is none, or only numbers above."""
        size = max(one.row.size for one in self.placed)
        for number in range(1, min(len(self.placed), _MOST_HEADER_LINES + 1)):
            above, below = self.placed[number - 1], self.placed[number]
            if self.grid.level_between(above, below, self.grid.full):
                cells = [one.cell for line in self.lines[:number] for one in line]
                numbers = sum(cell.is_number for cell in cells)
                later = [line for line in self.lines[1:number] if line]
                values = sum(any(_NUMBER.fullmatch(one.cell.text) for one in line if one.first) for line in later)
                has_values = values > 1 or any(
                    all(one.cell.is_number for one in line if one.first) and len(line) > 1 for line in later
                )
                return 0 if 2 * numbers > len(cells) or has_values else number
            if below.row.base - above.row.base > 2.2 * size:
                break
        return 0

    def _header(self, beyond: int) -> list[_Row]:
        """The rows of the header: names of groups of columns line by line, then the columns' own names as one row."""
        lines, places = self.lines[:beyond], self.placed[:beyond]
        labelled = [one for one, line in zip(places, lines, strict=True) if any(part.first == 0 for part in line)]
        is_spanned = any(one.is_over for line in lines for one in line)
        steps = [other.row.base - one.row.base for one, other in pairwise(labelled)]
        ends_over = any(one.is_over for one in lines[-1])
        if is_spanned and (ends_over or (steps and min(steps) > 0.9 * labelled[0].row.size)):
            # Each line has a label of its own, or the names of groups are below those of columns: lines are rows.
            return self._body(0, beyond)
        rows: list[_Row] = []
        own: list[Spanning] = []
        last: list[Spanning] = []
        at: list[Placed] = []
        for line, one in zip(lines, places, strict=True):
            over = [part for part in line if part.is_over]
            names = [part for part in line if not part.is_over]
            if over and rows and one.row.base - rows[-1].base < 0.8 * one.row.size:
                rows[-1] = self._row([*last, *over], [*rows[-1].lines, one])
            elif over:
                rows.append(self._row(over, [one]))
            last = over or last
            if names:
                own += names
                at.append(one)
        return [*rows, self._row(own, at)] if own else rows

    def _blocks(self, start: int, separators: Sequence[Level]) -> list[list[int]]:
        """The numbers of the lines between each two rules that separate rows, from line `start` on."""
        blocks: list[list[int]] = []
        above = -1
        for number in range(start, len(self.placed)):
            row = self.placed[number].row
            count = sum(level.y < row.base - 0.3 * row.size for level in separators)
            if count > above:
                blocks.append([])
            blocks[-1].append(number)
            above = max(above, count)
        return blocks

    def _is_ruled(self, blocks: Sequence[Sequence[int]]) -> bool:
        """Whether rules separate the rows: about each line, or blocks of sentences."""
        lines = sum(map(len, blocks))
        if len(blocks) < 2 or lines == len(blocks):
            return False
        if any(sum(_is_whole(self.lines[number]) for number in block) > 1 for block in blocks):
            return False
        cells = [one.cell for block in blocks for number in block for one in self.lines[number]]
        wordy = 2 * sum(cell.is_wordy for cell in cells) >= len(cells) and len(self.grid.edges) > 1
        return (self.grid.is_grid and 2 * len(blocks) >= lines) or (wordy and 6 * len(blocks) >= lines)

    def _ruled(self, blocks: Sequence[Sequence[int]], separators: Sequence[Level]) -> list[_Row]:
        """A row for the lines between two rules; a cell that reaches over several is in the first of them."""
        rows = [self._row([], [self.placed[number] for number in block]) for block in blocks]
        shared: dict[tuple[int, float], list[tuple[int, Cell]]] = {}
        for number, block in enumerate(blocks):
            line = [one for number in block for one in self.lines[number]]
            for one in line:
                base, size = one.cell.base, one.cell.size
                over = [lv.y for lv in separators if lv.y < base - 0.3 * size and lv.x0 - SAME < one.cell.x0]
                place = self.grid.first_column(one, line), max(over, default=float("-inf"))
                shared.setdefault(place, []).append((number, one.cell))
        for (column, top), cells in shared.items():
            is_one = all(below.base - cell.base < 1.6 * cell.size for (_, cell), (_, below) in pairwise(cells))
            first = next(number for number, block in enumerate(blocks) if self.placed[block[-1]].row.base > top)
            for number, cell in cells:
                rows[min(first, number) if is_one else number].slots[column].append(cell)
        return [row for row in rows if row.filled]

    def _body(self, start: int, beyond: int | None = None) -> list[_Row]:
        """The lines from `start` to `beyond`, those that belong to the row above joined to it."""
        rows: list[_Row] = []
        for one, line in zip(self.placed[start:beyond], self.lines[start:beyond], strict=True):
            row = self._row(line, [one])
            is_value = len(line) == 2 and line[1].is_over and not line[0].is_over
            if rows and not is_value and self._belongs_above(row.slots, rows[-1].slots, one, rows[-1].lines[-1]):
                above = rows[-1]
                above.slots = [old + new for old, new in zip(above.slots, row.slots, strict=True)]
                above.lines.append(one)
            else:
                rows.append(row)
        return rows

    def _with_labels_first(self, rows: list[_Row]) -> list[_Row]:
        """The rows, with the label of several rows that stands at their middle in the first of them."""
        if len(self.grid.edges) < 2:
            return rows
        between, full = self.grid.level_between, self.grid.full
        groups = runs(rows, lambda group, row: not between(group[-1].lines[-1], row.lines[0], full))
        return [row for group in groups for row in _labelled(group)]

    def _belongs_above(self, slots: list[list[Cell]], above: list[list[Cell]], one: Placed, before: Placed) -> bool:
        """Whether a line is a part of the row above: at half its height, or the continuation of some of its cells."""
        gap, size = one.row.base - before.row.base, max(one.row.size, before.row.size)
        low, high = before.row.base, one.row.base - 0.6 * one.row.size
        if one.page != before.page or any(low < y < high and x1 - x0 > 40 for x0, y, x1, _ in self.rules):
            return False
        filled = [column for column, cells in enumerate(slots) if cells]
        taken = [column for column, cells in enumerate(above) if cells]
        if gap < 0.8 * size:
            both = [column for column in filled if above[column] and one.row.base - above[column][0].base > 0.8 * size]
            if len(both) > 1 and any(slots[c][0].is_number and above[c][0].is_number for c in both):
                # Between two whole rows is the cell that both share: it belongs to the first of them.
                return False
            # The cell of several rows is at the middle of them: it belongs to the row just above.
            near = {c for c in taken if any(abs(cell.base - one.row.base) < 0.9 * size for cell in above[c])}
            return not near.intersection(filled)
        only = slots[0][0].pieces[0].text if filled == [0] else ""
        if only[:1].islower() and above[0] and len(taken) > 1 and gap < 1.3 * size:
            return True
        if not set(filled) <= set(taken):
            return False
        if gap < 1.4 * size and len(taken) > 1 and all(_wraps(above[c], slots[c], self.ends[c]) for c in filled):
            return True
        wordy = all(len(cell.text) > 2 for column in filled for cell in slots[column])
        return gap < 1.25 * size and 0 not in filled and len(filled) <= 2 and wordy and len(taken) > len(filled) + 1


def _is_whole(line: Sequence[Spanning]) -> bool:
    """Whether a line has a label and a value."""
    return len(line) > 1 and line[0].first == 0


def _labelled(rows: list[_Row]) -> list[_Row]:
    """The rows of a group with its only label in the first row, if it stands at their middle."""
    named = [row for row in rows if row.slots[0]]
    values = [row for row in rows if row.filled != [0]]
    if not named or len(named) >= len(values) or (rows[0] is named[0] and rows[0].filled != [0]):
        return rows
    cells = [cell for row in named for cell in row.slots[0]]
    close = all(other.base - one.base < 1.5 * one.size for one, other in pairwise(cells))
    middle = (cells[0].base + cells[-1].base) / 2
    if not close or abs((values[0].base + values[-1].base) / 2 - middle) > 0.8 * cells[0].size:
        return rows
    lines = [one for row in rows if row.filled == [0] for one in row.lines]
    for row in named:
        row.slots[0] = []
    values[0].slots[0] = cells
    values[0].lines += lines
    return values


def _wraps(above: Sequence[Cell], below: Sequence[Cell], end: float) -> bool:
    """Whether text continues below because its next word did not fit: several words that fill the column."""
    last = max(above, key=lambda cell: (cell.base, cell.x1))
    text = " ".join(piece.text for cell in above if abs(cell.base - last.base) < 1 for piece in cell.pieces)
    is_full = end - last.x1 < _first_word(below) + 0.2 * last.size
    return len(text.split()) >= 3 and len(_WORD.findall(text)) >= 2 and is_full


def _first_word(cells: Sequence[Cell]) -> float:
    """The width of the first word of a line."""
    first = min(cells, key=lambda cell: cell.x0).pieces[0]
    word = first.text.split()[0] if first.text.split() else ""
    return (first.x1 - first.x0) * len(word) / max(len(first.text), 1)


def _table_row(row: _Row, joiner: Joiner) -> TableRow:
    cells = []
    for slot in row.slots:
        text, base = "", 0.0
        for cell in sorted(slot, key=lambda cell: (round(cell.base), cell.x0)):
            more = join_spans(cell.pieces, cell.base, cell.size)
            count, between = joiner(text, more) if text and cell.base > base + 1 else (0, " " if text else "")
            text, base = f"{text[: len(text) - count]}{between}{more}", cell.base
        cells.append(text)
    return TableRow(
        tuple(cells), box_around(one.row.box for one in row.lines), row.lines[0].row.turn, row.lines[0].page
    )
