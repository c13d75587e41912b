"""The rows of a table become its cells: columns are found by the white space that runs through the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ragscience.reading.text_rows import Placed, join_spans
from ragscience.reading.text_spans import Piece, box_around
from ragscience.records import Box

__all__ = ["TableRow", "markdown_row", "table_rows"]

_WORD = re.compile(r"[^\W\d_]{2,}")
_WORD_GAP = 0.55
"""In font sizes: pieces nearer than that are in one cell, whatever is above and below."""
_LEAST_WHITE = 1.5
"""Points between two columns."""

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


@dataclass(frozen=True, slots=True)
class _Cell:
    pieces: tuple[Piece, ...]
    x0: float
    x1: float
    base: float
    size: float

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces).strip()

    @property
    def is_number(self) -> bool:
        return any(map(str.isdigit, self.text)) or self.text in ("-", "–", "—")

    @property
    def form(self) -> tuple[bool, ...]:
        """For each word whether it has a digit."""
        return tuple(any(map(str.isdigit, word)) for piece in self.pieces for word in piece.text.split())


_Slots = list[list[_Cell]]
"""The cells of a row in each column."""


def table_rows(placed: Sequence[Placed], rules: Sequence[Box], joiner: Joiner) -> list[TableRow]:
    """The rows of a table, all with as many cells as the table has columns; a table without columns has one cell a row.

    `rules` are the lines drawn on the page. A cell that spans several columns is in the first of them.
    """
    uprights = _uprights(placed, rules)
    lines = [_cells_of(one, _WORD_GAP, uprights) for one in placed]
    bounds = _refined(placed, _settled(placed, _with_uprights(_columns(lines), uprights, lines)))
    return _Table(placed, rules, bounds, lines).rows(joiner)


def markdown_row(cells: Sequence[str]) -> str:
    """`| a | b |`, bars within a cell escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class _Table:
    """The lines of a table and the bounds between its columns."""

    def __init__(
        self, placed: Sequence[Placed], rules: Sequence[Box], bounds: Sequence[float], lines: Sequence[Sequence[_Cell]]
    ) -> None:
        self.placed, self.rules, self.bounds = placed, rules, bounds
        self.edges = list(pairwise([float("-inf"), *bounds, float("inf")]))
        self.lines = self._cut(lines)
        self.ends = [float("-inf")] * len(self.edges)
        """How far right the text of each column reaches."""
        for cell in (cell for line in self.lines for cell in line):
            column = self._column_of(cell)
            if cell.x1 < self.edges[column][1]:
                self.ends[column] = max(self.ends[column], cell.x1)

    def rows(self, joiner: Joiner) -> list[TableRow]:
        """The rows, with lines that belong to the row above joined to it."""
        rows: list[_Slots] = []
        places: list[list[Placed]] = []
        for one, cells in zip(self.placed, self.lines, strict=True):
            slots: _Slots = [[] for _ in self.edges]
            for cell in cells:
                slots[self._column_of(cell)].append(cell)
            if rows and self._belongs_above(slots, rows[-1], one, places[-1][-1]):
                rows[-1] = [above + new for above, new in zip(rows[-1], slots, strict=True)]
                places[-1].append(one)
            else:
                rows.append(slots)
                places.append([one])
        header = self._header_lines(places, rows)
        if header > 1:
            rows[:header] = [[[cell for row in rows[:header] for cell in row[c]] for c in range(len(self.edges))]]
            places[:header] = [[one for place in places[:header] for one in place]]
        return [_table_row(slots, place, joiner) for slots, place in zip(rows, places, strict=True)]

    def _cut(self, lines: Sequence[Sequence[_Cell]]) -> list[list[_Cell]]:
        """The cells cut at the bounds that they cross, but for those that span several columns as a whole.

        A cell spans where it would be cut outside of the other cells of the columns, into parts of another form.
        """
        every = [cell for line in lines for cell in line]
        inside = [[cell for cell in every if left < cell.x0 and cell.x1 < right] for left, right in self.edges]
        all_parts = [_cells_of(one, _WORD_GAP, self.bounds) for one in self.placed]
        forms: list[Counter[tuple[bool, ...]]] = [Counter() for _ in self.edges]
        for part in (part for row_parts in all_parts for part in row_parts):
            forms[self._column_of(part)][part.form] += 1
        result = []
        for row_parts, line in zip(all_parts, lines, strict=True):
            cells: list[_Cell] = []
            for cell in line:
                crossed = [number for number, bound in enumerate(self.bounds) if cell.x0 < bound < cell.x1]
                parts = [part for part in row_parts if cell.x0 <= part.x0 and part.x1 <= cell.x1]
                if len(crossed) == 1 and len(parts) == 2 and inside[crossed[0]] and inside[crossed[0] + 1]:
                    left = max(other.x1 for other in inside[crossed[0]])
                    right = min(other.x0 for other in inside[crossed[0] + 1])
                    columns = zip(forms[crossed[0] :], parts, strict=False)
                    is_usual = any(form[part.form] >= 0.4 * form.total() for form, part in columns)
                    if parts[0].x1 > left + 2 and parts[1].x0 < right - 2 and not is_usual:
                        parts = [cell]
                cells += parts or [cell]
            result.append(cells)
        return result

    def _column_of(self, cell: _Cell) -> int:
        """The column with most of a cell, or the first one that it reaches into."""
        shares = [max(0.0, min(cell.x1, right) - max(cell.x0, left)) for left, right in self.edges]
        width = max(cell.x1 - cell.x0, 0.1)
        best = max(range(len(shares)), key=lambda column: shares[column])
        if shares[best] > 0.8 * width:
            return best
        return next(column for column, share in enumerate(shares) if share > 0.15 * width or column == best)

    def _header_lines(self, places: Sequence[Sequence[Placed]], rows: Sequence[_Slots]) -> int:
        """How many lines above the first rule below the header are one row: close, and none over several columns."""
        size = max(one.row.size for one in self.placed)
        wide = 0.5 * (max(one.row.x1 for place in places for one in place) - min(p[0].row.x0 for p in places))
        levels = [rule[1] for rule in self.rules if rule[2] - rule[0] > wide]
        for number in range(1, min(len(places), 5)):
            above, below = places[number - 1][-1].row, places[number][0].row
            if any(above.base - 2 < y < below.base - 0.4 * below.size for y in levels):
                cells = [cell for row in rows[:number] for slot in row for cell in slot]
                has_numbers = any(all(c.is_number for c in slot) for row in rows[1:number] for slot in row[1:] if slot)
                crossings = ((cell, min(bound - cell.x0, cell.x1 - bound)) for cell in cells for bound in self.bounds)
                is_over = any(inside > 0.25 * (cell.x1 - cell.x0) for cell, inside in crossings)
                return 1 if 2 * sum(c.is_number for c in cells) > len(cells) or has_numbers or is_over else number
            if below.base - above.base > 1.6 * size:
                break
        return 1

    def _belongs_above(self, slots: _Slots, above: _Slots, one: Placed, before: Placed) -> bool:
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


def _uprights(placed: Sequence[Placed], rules: Sequence[Box]) -> list[float]:
    """The x of the vertical lines next to at least half of the rows."""
    found: dict[int, set[int]] = {}
    for x0, y0, x1, y1 in rules:
        if y1 - y0 > x1 - x0:
            rows = {number for number, one in enumerate(placed) if y0 - 3 < (one.row.y0 + one.row.y1) / 2 < y1 + 3}
            found.setdefault(round((x0 + x1) / 2), set()).update(rows)
    return sorted(float(x) for x, rows in found.items() if 2 * len(rows) >= len(placed))


def _with_uprights(bounds: Sequence[float], uprights: Sequence[float], lines: Sequence[Sequence[_Cell]]) -> list[float]:
    """The columns' bounds and the vertical lines that separate further columns."""
    cells = [cell for line in lines for cell in line]
    low, high = min(cell.x0 for cell in cells), max(cell.x1 for cell in cells)
    result = list(bounds)
    for x in uprights:
        nearest = min(bounds, key=lambda bound: abs(bound - x), default=None)
        is_new = nearest is None or any(min(x, nearest) <= cell.x0 and cell.x1 <= max(x, nearest) for cell in cells)
        if low + 2 < x < high - 2 and is_new:
            result.append(x)
    return sorted(result)


def _settled(placed: Sequence[Placed], bounds: Sequence[float]) -> list[float]:
    """Each bound moved, by a font size at most, to where it touches the fewest words."""
    words = [cell for one in placed for cell in _cells_of(one, 0.0, ())]
    reach = int(2 * max((cell.size for cell in words), default=8.0))
    result = set()
    for bound in bounds:
        near = [(cell.x0, cell.x1) for cell in words if cell.x1 > bound - 12 and cell.x0 < bound + 12]
        steps = [bound + step / 2 for step in range(-reach, reach + 1)]
        touched = [sum(x0 - 0.3 < x < x1 + 0.3 for x0, x1 in near) for x in steps]
        _, _, best = min((count, abs(x - bound), x) for x, count in zip(steps, touched, strict=True))
        result.add(best)
    return sorted(result)


def _refined(placed: Sequence[Placed], bounds: list[float]) -> list[float]:
    """The bounds and those between columns of numbers that are as near to each other as words."""
    more: list[float] = []
    lines = [_cells_of(one, 0.0, ()) for one in placed]
    for left, right in pairwise([float("-inf"), *bounds, float("inf")]):
        rows = [[cell for cell in line if left < (cell.x0 + cell.x1) / 2 < right] for line in lines]
        rows = [words for words in rows if words]
        more += _between_numbers(rows) or _beside_numbers(rows)
    return sorted([*bounds, *more])


def _between_numbers(rows: Sequence[Sequence[_Cell]]) -> list[float]:
    """The middles of the gaps in rows of numbers only, where at least three have as many, below each other."""
    numeric = [words for words in rows if len(words) > 1 and all(word.is_number for word in words)]
    usual, count = Counter(map(len, numeric)).most_common(1)[0] if numeric else (0, 0)
    if count < 3 or count < 0.7 * len(numeric):
        return []
    return [middle for middle, _ in _gaps([words for words in numeric if len(words) == usual])]


def _beside_numbers(rows: Sequence[Sequence[_Cell]]) -> list[float]:
    """The middles of gaps clearly wider than the others in rows with as many words: "2 to 4   0.1"."""
    usual, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    alike = [words for words in rows if len(words) == usual]
    words = [word for row in alike for word in row]
    if usual < 3 or count < 4 or count < 0.6 * len(rows) or sum(word.is_number for word in words) < 0.6 * len(words):
        return []
    gaps = _gaps(alike)
    least = min((width for _, width in gaps), default=0.0)
    return [middle for middle, width in gaps if width > 1.25 * least and width > 0.22 * words[0].size]


def _gaps(rows: Sequence[Sequence[_Cell]]) -> list[tuple[float, float]]:
    """(middle, width) of the white between the words of the same number, where all rows have some."""
    columns = [(min(word.x0 for word in words), max(word.x1 for word in words)) for words in zip(*rows, strict=True)]
    gaps = [(end, start) for (_, end), (start, _) in pairwise(columns)]
    return [((start + end) / 2, start - end) for end, start in gaps if start - end > 0.5]


def _cells_of(one: Placed, gap: float, bounds: Sequence[float]) -> list[_Cell]:
    """The runs of pieces with less than `gap` font sizes and none of the bounds between them."""
    groups: list[list[Piece]] = []
    right = 0.0
    for piece in sorted(one.row.pieces, key=lambda piece: piece.x0):
        is_near = bool(groups) and piece.x0 - right <= gap * one.row.size
        if is_near and not any(right - 1 <= bound <= piece.x0 + 1 for bound in bounds):
            groups[-1].append(piece)
            right = max(right, piece.x1)
        else:
            groups.append([piece])
            right = piece.x1
    return [
        _Cell(tuple(group), group[0].x0, max([piece.x1 for piece in group]), one.row.base, one.row.size)
        for group in groups
    ]


def _columns(lines: Sequence[Sequence[_Cell]]) -> list[float]:
    """The x between two columns each: where nearly all rows with many cells are white."""
    most = max((len(cells) for cells in lines), default=0)
    if most < 2:
        return []
    full = [cells for cells in lines if len(cells) >= max(2, 0.5 * most)]
    spans = [(cell.x0, cell.x1) for cells in full for cell in cells]
    low, high = min(x0 for x0, _ in spans), max(x1 for _, x1 in spans)
    scale = 2
    length = int((high - low) * scale) + 2
    steps = [0] * (length + 1)
    for x0, x1 in spans:
        steps[int((x0 - low) * scale)] += 1
        steps[min(int((x1 - low) * scale) + 1, length)] -= 1
    depths = list(accumulate(steps[:length]))
    allowed = max(len(full) // 5, 1 if len(full) > 3 else 0)
    bounds = []
    for begin, end in _runs_below(depths, allowed):
        inner = _runs_below(depths[begin:end], min(depths[begin:end]))
        first, beyond = max(inner, key=lambda run: run[1] - run[0])
        if begin > 0 and end < length and beyond - first >= _LEAST_WHITE * scale:
            bounds.append(low + (begin + (first + beyond) / 2) / scale)
    return bounds


def _runs_below(depths: Sequence[int], most: int) -> list[tuple[int, int]]:
    """(first, beyond the last) of each run of values of at most `most`."""
    runs, begun = [], -1
    for x, depth in enumerate([*depths, most + 1]):
        if depth <= most and begun < 0:
            begun = x
        elif depth > most and begun >= 0:
            runs.append((begun, x))
            begun = -1
    return runs


def _wraps(above: Sequence[_Cell], below: Sequence[_Cell], end: float) -> bool:
    """Whether text continues below because its next word did not fit: several words that fill the column."""
    last = max(above, key=lambda cell: (cell.base, cell.x1))
    text = " ".join(piece.text for cell in above if abs(cell.base - last.base) < 1 for piece in cell.pieces)
    first = min(below, key=lambda cell: cell.x0).pieces[0]
    word = first.text.split()[0] if first.text.split() else ""
    width = (first.x1 - first.x0) * len(word) / max(len(first.text), 1)
    return len(text.split()) >= 3 and len(_WORD.findall(text)) >= 2 and end - last.x1 < width + 0.2 * last.size


def _table_row(slots: Sequence[Sequence[_Cell]], places: Sequence[Placed], joiner: Joiner) -> TableRow:
    cells = []
    for slot in slots:
        text, base = "", 0.0
        for cell in sorted(slot, key=lambda cell: (round(cell.base), cell.x0)):
            more = join_spans(cell.pieces, cell.base, cell.size)
            count, between = joiner(text, more) if text and cell.base > base + 1 else (0, " " if text else "")
            text, base = f"{text[: len(text) - count]}{between}{more}", cell.base
        cells.append(text)
    return TableRow(tuple(cells), box_around(one.row.box for one in places), places[0].row.turn, places[0].page)
