"""The rows of a table become its cells: columns are told by the white that runs through the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragscience.reading.text_rows import Placed, join_spans
from ragscience.reading.text_spans import Piece
from ragscience.records import Box

__all__ = ["TableRow", "markdown_row", "table_rows"]

_WORD = re.compile(r"[^\W\d_]{2,}")
_WORD_GAP = 0.55
"""In font sizes: pieces nearer than that are one cell's, whatever stands above and below."""
_LEAST_WHITE = 1.5
"""Points between two columns."""


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


def table_rows(
    placed: Sequence[Placed], rules: Sequence[Box], joiner: Callable[[str, str], tuple[int, str]]
) -> list[TableRow]:
    """The rows of a table, each with as many cells as the table has columns; where it has none, one cell a row.

    `rules` are the lines drawn on the page; `joiner` tells how two lines of a cell are joined, as `Vocabulary.joiner`
    does. A cell that reaches over several columns stands in the first of them.
    """
    uprights = _uprights(placed, rules)
    lines = [_cells_of(one, _WORD_GAP, uprights) for one in placed]
    bounds = _refined(placed, _settled(placed, _with_uprights(_columns(lines), uprights, lines)))
    lines = _cut(placed, lines, bounds)
    size = max(one.row.size for one in placed)
    ends = _ends(lines, bounds)
    rows: list[list[list[_Cell]]] = []
    places: list[list[Placed]] = []
    for one, cells in zip(placed, lines, strict=True):
        slots: list[list[_Cell]] = [[] for _ in range(len(bounds) + 1)]
        for cell in cells:
            slots[_column_of(cell, bounds)].append(cell)
        if rows and _belongs_above(slots, rows[-1], one, places[-1][-1], rules, ends):
            rows[-1] = [above + new for above, new in zip(rows[-1], slots, strict=True)]
            places[-1].append(one)
        else:
            rows.append(slots)
            places.append([one])
    header = _header_lines(places, rows, bounds, size, rules)
    if header > 1:
        rows[:header] = [[[cell for row in rows[:header] for cell in row[column]] for column in range(len(bounds) + 1)]]
        places[:header] = [[one for place in places[:header] for one in place]]
    return [_table_row(slots, place, joiner) for slots, place in zip(rows, places, strict=True)]


def _header_lines(
    places: Sequence[Sequence[Placed]],
    rows: Sequence[Sequence[Sequence[_Cell]]],
    bounds: Sequence[float],
    size: float,
    rules: Sequence[Box],
) -> int:
    """How many lines above the first line drawn below the header are one row: close, and none over several columns."""
    wide = 0.5 * (max(one.row.x1 for place in places for one in place) - min(p[0].row.x0 for p in places))
    lines = sorted(rule[1] for rule in rules if rule[2] - rule[0] > wide)
    for number in range(1, min(len(places), 5)):
        above, below = places[number - 1][-1].row, places[number][0].row
        if any(above.base - 2 < y < below.base - 0.4 * below.size for y in lines):
            cells = [cell for row in rows[:number] for slot in row for cell in slot]
            if sum(map(_is_number, cells)) > 0.5 * len(cells) or any(
                all(map(_is_number, slot)) for row in rows[1:number] for slot in row[1:] if slot
            ):
                return 1
            over = any(
                min(bound - cell.x0, cell.x1 - bound) > 0.25 * (cell.x1 - cell.x0) for cell in cells for bound in bounds
            )
            return 1 if over else number
        if below.base - above.base > 1.6 * size:
            break
    return 1


def markdown_row(cells: Sequence[str]) -> str:
    """`| a | b |`, bars within a cell escaped."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _uprights(placed: Sequence[Placed], rules: Sequence[Box]) -> list[float]:
    """The x of the vertical lines beside at least half of the rows."""
    found: dict[int, set[int]] = {}
    for x0, y0, x1, y1 in rules:
        if y1 - y0 > x1 - x0:
            beside = {number for number, one in enumerate(placed) if y0 - 3 < (one.row.y0 + one.row.y1) / 2 < y1 + 3}
            found.setdefault(round((x0 + x1) / 2), set()).update(beside)
    return sorted(float(x) for x, beside in found.items() if 2 * len(beside) >= len(placed))


def _with_uprights(bounds: Sequence[float], uprights: Sequence[float], lines: Sequence[Sequence[_Cell]]) -> list[float]:
    """The columns' bounds with the vertical lines between them that are none yet."""
    cells = [cell for line in lines for cell in line]
    low, high = min(cell.x0 for cell in cells), max(cell.x1 for cell in cells)
    result = list(bounds)
    for x in uprights:
        between = [cell for cell in cells if any(min(x, b) < (cell.x0 + cell.x1) / 2 < max(x, b) for b in bounds[:])]
        nearest = min(bounds, key=lambda bound: abs(bound - x), default=None)
        is_new = nearest is None or any(min(x, nearest) <= cell.x0 and cell.x1 <= max(x, nearest) for cell in between)
        if low + 2 < x < high - 2 and is_new:
            result.append(x)
    return sorted(result)


def _settled(placed: Sequence[Placed], bounds: Sequence[float]) -> list[float]:
    """Each bound moved, by a font size at most, to where it touches fewest words."""
    words = [cell for one in placed for cell in _cells_of(one, 0.0, ())]
    result = []
    for bound in bounds:
        near = [(cell.x0, cell.x1) for cell in words if cell.x1 > bound - 12 and cell.x0 < bound + 12]
        reach = max((cell.size for cell in words), default=8.0)
        steps = [bound + step / 2 for step in range(int(-2 * reach), int(2 * reach) + 1)]
        touched = [sum(x0 - 0.3 < x < x1 + 0.3 for x0, x1 in near) for x in steps]
        least = min(touched)
        best = min((x for x, count in zip(steps, touched, strict=True) if count == least), key=lambda x: abs(x - bound))
        result.append(best)
    return sorted(set(result))


def _cut(placed: Sequence[Placed], lines: Sequence[Sequence[_Cell]], bounds: Sequence[float]) -> list[list[_Cell]]:
    """The cells cut at the bounds that they reach over, but for those that stand over several columns as a whole.

    Those are told by where they would be cut: outside of what else stands in the columns, into parts unlike it.
    """
    edges = list(zip([float("-inf"), *bounds], [*bounds, float("inf")], strict=True))
    inside = [[cell for line in lines for cell in line if left < cell.x0 and cell.x1 < right] for left, right in edges]
    forms: list[Counter[tuple[bool, ...]]] = [Counter() for _ in edges]
    all_parts = [_cells_of(one, _WORD_GAP, bounds) for one in placed]
    for row_parts in all_parts:
        for part in row_parts:
            forms[_column_of(part, bounds)][_form(part)] += 1
    result = []
    for row_parts, line in zip(all_parts, lines, strict=True):
        cells: list[_Cell] = []
        for cell in line:
            crossed = [number for number, bound in enumerate(bounds) if cell.x0 < bound < cell.x1]
            parts = [part for part in row_parts if cell.x0 <= part.x0 and part.x1 <= cell.x1]
            if len(crossed) == 1 and len(parts) == 2 and inside[crossed[0]] and inside[crossed[0] + 1]:
                left = max(other.x1 for other in inside[crossed[0]])
                right = min(other.x0 for other in inside[crossed[0] + 1])
                is_outside = parts[0].x1 > left + 2 and parts[1].x0 < right - 2
                if is_outside and not any(
                    forms[crossed[0] + side][_form(part)] >= 0.4 * forms[crossed[0] + side].total()
                    for side, part in enumerate(parts)
                ):
                    parts = [cell]
            cells += parts or [cell]
        result.append(cells)
    return result


def _refined(placed: Sequence[Placed], bounds: list[float]) -> list[float]:
    """The bounds with those of columns of numbers that stand as near to each other as words do."""
    edges = [float("-inf"), *bounds, float("inf")]
    more: list[float] = []
    lines = [_cells_of(one, 0.0, ()) for one in placed]
    for left, right in pairwise(edges):
        rows = []
        for line in lines:
            words = [cell for cell in line if left < (cell.x0 + cell.x1) / 2 < right]
            if words:
                rows.append(words)
        more += _between_numbers(rows) or _beside_numbers(rows)
    return sorted([*bounds, *more])


def _between_numbers(rows: Sequence[Sequence[_Cell]]) -> list[float]:
    """The middles of the gaps in rows of nothing but numbers, where at least three have as many, below each other."""
    numeric = [words for words in rows if len(words) > 1 and all(map(_is_number, words))]
    if len(numeric) < 3:
        return []
    usual, count = Counter(map(len, numeric)).most_common(1)[0]
    if count < 3 or count < 0.7 * len(numeric):
        return []
    return [middle for middle, _ in _gaps([words for words in numeric if len(words) == usual])]


def _beside_numbers(rows: Sequence[Sequence[_Cell]]) -> list[float]:
    """The middles of gaps that are clearly wider than the others in rows that have as many words: "2 to 4   0.1"."""
    usual, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
    alike = [words for words in rows if len(words) == usual]
    words = [word for row in alike for word in row]
    if usual < 3 or count < 4 or count < 0.6 * len(rows) or sum(map(_is_number, words)) < 0.6 * len(words):
        return []
    gaps = _gaps(alike)
    least = min((width for _, width in gaps), default=0.0)
    return [middle for middle, width in gaps if width > 1.25 * least and width > 0.22 * words[0].size]


def _gaps(rows: Sequence[Sequence[_Cell]]) -> list[tuple[float, float]]:
    """(middle, width) of the white between the words of the same number, where there is some in all rows."""
    found = []
    for number in range(len(rows[0]) - 1):
        end, start = max(words[number].x1 for words in rows), min(words[number + 1].x0 for words in rows)
        if start - end > 0.5:
            found.append(((start + end) / 2, start - end))
    return found


def _form(cell: _Cell) -> tuple[bool, ...]:
    """For each word of a cell whether it has a digit."""
    return tuple(any(map(str.isdigit, word)) for piece in cell.pieces for word in piece.text.split())


def _is_number(cell: _Cell) -> bool:
    text = "".join(piece.text for piece in cell.pieces).strip()
    return any(map(str.isdigit, text)) or text in ("-", "–", "—")


def _cells_of(one: Placed, gap: float, bounds: Sequence[float]) -> list[_Cell]:
    """The runs of pieces with less than `gap` font sizes and none of the bounds between them."""
    groups: list[list[Piece]] = []
    right = 0.0
    for piece in sorted(one.row.pieces, key=lambda piece: piece.x0):
        is_near = bool(groups) and piece.x0 - right <= gap * one.row.size
        if is_near and not any(right - 1 <= bound <= piece.x0 + 1 for bound in bounds):
            groups[-1].append(piece)
        else:
            groups.append([piece])
        right = max(right, piece.x1) if groups and len(groups[-1]) > 1 else piece.x1
    return [
        _Cell(
            tuple(group),
            min([piece.x0 for piece in group]),
            max([piece.x1 for piece in group]),
            one.row.base,
            one.row.size,
        )
        for group in groups
    ]


def _columns(lines: Sequence[Sequence[_Cell]]) -> list[float]:
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
    depths = []
    depth = 0
    for x in range(length):
        depth += covered[x]
        depths.append(depth)
    allowed = max(len(full) // 5, 1 if len(full) > 3 else 0)
    bounds = []
    for begin, end in _runs_below(depths, allowed):
        lowest = min(depths[begin:end])
        inner = [(a, b) for a, b in _runs_below(depths[begin:end], lowest)]
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


def _column_of(cell: _Cell, bounds: Sequence[float]) -> int:
    """The column in which most of a cell stands, or the first one that it reaches over."""
    edges = [float("-inf"), *bounds, float("inf")]
    shares = [max(0.0, min(cell.x1, right) - max(cell.x0, left)) for left, right in pairwise(edges)]
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
    rules: Sequence[Box],
    ends: Sequence[float],
) -> bool:
    """Whether a line is a part of the row above: it stands at half its height, or goes on with some of its cells."""
    if one.page != before.page:
        return False
    gap, size = one.row.base - before.row.base, max(one.row.size, before.row.size)
    filled = [column for column, cells in enumerate(slots) if cells]
    taken = [column for column, cells in enumerate(above) if cells]
    if any(before.row.base < rule[1] < one.row.base - 0.6 * one.row.size and rule[2] - rule[0] > 40 for rule in rules):
        return False
    if gap < 0.8 * size:
        both = [column for column in filled if above[column] and one.row.base - above[column][0].base > 0.8 * size]
        if len(both) > 1 and any(_is_number(slots[c][0]) and _is_number(above[c][0]) for c in both):
            # Between two whole rows stands the cell that both share: it is with the first of them.
            return False
        # The cell of several rows stands beside the middle of them: it goes to the one just above.
        return not set(filled) & {c for c in taken if any(abs(x.base - one.row.base) < 0.9 * size for x in above[c])}
    only = slots[0][0].pieces[0].text if filled == [0] else ""
    if only[:1].islower() and above[0] and len(taken) > 1 and gap < 1.3 * size:
        return True
    is_same = len(taken) > 1 and set(filled) <= set(taken)
    if gap < 1.4 * size and is_same and all(_wraps(above[c], slots[c], ends[c]) for c in filled):
        return True
    is_rest = len(filled) < len(slots) and 0 not in filled and set(filled) <= set(taken)
    texts = [cell for column in filled for cell in slots[column]]
    wordy = all(len("".join(piece.text for piece in cell.pieces).strip()) > 2 for cell in texts)
    return is_rest and gap < 1.25 * size and len(filled) <= 2 and wordy and len(taken) > len(filled) + 1


def _ends(lines: Sequence[Sequence[_Cell]], bounds: Sequence[float]) -> list[float]:
    """How far the text of each column reaches to the right."""
    ends = [float("-inf")] * (len(bounds) + 1)
    edges = [*bounds, float("inf")]
    for line in lines:
        for cell in line:
            column = _column_of(cell, bounds)
            if cell.x1 < edges[column]:
                ends[column] = max(ends[column], cell.x1)
    return ends


def _wraps(above: Sequence[_Cell], below: Sequence[_Cell], end: float) -> bool:
    """Whether text goes on below because its next word had no room: a cell of several words, full as its column is."""
    last = max(above, key=lambda cell: (cell.base, cell.x1))
    text = " ".join(piece.text for cell in above if abs(cell.base - last.base) < 1 for piece in cell.pieces)
    first = min(below, key=lambda cell: cell.x0).pieces[0]
    word = first.text.split()[0] if first.text.split() else ""
    width = (first.x1 - first.x0) * len(word) / max(len(first.text), 1)
    return len(text.split()) >= 3 and len(_WORD.findall(text)) >= 2 and end - last.x1 < width + 0.2 * last.size


def _table_row(
    slots: Sequence[Sequence[_Cell]], places: Sequence[Placed], joiner: Callable[[str, str], tuple[int, str]]
) -> TableRow:
    cells = []
    for slot in slots:
        text, base = "", 0.0
        for cell in sorted(slot, key=lambda cell: (round(cell.base), cell.x0)):
            more = join_spans(cell.pieces, cell.base, cell.size)
            count, between = joiner(text, more) if text and cell.base > base + 1 else (0, " " if text else "")
            text, base = f"{text[: len(text) - count]}{between}{more}", cell.base
        cells.append(text)
    rows = [one.row for one in places]
    box = (
        min(row.x0 for row in rows),
        min(row.y0 for row in rows),
        max(row.x1 for row in rows),
        max(row.y1 for row in rows),
    )
    return TableRow(tuple(cells), box, rows[0].turn, places[0].page)
