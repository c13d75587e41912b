"""The columns of a table, by white space, rules and what begins below each other; the horizontal rules of a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ragscience.core.records import Box
from ragscience.reading.text_rows import Placed, runs
from ragscience.reading.text_spans import TextPiece

SAME = 3.0
"""Points between the ends of two rules of one table, at most."""
_NARROWEST = 40.0
"""Points: shorter rules are parts of figures and formulas."""
_AT_ONE_HEIGHT = 1.5


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """A horizontal rule."""

    y: float
    x0: float
    x1: float

    def is_like(self, other: Level) -> bool:
        """Whether two rules begin and end below each other."""
        return abs(self.x0 - other.x0) <= SAME and abs(self.x1 - other.x1) <= SAME

    def covers(self, x0: float, x1: float) -> bool:
        """Whether a rule is above or below most of what is between x0 and x1."""
        return min(self.x1, x1) - max(self.x0, x0) > 0.5 * (x1 - x0)


def levels_of(rules: Sequence[Box], narrowest: float = _NARROWEST) -> list[Level]:
    """The horizontal ones of the boxes of rules from top to bottom, those at one height joined where they touch."""
    flat = sorted(((y0 + y1) / 2, x0, x1) for x0, y0, x1, y1 in rules if x1 - x0 > y1 - y0)
    found = []
    for line in runs(flat, lambda line, rule: rule[0] - line[0][0] < _AT_ONE_HEIGHT):
        parts: list[Level] = []
        for y, x0, x1 in sorted(line, key=lambda rule: rule[1]):
            if parts and x0 <= parts[-1].x1 + SAME:
                parts[-1] = Level(parts[-1].y, parts[-1].x0, max(parts[-1].x1, x1))
            else:
                parts.append(Level(y, x0, x1))
        found += [part for part in parts if part.x1 - part.x0 > narrowest]
    return found


WORD_GAP = 0.55
"""In font sizes: pieces nearer than that are in one cell, whatever is above and below."""
_LEAST_WHITE = 1.5
"""Points between two columns."""
_ADDED = ("(", "±", "+/-", "+-")
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of words on one line."""

    pieces: tuple[TextPiece, ...]
    x0: float
    x1: float
    base: float
    size: float

    @property
    def text(self) -> str:
        """Its words, end to end."""
        return "".join(piece.text for piece in self.pieces).strip()

    @property
    def is_number(self) -> bool:
        """Whether it has a digit, or stands for a number that is not there."""
        return any(map(str.isdigit, self.text)) or self.text in ("-", "–", "—")

    @property
    def is_wordy(self) -> bool:
        """Whether it is a part of a sentence: three words or more."""
        return sum(len(_WORD.findall(piece.text)) for piece in self.pieces) >= 3

    @property
    def middle(self) -> float:
        """Half way between its ends."""
        return (self.x0 + self.x1) / 2

    def is_aligned(self, other: Cell) -> bool:
        """Whether two cells begin, end or have their middle below each other."""
        ends = (self.x0 - other.x0, self.x1 - other.x1, self.middle - other.middle)
        return any(abs(away) <= _LEAST_WHITE for away in ends)


def column_bounds(placed: Sequence[Placed], rules: Sequence[Box]) -> list[float]:
    """The x between two columns each, from left to right. `rules` are the lines drawn on the page."""
    uprights = _uprights(placed, rules)
    lines = [cells_of(one, WORD_GAP, uprights) for one in placed]
    bounds = _refined(placed, _settled(placed, _with_uprights(_columns(lines), uprights, lines)))
    return _without_additions(placed, bounds, uprights)


def _without_additions(placed: Sequence[Placed], bounds: Sequence[float], uprights: Sequence[float]) -> list[float]:
    """The bounds, but not those before what is only added to a value: "0.97 (0.93-1.02)", "14.3 ± 0.4"."""
    edges = list(pairwise([float("-inf"), *bounds, float("inf")]))
    lines = [cells_of(one, WORD_GAP, bounds) for one in placed]
    kept = []
    for bound, (left, right) in zip(bounds, edges[1:], strict=False):
        cells = [(number, line) for line in lines for number, cell in enumerate(line) if left < cell.middle < right]
        added = [
            line[number]
            for number, line in cells
            if line[number].text.startswith(_ADDED)
            and number
            and line[number - 1].is_number
            and line[number].x0 - line[number - 1].x1 < 1.5 * line[number].size
        ]
        opened = sum(_is_open(line[:number]) for number, line in cells)
        is_added = max(len(added), opened) > 1 and max(len(added), opened) >= 0.7 * len(cells)
        if not is_added or any(abs(bound - x) < _LEAST_WHITE for x in uprights):
            kept.append(bound)
    return kept


def _is_open(cells: Sequence[Cell]) -> bool:
    """Whether a bracket is open at the end of the cells of a line."""
    text = "".join(cell.text for cell in cells)
    return text.count("(") > text.count(")")


def _uprights(placed: Sequence[Placed], rules: Sequence[Box]) -> list[float]:
    """The x of the vertical lines next to at least half of the rows."""
    found: dict[int, set[int]] = {}
    for x0, y0, x1, y1 in rules:
        if y1 - y0 > x1 - x0:
            rows = {number for number, one in enumerate(placed) if y0 - 3 < (one.row.y0 + one.row.y1) / 2 < y1 + 3}
            found.setdefault(round((x0 + x1) / 2), set()).update(rows)
    return sorted(float(x) for x, rows in found.items() if 2 * len(rows) >= len(placed))


def _with_uprights(bounds: Sequence[float], uprights: Sequence[float], lines: Sequence[Sequence[Cell]]) -> list[float]:
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
    words = [cell for one in placed for cell in cells_of(one, 0.0, ())]
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
    lines = [cells_of(one, 0.0, ()) for one in placed]
    more: list[float] = []
    for rows in _columns_of(lines, bounds):
        more += _between_numbers(rows) or _after_labels(rows)
    bounds = sorted([*bounds, *more])
    return sorted([*bounds, *(x for rows in _columns_of(lines, bounds) for x in _before_sizes(rows))])


def _columns_of(lines: Sequence[Sequence[Cell]], bounds: Sequence[float]) -> list[list[list[Cell]]]:
    """The words of each column line by line, without the lines that have none there."""
    edges = pairwise([float("-inf"), *bounds, float("inf")])
    columns = [[[cell for cell in line if left < cell.middle < right] for line in lines] for left, right in edges]
    return [[words for words in rows if words] for rows in columns]


def _between_numbers(rows: Sequence[Sequence[Cell]]) -> list[float]:
    """The middles of the gaps in rows of numbers only, where at least three have as many, below each other."""
    numeric = [words for words in rows if len(words) > 1 and all(word.is_number for word in words)]
    usual, count = Counter(map(len, numeric)).most_common(1)[0] if numeric else (0, 0)
    if count < 3 or count < 0.7 * len(numeric):
        return []
    return _gaps([words for words in numeric if len(words) == usual])


def _after_labels(rows: Sequence[Sequence[Cell]]) -> list[float]:
    """The x after labels of several rows: "PaLM 8B", "62B", where what follows the label is below each other."""
    words = [word for row in rows for word in row]
    for x in sorted({word.x0 for row in rows for word in row[1:]}):
        if any(word.x0 < x - 0.5 < word.x1 for word in words):
            continue
        sides = [([w for w in row if w.x0 < x - 0.5], [w for w in row if w.x0 >= x - 0.5]) for row in rows]
        starts = [right[0].x0 for _, right in sides if right]
        labelled = [(left[-1], right[0]) for left, right in sides if left and right]
        labels = sum(bool(left) for left, _ in sides)
        bare = sum(not left for left, _ in sides)
        aligned = sum(abs(start - x) < _LEAST_WHITE for start in starts)
        near = any(right.x0 - left.x1 < 0.2 * left.size or right.x0 > x + 1 for left, right in labelled)
        if labelled and labels > 1 and bare >= max(2, 0.4 * len(starts)) and aligned >= 0.9 * len(starts) and not near:
            return [x - 0.6]
    return []


def _before_sizes(rows: Sequence[Sequence[Cell]]) -> list[float]:
    """The x before numbers that end below each other, beside labels of several rows: "PaLM   8B", "62B", "540B"."""
    sizes = [row[-1] for row in rows if row[-1].is_number]
    labels = [row[:-1] if row[-1].is_number else row for row in rows]
    labels = [label for label in labels if label]
    if len(sizes) < 4 or len(sizes) < 0.6 * len(rows) or not 2 <= len(labels) <= 0.6 * len(sizes):
        return []
    ends = Counter(round(size.x1) for size in sizes).most_common(1)[0][0]
    start, end = min(size.x0 for size in sizes), max(label[-1].x1 for label in labels)
    is_even = all(abs(size.x1 - ends) <= _LEAST_WHITE for size in sizes)
    has_number = any(word.is_number for label in labels for word in label)
    return [(start + end) / 2] if is_even and end < start and not has_number else []


def _gaps(rows: Sequence[Sequence[Cell]]) -> list[float]:
    """The middles of the white between the words of the same number, where all rows have some."""
    columns = [(min(word.x0 for word in words), max(word.x1 for word in words)) for words in zip(*rows, strict=True)]
    gaps = [(end, start) for (_, end), (start, _) in pairwise(columns)]
    return [(start + end) / 2 for end, start in gaps if start - end > 0.5]


def cells_of(one: Placed, gap: float, bounds: Sequence[float]) -> list[Cell]:
    """The runs of pieces with less than `gap` font sizes and none of the bounds between them."""

    def belongs(group: list[TextPiece], piece: TextPiece) -> bool:
        right = max(before.x1 for before in group)
        is_parted = any(right - 1 <= bound <= piece.x0 + 1 for bound in bounds)
        return piece.x0 - right <= gap * one.row.size and not is_parted

    groups = runs(sorted(one.row.pieces, key=lambda piece: piece.x0), belongs)
    return [cell_of(group, one.row.base, one.row.size) for group in groups]


def cell_of(pieces: Sequence[TextPiece], base: float, size: float) -> Cell:
    """The cell of some pieces of a line with this base line and size of type."""
    return Cell(tuple(pieces), min([piece.x0 for piece in pieces]), max([piece.x1 for piece in pieces]), base, size)


def _columns(lines: Sequence[Sequence[Cell]]) -> list[float]:
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
    places = (x for x, depth in enumerate(depths) if depth <= most)
    return [(run[0], run[-1] + 1) for run in runs(places, lambda run, x: x == run[-1] + 1)]
