"""Where the tables of a page are: what stands between the rules next to a table's caption.

A table may be wider than a column of text, or look like two columns itself. It is taken off the page before the
reading order is found, as all text between rules of one width above or below its caption. Tables without such rules
stay with the text, where `floats` looks for them.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragscience.core.records import Box
from ragscience.reading.floats import CAPTION
from ragscience.reading.heading_text import heading_number
from ragscience.reading.side_by_side import caption_starts
from ragscience.reading.table_columns import SAME, Level, levels_of
from ragscience.reading.text_rows import Row, TableArea, gaps_of, make_rows, runs, split_row, widest_gap

_WORD = re.compile(r"[^\W\d_]{2,}")
_REACH = 4.5
"""In font sizes: the largest distance between a caption and the first rule of its table."""
_ROW_GAP = 1.9
"""In font sizes: the largest distance between the rows of a table beyond its last rule."""
_CELL_GAP = 0.9
"""In font sizes: a wider gap in a row separates two cells."""


@dataclass(frozen=True, slots=True)
class PageTables:
    """The tables of a page and the segments that are in none."""

    rest: list[Row]
    tables: list[TableArea]


class _Area(NamedTuple):
    """A place where a caption's table may be."""

    top: float
    bottom: float
    x0: float
    x1: float
    distance: float
    """Points from the caption to the first rule."""
    is_framed: bool
    """Whether it is between two rules."""


class _Page:
    """The segments and rules of a page; `size` and `font` are those of most of the document's text."""

    def __init__(self, segments: Sequence[Row], rules: Sequence[Box], size: float, font: str) -> None:
        self.others = [row for row in segments if row.turn]
        self.levels = levels_of(rules)
        self.segments = _with_captions_apart([row for row in segments if not row.turn], self.levels)
        self.uprights = [rule for rule in rules if rule[3] - rule[1] > rule[2] - rule[0]]
        self.size, self.font = size, font
        self.captions = [row for row in self.segments if self._is_caption(row)] if self.levels else []

    def _is_caption(self, row: Row) -> bool:
        """Whether a segment begins the caption of a float, rather than a sentence about one."""
        match = CAPTION.match(row.text)
        if not match or not match["what"][0].isupper():
            return False
        first = row.pieces[0].spans[0]
        is_marked = first.bold != row.bold or row.size < self.size - 0.4 or self.font not in (row.font, first.font)
        is_alone = match.end() >= len(row.text.rstrip()) and len(row.text) < 20
        above = [other for other in self._overlapping(row.x0, row.x1) if 0 < row.base - other.base < 1.6 * row.size]
        return match["end"] in tuple(":|—–") or is_marked or is_alone or (match["end"] == "." and not above)

    def _overlapping(self, x0: float, x1: float) -> list[Row]:
        return [row for row in self.segments if row.x0 < x1 and x0 < row.x1]

    def caption_lines(self, first: Row) -> list[Row]:
        """The segments of a caption: lines of one size that follow each other at one distance."""
        found = [first, *self._right_of(first)]
        last, gap = first, 0.0
        for row in sorted(self._overlapping(first.x0, max(one.x1 for one in found)), key=lambda row: row.base):
            step = row.base - last.base
            if step <= 0.3 * first.size:
                continue
            crossed = any(last.base < level.y < row.base and level.covers(row.x0, row.x1) for level in self.levels)
            if crossed or step > (1.25 * gap if gap else 1.6 * first.size) or abs(row.size - first.size) > 0.6:
                break
            if row in self.captions or any(one.x1 < max(f.x1 for f in found) + 2 for one in self._right_of(row)):
                break
            gap, last = min(gap or step, step), row
            found.append(row)
        return found

    def _right_of(self, row: Row) -> list[Row]:
        """The segments that go on with a line after a gap: "Table 4    What was measured"."""
        level = [one for one in self.segments if abs(one.base - row.base) < 0.3 * row.size and one.x0 > row.x1]
        return [one for one in level if one.x0 - row.x1 < 3 * row.size and one not in self.captions]

    def area(self, lines: Sequence[Row], step: int) -> _Area | None:
        """The area of the table below (1) or above (-1) a caption of these lines, if any."""
        first = lines[0]
        edge = max(row.base for row in lines) if step > 0 else first.y0
        x0, x1 = min(row.x0 for row in lines), max(row.x1 for row in lines)
        ahead = sorted((step * (level.y - edge), level) for level in self.levels if step * (level.y - edge) > -2)
        near = [(away, level) for away, level in ahead if min(x1, level.x1) - max(x0, level.x0) > 0.5 * (x1 - x0)]
        if not near or near[0][0] > _REACH * first.size:
            return None
        distance, start = near[0]
        if self._has_caption(edge, start.y, start, first):
            return None
        chain, window = [start], sorted(_within(start, self.segments), key=_middle)
        for _, level in ahead:
            if step * (level.y - start.y) <= 2 or not level.is_like(start):
                continue
            if self._has_caption(chain[-1].y, level.y, start, first):
                break
            if len(chain) > 1 and self._is_text(chain[-1].y, level.y, start, window):
                break
            chain.append(level)
        return self._with_rows_beyond(chain, edge, distance, step)

    def _with_rows_beyond(self, chain: list[Level], edge: float, distance: float, step: int) -> _Area | None:
        """The area of a chain of rules, with the header before the first and the rows after the last one."""
        start = chain[0]
        near, far = start.y, chain[-1].y
        rows = make_rows(_within(start, self.segments))
        for row in sorted(rows, key=lambda row: -step * row.base):
            if step * (start.y - row.base) > 0 and step * (row.base - edge) > (1 if step > 0 else 0):
                is_next = abs(near - row.base) < 2.2 * row.size
                if is_next and not self._is_line_of_text(row, start):
                    near = row.y0 if step > 0 else row.y1
        last: Row | None = None
        count = 0
        cells = sorted(
            _count_cells(row) for row in rows if abs(row.base - (start.y + far) / 2) < abs(start.y - far) / 2
        )
        least = max(2, 0.6 * cells[len(cells) // 2]) if cells and step > 0 else 2
        for row in sorted(rows, key=lambda row: step * row.base):
            if step * (row.base - far) <= (0 if step < 0 else 1):
                continue
            away = step * (row.base - (last.base if last else far))
            is_row = _count_cells(row) >= least and not self._is_line_of_text(row, start)
            if last and not is_row and away < 0.8 * row.size:
                # A cell at the middle of the lines of its neighbors.
                continue
            number = heading_number(row.text)
            is_heading = bool(number) and not any(map(str.isdigit, row.text[len(number) :]))
            if away > _ROW_GAP * row.size or not is_row or is_heading or CAPTION.match(row.text):
                break
            count, last = count + 1, row
        if last is not None:
            far = last.y1 if step > 0 else last.y0
        elif len(chain) < 2:
            return None
        top, bottom = sorted((near, far))
        inside = [row for row in rows if top - 2 < row.base < bottom + 2]
        if len(inside) < 2 or (len(chain) < 2 and count < 2) or not self._has_cells(inside, chain):
            return None
        return _Area(top, bottom, start.x0, start.x1, distance, abs(chain[-1].y - start.y) > 2 * inside[0].size)

    def _has_cells(self, rows: Sequence[Row], chain: Sequence[Level]) -> bool:
        """Whether rows between rules are those of a table, rather than framed text in one or two columns."""
        level = chain[0]
        top, bottom = min(row.y0 for row in rows), max(row.y1 for row in rows)
        inner = any(
            level.x0 + SAME < x0 < level.x1 - SAME and y1 - y0 > 0.5 * (bottom - top) and top < (y0 + y1) / 2 < bottom
            for x0, y0, _, y1 in self._upright_runs()
        )
        cells = sum(widest_gap(row) > _CELL_GAP * row.size for row in rows)
        counts = [_text_cells(row, level) for row in rows]
        is_text = 5 * sum(text for text, _ in counts) >= 2 * sum(every for _, every in counts)
        return cells >= 2 and ((inner and len(rows) <= 8 * len(chain)) or (3 * cells >= len(rows) and not is_text))

    def _upright_runs(self) -> list[Box]:
        """The vertical rules, whole even where they are drawn cell by cell."""
        found: list[Box] = []
        for rule in sorted(self.uprights, key=lambda rule: (round(rule[0]), rule[1])):
            if found and round(found[-1][0]) == round(rule[0]) and rule[1] <= found[-1][3] + SAME:
                found[-1] = (*found[-1][:3], max(found[-1][3], rule[3]))
            else:
                found.append(rule)
        return found

    def _has_caption(self, y: float, other: float, level: Level, own: Row) -> bool:
        low, high = sorted((y, other))
        return any(low < _middle(one) < high for one in _within(level, self.captions) if one is not own)

    def _is_text(self, y: float, other: float, level: Level, window: Sequence[Row]) -> bool:
        """Whether running text stands between two heights, rather than the rows of a table.

        `window` has the segments within the level by the height of their middles.
        """
        low, high = sorted((y, other))
        rows = make_rows(window[bisect_right(window, low, key=_middle) : bisect_left(window, high, key=_middle)])
        lines = [row for row in rows if self._is_line_of_text(row, level)]
        if len(lines) < 3 or 2 * len(lines) < len(rows):
            return False
        near = [rule for rule in self.uprights if rule[1] < low + 12 and rule[3] > low + 4]
        return not all(any(abs((x0 + x1) / 2 - x) < SAME for x0, _, x1, _ in near) for x in (level.x0, level.x1))

    def _is_line_of_text(self, row: Row, level: Level) -> bool:
        """Whether a row is a line of running text: as wide as the table, in the type of the text, without cells."""
        is_wide = row.x1 - row.x0 > 0.8 * (level.x1 - level.x0) and row.x0 - level.x0 < 2 * row.size
        is_as_text = row.font == self.font and abs(row.size - self.size) < 0.5
        return is_as_text and is_wide and widest_gap(row) < _CELL_GAP * row.size and len(row.text.split()) >= 5

    def _is_in_text(self, caption: Row, area: _Area, segments: Sequence[Row]) -> bool:
        """Whether text flows around a table and its caption: beside them, and above or below across their edge."""
        edges = (min(caption.x0, area.x0), max(caption.x1, area.x1))
        top, bottom = min(area.top, caption.y0), max(area.bottom, caption.y1)
        beside = [row for row in segments if row is not caption and abs(row.base - caption.base) < 0.3 * row.size]
        near = 12 * caption.size
        around = [row for row in segments if top - near < row.base < bottom + near and row is not caption]
        return bool(beside) and any(row.x0 < x - 5 and row.x1 > x + 5 for row in around for x in edges)

    def taken(self, areas: Sequence[tuple[Row, _Area]]) -> PageTables:
        """The page with the segments in its areas taken out; a segment across an area's edge is cut there."""
        rest, tables = self.segments, []
        for caption, area in areas:
            lines: tuple[Row, ...] = ()
            if any(_are_level(caption, other) for other, _ in areas if other is not caption) or self._is_in_text(
                caption, area, rest
            ):
                lines = tuple(row for row in self.caption_lines(caption) if any(row is one for one in rest))
                rest = [row for row in rest if not any(row is one for one in lines)]
            inside: list[Row] = []
            left: list[Row] = []
            for row in rest:
                is_level = area.top - 2 < row.base - 0.3 * row.size and row.base - 0.3 * row.size < area.bottom + 2
                for part in _parts(row, area) if is_level else (row,):
                    is_in = is_level and area.x0 - SAME < (part.x0 + part.x1) / 2 < area.x1 + SAME
                    (inside if is_in and row is not caption else left).append(part)
            rest = left
            tables.append(TableArea(caption, tuple(make_rows(inside)), lines))
        return PageTables([*rest, *self.others], tables)


def find_table_areas(pages: Sequence[tuple[Sequence[Row], Sequence[Box]]]) -> list[PageTables]:
    """The tables of each page, given as (segments, rules); all pages decide on which side of captions tables are."""
    sizes: Counter[tuple[float, str]] = Counter()
    for segments, _ in pages:
        for row in segments:
            sizes[row.size, row.font] += len(row.text)
    size, font = sizes.most_common(1)[0][0] if sizes else (10.0, "")
    laid = [_Page(segments, rules, size, font) for segments, rules in pages]
    choices = [_choices(page) for page in laid]
    framed = [[step for step, area in sides.items() if area.is_framed] for found in choices for _, sides in found]
    votes = sum(steps[0] for steps in framed if len(steps) == 1)
    usual = 1 if votes > 0 else -1 if votes < 0 else 0
    return [page.taken(_chosen(found, usual)) for page, found in zip(laid, choices, strict=True)]


def _choices(page: _Page) -> list[tuple[Row, dict[int, _Area]]]:
    """Each table's caption with the areas below (1) and above (-1) it that may be its table."""
    found = []
    for first in page.captions:
        match = CAPTION.match(first.text)
        if match and match["what"].lower().startswith("tab"):
            lines = page.caption_lines(first)
            areas = {step: area for step in (1, -1) if (area := page.area(lines, step))}
            if areas:
                found.append((first, areas))
    return found


def _chosen(choices: Sequence[tuple[Row, dict[int, _Area]]], usual: int) -> list[tuple[Row, _Area]]:
    """One area for each caption, none for two; captions with a single choice come first."""
    chosen: list[tuple[Row, _Area]] = []
    for caption, sides in sorted(choices, key=lambda choice: (len(choice[1]), choice[0].base)):
        # A single rule is as near to the caption of another table.
        order = sorted(sides, key=lambda step: (step != usual, sides[step].distance))
        order = [step for step in order if sides[step].is_framed or step == usual]
        free = (sides[step] for step in order if not any(_overlap(sides[step], other) for _, other in chosen))
        if area := next(free, None):
            chosen.append((caption, area))
    return chosen


def _overlap(one: _Area, other: _Area) -> bool:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    return width > 0 and min(one.bottom, other.bottom) - max(one.top, other.top) > 0


def _with_captions_apart(segments: list[Row], levels: Sequence[Level]) -> list[Row]:
    """The segments, those cut that go through the captions of two tables side by side, above or below their rules."""
    found, ordered = segments, sorted(levels)
    for x, first in list(caption_starts(segments)) if levels else ():
        right = [level for level in ordered if x < level.x0 + 20]
        heights, starts = [level.y for level in right], [level.x0 for level in right]
        is_inside = any(
            one.x1 < max(starts[bisect_right(heights, one.y - 30) : bisect_left(heights, one.y + 30)], default=one.x1)
            for one in ordered
            if one.x0 < first.x0 + 20 and one.x1 - 20 < x
        )
        if x < first.x0 + 1 or not is_inside:
            continue
        bottom = first.base + 12 * first.size
        for row in sorted(segments, key=lambda row: row.base):
            if first.base <= row.base < bottom and any(piece.x0 < x - 0.5 < piece.x1 for piece in row.pieces):
                bottom = row.base
        cut = [split_row(row, x - 0.5) if first.base - 1 < row.base < bottom else [row] for row in found]
        found = [part for parts in cut for part in parts]
    return found


def _within(level: Level, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if level.x0 - SAME < (row.x0 + row.x1) / 2 < level.x1 + SAME]


def _middle(row: Row) -> float:
    """The height of the middle of a row's small letters."""
    return row.base - 0.3 * row.size


def _count_cells(row: Row) -> int:
    return 1 + sum(gap > _CELL_GAP * row.size for gap in gaps_of(row))


def _text_cells(row: Row, level: Level) -> tuple[int, int]:
    """How many cells of a row are lines of running text, long and of words, and how many there are."""
    parts = runs(row.pieces, lambda part, piece: piece.x0 - part[-1].x1 <= _CELL_GAP * row.size)
    text = sum(
        part[-1].x1 - part[0].x0 > 0.2 * (level.x1 - level.x0)
        and sum(len(_WORD.findall(piece.text)) for piece in part) >= 4
        for part in parts
    )
    return text, len(parts)


def _parts(row: Row, area: _Area) -> list[Row]:
    """A segment cut at the sides of an area, which it may reach across."""
    parts = [row]
    for x in (area.x0 - SAME, area.x1 + SAME):
        parts = [part for one in parts for part in (split_row(one, x) if one.x0 < x < one.x1 else (one,))]
    return parts


def _are_level(one: Row, other: Row) -> bool:
    """Whether two captions are side by side."""
    return abs(one.base - other.base) < 6 * one.size and (one.x1 < other.x0 or other.x1 < one.x0)
