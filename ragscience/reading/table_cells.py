"""The words of a table's lines in its columns: which run of words is one cell, and which columns a cell spans."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragscience.core.records import Box
from ragscience.reading.table_columns import SAME, WORD_GAP, Cell, Level, cell_of, cells_of, levels_of
from ragscience.reading.text_rows import Placed, grouped
from ragscience.reading.text_spans import TextPiece

_SHORTEST_RULE = 8.0
"""Points: a rule below the name of a group of columns."""
_WORD_BLANK = 0.3
"""In font sizes: most blanks between words are narrower."""
_CENTERED = 2.0
"""Points between the middle of a cell and the middle of the columns that it spans."""


@dataclass(frozen=True, slots=True)
class Spanning:
    """A cell and the first and last column that it spans."""

    cell: Cell
    first: int
    last: int

    @property
    def is_over(self) -> bool:
        """Whether it spans several columns."""
        return self.last > self.first


class Grid:
    """The lines of a table, cut into cells, and the levels of the rules through them."""

    def __init__(self, placed: Sequence[Placed], rules: Sequence[Box], bounds: Sequence[float]) -> None:
        self.placed, self.bounds = placed, bounds
        self.edges = list(pairwise([float("-inf"), *bounds, float("inf")]))
        left, right = min(one.row.x0 for one in placed), max(one.row.x1 for one in placed)
        levels = [level for level in levels_of(rules, _SHORTEST_RULE) if level.x0 < right and left < level.x1]
        self.levels = levels
        self.full = [level for level in levels if level.covers(left, right)]
        self.partial = [level for level in levels if level.x1 - level.x0 < 0.9 * (right - left)]
        top, bottom = placed[0].row.y0, placed[-1].row.y1
        uprights = [
            rule for rule in rules if rule[3] - rule[1] > rule[2] - rule[0] and left < rule[0] < rule[2] < right
        ]
        self.uprights = [rule for rule in uprights if top < rule[3] and rule[1] < bottom]
        self.is_grid = any(top < (y0 + y1) / 2 < bottom for _, y0, _, y1 in self.uprights)
        """Whether rules separate columns."""
        uncut = [cells_of(one, WORD_GAP, ()) for one in placed]
        self.inside: list[list[Cell]] = [[] for _ in self.edges]
        """The cells of each column that are in no other."""
        for cell in (cell for line in uncut for cell in line):
            if not self._crossed(cell):
                self.inside[self.column_at(cell.middle)].append(cell)
        self.extents = [
            (min([cell.x0 for cell in cells], default=low), max([cell.x1 for cell in cells], default=high))
            for cells, (low, high) in zip(self.inside, self.edges, strict=True)
        ]
        parts = [[part for cell in line for part in self._parts(cell, line)] for line in uncut]
        self.lines = [[self._placed(part, line) for part in line] for line in parts]

    def _crossed(self, cell: Cell) -> bool:
        return any(cell.x0 < bound < cell.x1 for bound in self.bounds)

    def column_at(self, x: float) -> int:
        """The number of the column at x, from 0."""
        return next(number for number, (_, right) in enumerate(self.edges) if x < right)

    def _parts(self, cell: Cell, line: Sequence[Cell]) -> list[Cell]:
        """A run of words in one part for each column, if each part stands below others of its column.

        In a line with few cells, which may each be the name of several columns, a blank does not separate cells.
        """
        if not self._crossed(cell):
            return [cell]
        parts = self._by_column(cell.pieces)
        gaps = [right[0].x0 - left[-1].x1 for left, right in pairwise(parts.values())]
        is_wide = all(gap > _WORD_BLANK * cell.size for gap in gaps)
        is_full = len(self._by_column([piece for one in line for piece in one.pieces])) >= 0.8 * len(self.edges)
        least = 0.2 if is_wide and is_full else 0.5 if is_wide or is_full else 2.0
        cells = {column: cell_of(pieces, cell.base, cell.size) for column, pieces in parts.items()}
        is_cut = len(cells) > 1 and all(self._is_usual(one, self.inside[n], least) for n, one in cells.items())
        return list(cells.values()) if is_cut else [cell]

    def _by_column(self, pieces: Sequence[TextPiece]) -> dict[int, list[TextPiece]]:
        return grouped((self.column_at((piece.x0 + piece.x1) / 2), piece) for piece in pieces)

    def _is_usual(self, part: Cell, others: Sequence[Cell], share: float) -> bool:
        return sum(part.is_aligned(other) for other in others) >= share * len(others)

    def _placed(self, cell: Cell, line: Sequence[Cell]) -> Spanning:
        """A cell with its columns: those above the rule below it, else those that it reaches into the middle of."""
        low, high = cell.base - 0.1 * cell.size, cell.base + 1.3 * cell.size
        for level in self.partial:
            is_below = low < level.y < high and level.x0 - SAME < cell.x0 and cell.x1 < level.x1 + SAME
            is_name = cell.x0 - level.x0 < cell.size or abs(cell.middle - (level.x0 + level.x1) / 2) < cell.size
            others = any(level.x0 < other.middle < level.x1 for other in line if other is not cell)
            if is_below and is_name and not others:
                middles = [(x0 + x1) / 2 for x0, x1 in self.extents]
                columns = [c for c, middle in enumerate(middles) if level.x0 - SAME < middle < level.x1 + SAME]
                if len(columns) > 1:
                    return Spanning(cell, columns[0], columns[-1])
        if not self._crossed(cell):
            column = self.column_at(cell.middle)
            return Spanning(cell, column, column)
        width = cell.x1 - cell.x0
        shares = [min(cell.x1, right) - max(cell.x0, left) for left, right in self.edges]
        reached = [column for column, share in enumerate(shares) if share > 0.15 * width]
        if max(shares) > 0.8 * width or not reached:
            reached = [shares.index(max(shares))]
        first, last = reached[0], reached[-1]
        if len(reached) == 1:
            return Spanning(cell, first, last)
        ranges = [
            (
                abs((self.extents[one][0] + self.extents[other][1]) / 2 - cell.middle) > _CENTERED,
                other - one,
                one,
                other,
            )
            for one in range(first + 1)
            for other in range(last, len(self.edges))
        ]
        away, _, one, other = min(ranges)
        return Spanning(cell, first, last) if away else Spanning(cell, one, other)

    def widen_single_values(self, header: int) -> None:
        """Let a row's only value span all columns after the first where it is at their middle.

        That is so in the first `header` lines, and below them if several rows have such a value. After two columns of
        labels it is so only between the columns' own middles.
        """
        if len(self.edges) < 4:
            return
        middles = [self._middle(first, len(self.edges) - 1) for first in (0, 1)]
        body = []
        self._widen_beyond_second(header)
        for number, line in enumerate(self.lines):
            if not line or [one.first for one in line[:-1]] not in ([], [0]):
                continue
            away = [abs(line[-1].cell.middle - middle) < _CENTERED for middle in middles]
            if len(line) == 1 and away[0] and not (away[1] and number < header):
                self.lines[number] = [Spanning(line[-1].cell, 0, len(self.edges) - 1)]
            elif away[1] and number < header:
                self.lines[number] = [*line[:-1], Spanning(line[-1].cell, 1, len(self.edges) - 1)]
            elif away[1] and len(line) == 2:
                body.append(number)
        for number in body if len(body) > 1 else ():
            self.lines[number][-1] = Spanning(self.lines[number][-1].cell, 1, len(self.edges) - 1)

    def _widen_beyond_second(self, header: int) -> None:
        """Let single values after a label in the second column span the columns after it."""
        last = len(self.edges) - 1
        found = []
        for number, line in enumerate(self.lines[header:], header):
            if last < 4 or [one.first for one in line[:-1]] not in ([1], [0, 1]):
                continue
            cell, column = line[-1].cell, line[-1].first
            is_own = column == line[-1].last and abs(self._middle(column, column) - cell.middle) < _CENTERED
            if column > 1 and not is_own and abs(self._middle(2, last) - cell.middle) < _CENTERED:
                found.append(number)
        for number in found if len(found) > 1 else ():
            self.lines[number][-1] = Spanning(self.lines[number][-1].cell, 2, last)

    def _middle(self, first: int, last: int) -> float:
        return (self.extents[first][0] + self.extents[last][1]) / 2

    def first_column(self, one: Spanning, others: Sequence[Spanning]) -> int:
        """The first column of a cell: it spans those before it if no `others` are there and no rule is between them."""
        first, y, slack = one.first, one.cell.base - 0.3 * one.cell.size, 0.5 * one.cell.size
        while first and not any(other.first < first for other in others):
            low, high = self.extents[first - 1][1] - slack, self.extents[first][0] + slack
            near = [rule for rule in self.uprights if low < rule[0] < high]
            if not near or any(y0 < y < y1 for _, y0, _, y1 in near):
                break
            first -= 1
        return first

    def separators(self, start: int) -> list[Level]:
        """The levels below the lines before `start` that reach the right end, from the first column or a later one."""
        top = self.placed[start - 1].row.base if start else float("-inf")
        bottom = self.placed[-1].row.base
        levels = [level for level in sorted(self.levels) if top - 2 < level.y < bottom]
        right = max((level.x1 for level in levels), default=0.0)
        return [
            level
            for level in levels
            if level.x1 > right - SAME
            and all(not cell.x0 + SAME < level.x0 < cell.x1 - SAME for cells in self.inside for cell in cells)
        ]

    def level_between(self, above: Placed, below: Placed, levels: Sequence[Level]) -> bool:
        """Whether one of the levels is between two lines."""
        return any(above.row.base - 2 < level.y < below.row.base - 0.4 * below.row.size for level in levels)
