"""Captions, and the tables and figures that they belong to."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragscience.core.records import Box
from ragscience.reading.heading_text import heading_number
from ragscience.reading.text_rows import LaidPage, Measures, Placed, TableArea, grouped, is_prose, widest_gap
from ragscience.reading.text_spans import box_on_page

CAPTION = re.compile(
    r"(?P<what>figure|fig|table|tab|algorithm|listing|scheme|chart|plate|exhibit)s?\.?\s?"
    r"(?P<number>[A-Z]?\.?\d{1,3}(?:[.\-]\d{1,2})*[a-z]?|[IVX]{1,5})\s*(?P<end>[:.|—–]|$|\s)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_]{2}")
"""What most rows of a table have and those of an axis have not."""
_LONGEST_LABEL = 60
"""Characters of an axis label in a figure."""
_CELL_GAP = 0.9
"""In font sizes: a wider gap in a row separates two cells."""


class _Caption(NamedTuple):
    """A caption and the indices of its first and last row."""

    what: str
    """ "table", "figure" or "other"."""
    first: int
    last: int
    group: int


def find_floats(placed: Sequence[Placed], pages: Mapping[int, LaidPage], measures: Measures) -> None:
    """Set the kind of the rows of captions, tables and figures; a caption and its float share a group."""
    floats = _Floats(placed, pages, measures)
    captions: list[_Caption] = []
    for index in range(len(placed)):
        if what := floats.caption_kind(index):
            group = len(captions) + 1
            captions.append(_Caption(what, index, floats.mark_caption(index, group), group))
    groups = {id(row): one.group for one in captions if (area := floats.area_of(one)) for row in area.rows}
    for row in placed:
        row.group = groups.get(id(row.row), row.group)
    tables = [caption for caption in captions if caption.what == "table" and not floats.area_of(caption)]
    side = floats.usual_side(tables)
    # Tables with a single choice of rows choose first: those rows are no other caption's.
    for table in sorted(tables, key=lambda table: not floats.is_sure(table, side)):
        floats.mark_table(table, side)
    figures = [caption for caption in captions if caption.what == "figure"]
    for figure in figures:
        floats.mark_figure(figure)
    floats.mark_axis_names(figures)


class _Floats:
    """The rows of a document while their captions, tables and figures are found."""

    def __init__(self, placed: Sequence[Placed], pages: Mapping[int, LaidPage], measures: Measures) -> None:
        self.placed, self.pages, self.measures = placed, pages, measures
        self.areas = {id(table.caption.pieces[0]): table for page in pages.values() for table in page.tables}
        """The tables that were found by their rules, by the first piece of their caption."""
        inside = {id(row) for table in self.areas.values() for row in table.rows}
        for one in placed:
            if id(one.row) in inside:
                one.kind = "table"

    def area_of(self, caption: _Caption) -> TableArea | None:
        """A caption's table, if it was found by its rules."""
        return self.areas.get(id(self.placed[caption.first].row.pieces[0]))

    def caption_kind(self, index: int) -> str:
        """What a caption that begins at this row is of: "table", "figure", "other", or "" without one."""
        one = self.placed[index]
        row = one.row
        match = CAPTION.match(row.text)
        if not match or one.kind or row.turn or not match["what"][0].isupper():
            return ""
        if id(row.pieces[0]) in self.areas:
            return "table"
        first = row.pieces[0].spans[0]
        is_marked = (
            first.bold != _is_mostly_bold(one)
            or row.size < self.measures.size - 0.4
            or self.measures.font not in (row.font, first.font)
        )
        has_sign = match["end"] in (":", "|", "—", "–") or (match["end"] == "." and is_marked)
        is_alone = match.end() >= len(row.text.rstrip()) and len(row.text) < 20
        if not (has_sign or is_marked or is_alone):
            return ""
        before = self.placed[index - 1] if one.above is not None and one.above < 1.3 * row.size else None
        goes_on = before and before.row.text[-1] not in ".:!?" and is_prose(before, self.measures)
        if goes_on and match["end"] not in tuple(":|—–"):
            return ""  # "… as shown in / Fig. 3. The …" continues a sentence
        what = match["what"].lower()
        if what.startswith("tab"):
            return "table"
        return "figure" if what.startswith("fig") or what in ("chart", "plate", "scheme", "exhibit") else "other"

    def mark_caption(self, first: int, group: int) -> int:
        """Mark the rows of a caption; the index of the last one."""
        start = self.placed[first]
        start.kind, start.group = "caption", group
        last, gap = first, 0.0
        for index in range(first + 1, len(self.placed)):
            one, before = self.placed[index], self.placed[last]
            row = one.row
            if one.region != start.region or one.kind or one.above is None or CAPTION.match(row.text):
                break
            if abs(row.size - start.row.size) > 0.6 or one.above > (1.25 * gap if gap else 1.6 * start.row.size):
                break
            is_short = before.row.x1 < row.x1 - 3 * row.size
            was_end = is_short and before.row.text.endswith(".") and abs(before.row.x0 - row.x0) > 2
            if was_end or widest_gap(row) > 1.2 * row.size:
                break
            gap = min(gap or one.above, one.above)
            one.kind, one.group = "caption", group
            last = index
        return last

    def is_sure(self, table: _Caption, usual: int) -> bool:
        """Whether rows on one side of a caption alone may be its table, and that is the usual side."""
        choices = {step for step in (-1, 1) if self.side(table, step)[1] >= 2}
        return len(choices) == 1 and (not usual or choices == {usual})

    def usual_side(self, tables: Sequence[_Caption]) -> int:
        """-1 where tables are above their captions, 1 where below, 0 where unclear; tables with one side vote."""
        votes = sum((self.side(table, 1)[1] >= 2) - (self.side(table, -1)[1] >= 2) for table in tables)
        return 0 if abs(votes) < 2 else 1 if votes > 0 else -1

    def mark_table(self, caption: _Caption, usual: int) -> None:
        """Mark the rows of a caption's table: those on the usual side, else on the other.

        Without a usual side it is the side more like a table, below the caption when in doubt.
        """
        near = self.placed[max(caption.first - 1, 0) : caption.last + 2]
        if any(one.kind == "table" and one.group == caption.group for one in near):
            return
        sides = [self.side(caption, step) for step in (1, -1)]
        is_above = usual < 0 or (not usual and sides[1][1] > sides[0][1])
        rows = next((rows for rows, likeness in (sides[::-1] if is_above else sides) if likeness >= 2), [])
        self._mark(rows, "table", caption.group)

    def _mark(self, rows: Sequence[int], kind: str, group: int) -> None:
        for index in rows:
            self.placed[index].kind, self.placed[index].group = kind, group

    def side(self, caption: _Caption, step: int) -> tuple[list[int], float]:
        """The rows above (-1) or below (1) a caption that may be its table, and their likeness to a table."""
        page = self.pages[self.placed[caption.first].page]
        rules = [rule for rule in page.rules if max(rule[2] - rule[0], 2 * (rule[3] - rule[1])) > 20]
        rows = self._table_rows(caption.first if step < 0 else caption.last, step, rules)
        return rows, self._likeness(rows, rules)

    def _table_rows(self, start: int, step: int, rules: Sequence[Box]) -> list[int]:
        """The indices of the rows on one side of a caption that may be its table, from the caption on."""
        caption = self.placed[start]
        found: list[int] = []
        for index in range(start + step, len(self.placed) if step > 0 else -1, step):
            one, near = self.placed[index], self.placed[index - step]
            region = self.placed[found[0]].region if found else caption.region
            if one.kind or (one.region != region and (found or not _is_next(one, near, step))):
                break
            low, high = sorted((one.row.base, near.row.base))
            is_ruled = any(rule[2] - rule[0] > 20 and low - 2 < rule[1] < high + 2 for rule in rules)
            if high - low > (5 if is_ruled else 3.2) * one.row.size and not _is_beside(one, caption):
                break
            if is_prose(one, self.measures) and not _is_enclosed(one, rules):
                break
            found.append(index)
        return self._within_rules(start, step, found, rules) if found else found

    def _within_rules(self, start: int, step: int, found: list[int], rules: Sequence[Box]) -> list[int]:
        """The rows as far as the last horizontal rule next to them, where there are two rules or more."""
        placed, caption = self.placed, self.placed[start].row
        top, bottom = self._extent(found)
        column = placed[found[0]]
        low = max(top - 14, caption.base - 2) if step > 0 else top - 14
        high = bottom + 14 if step > 0 else min(bottom + 14, caption.y1)
        levels = sorted(
            {
                round(y)
                for x0, y, x1, _ in rules
                if x1 - x0 > 40 and low < y < high and x1 > column.left - 30 and x0 < column.right + 30
            }
        )
        # A double rule counts once.
        levels = [y for y, before in zip(levels, [-99, *levels], strict=False) if y - before > 4]
        if len(levels) < 2:
            return found
        inside = [index for index in found if levels[0] - 3 <= placed[index].row.base <= levels[-1] + 3]
        if not inside:
            return inside
        # A header above the first rule and a row below the last one belong to it where they have cells.
        first, last = found.index(inside[0]), found.index(inside[-1])
        while first > 0 and _goes_on(placed[found[first - 1]], placed[found[first]]):
            first -= 1
        while last + 1 < len(found) and _goes_on(placed[found[last + 1]], placed[found[last]]):
            last += 1
        return found[first : last + 1]

    def _extent(self, rows: Sequence[int]) -> tuple[float, float]:
        return min(self.placed[index].row.y0 for index in rows), max(self.placed[index].row.y1 for index in rows)

    def _likeness(self, rows: Sequence[int], rules: Sequence[Box]) -> float:
        """How much rows resemble a table: rows with cells, rules between them."""
        if not rows:
            return 0.0
        with_cells = sum(_has_cells(self.placed[index]) for index in rows)
        top, bottom = self._extent(rows)
        ruled = sum(rule[2] - rule[0] > 40 and top - 8 < rule[1] < bottom + 8 for rule in rules)
        return with_cells + min(ruled, 3) if with_cells >= 2 or (with_cells and ruled >= 2) else 0.0

    def mark_figure(self, caption: _Caption) -> None:
        """Mark the text in a caption's figure, above the caption, else below; ruled rows of cells are a table."""
        page = self.pages[self.placed[caption.first].page]
        drawings = [box for box in page.drawings if (box[2] - box[0]) * (box[3] - box[1]) > 400]
        for start, step in ((caption.first, -1), (caption.last, 1)):
            cells, likeness = self.side(caption, step)
            found = [self.placed[index] for index in cells]
            is_named = 2 * sum(bool(_NAME.search(one.row.text)) for one in found) > len(found)
            if likeness >= 4 and is_named and not any(_is_inside(one, drawings) for one in found):
                self._mark(cells, "table", caption.group)
                return
            rows = self._figure_rows(start, step, drawings)
            self._mark(rows, "figure", caption.group)
            base = self.placed[start].row.base
            if rows or (step < 0 and any(base - 60 < box[3] < base for box in drawings)):
                return

    def _figure_rows(self, start: int, step: int, drawings: Sequence[Box]) -> list[int]:
        caption = self.placed[start]
        found: list[int] = []
        for index in range(start + step, len(self.placed) if step > 0 else -1, step):
            one, near = self.placed[index], self.placed[index - step]
            if one.region != caption.region or one.kind:
                break
            inside = _is_inside(one, drawings) or _is_beside(one, caption)
            is_text = is_prose(one, self.measures) and not self._is_label(one, near)
            if not inside and (is_text or step > 0 or self._looks_like_text(one)):
                break
            if found and abs(one.row.base - near.row.base) > (12 if inside else 5) * max(one.row.size, 8):
                break
            found.append(index)
        # The last, short line of a paragraph is right below its long lines.
        while found and step < 0 and found[-1] and not _is_inside(self.placed[found[-1]], drawings):
            top, above = self.placed[found[-1]], self.placed[found[-1] - 1]
            hangs = above.region == top.region and is_prose(above, self.measures) and abs(top.row.x0 - top.left) < 3
            if not hangs or top.above is None or top.above >= 1.3 * self.measures.leading:
                break
            found.pop()
        return found

    def mark_axis_names(self, figures: Sequence[_Caption]) -> None:
        """Mark upright text next to a figure as text of the figure with the nearest caption."""
        turned = grouped((one.page, one) for one in self.placed if one.row.turn and not one.kind)
        for number, rows in turned.items():
            captions = [self.placed[figure.first] for figure in figures if self.placed[figure.first].page == number]
            if not captions or any(len(one.row.text) > _LONGEST_LABEL for one in rows):
                continue
            page = self.pages[number]
            for one in rows:
                left, top, right, bottom = box_on_page(one.row.box, one.row.turn, page.width, page.height)
                x, y = (left + right) / 2, (top + bottom) / 2
                distances = {
                    first.group: max(first.row.x0 - x, x - first.row.x1, 0.0) + abs(first.row.base - y)
                    for first in captions
                }
                one.kind, one.group = "figure", min(distances, key=lambda group: distances[group])

    def _is_label(self, one: Placed, near: Placed) -> bool:
        """Whether a row as wide as a narrow column is text in a figure: short, in another font or set apart."""
        row = one.row
        if len(row.text) > _LONGEST_LABEL or row.text[-1] in ".,;:-":
            return False
        gap = max(one.above or 0.0, abs(row.base - near.row.base))
        is_apart = row.x0 > one.left + row.size and gap > 1.3 * self.measures.leading
        return (row.font != self.measures.font and not row.italic) or is_apart

    def _looks_like_text(self, one: Placed) -> bool:
        """Whether a row is a heading or a sentence's end: in the type of running text, at the column's left edge."""
        row, size = one.row, self.measures.size
        as_body = abs(row.size - size) < 0.3 and row.font == self.measures.font
        number = heading_number(row.text)
        is_numbered = bool(number) and any(map(str.isalpha, row.text[len(number) :]))
        return abs(row.x0 - one.left) < 2 and (as_body or is_numbered or (row.bold and row.size >= size - 0.3))


def _is_mostly_bold(one: Placed) -> bool:
    spans = [span for piece in one.row.pieces for span in piece.spans if not span.text.isspace()]
    return sum(len(span.text) for span in spans if span.bold) > 0.5 * len(one.row.text)


def _is_next(one: Placed, near: Placed, step: int) -> bool:
    """Whether a table may begin in the region next to its caption's: a table wider than the column is a region."""
    overlaps = one.row.x0 < near.row.x1 and near.row.x0 < one.row.x1 and not near.row.turn and not one.row.turn
    return one.page == near.page and overlaps and 0 < step * (one.row.base - near.row.base) < 3.2 * one.row.size


def _is_beside(one: Placed, caption: Placed) -> bool:
    """Whether a row is left or right of a caption."""
    apart = one.row.x1 < caption.row.x0 or one.row.x0 > caption.row.x1
    return apart and abs(one.row.base - caption.row.base) < 25 * caption.row.size


def _is_enclosed(one: Placed, rules: Sequence[Box]) -> bool:
    """Whether rules make a line a cell's: an upright rule crosses it, or level rules reach far beyond one end."""
    row = one.row
    if any(
        rule[3] - rule[1] > 8 and rule[1] < row.base < rule[3] + 2 and row.x0 + row.size < rule[0] < row.x1 - row.size
        for rule in rules
    ):
        return True
    if row.x0 <= one.left + 2 * row.size:
        return False
    below = [rule for rule in rules if row.base - 2 < rule[1] < row.base + 25 * row.size]
    for x0, y, x1, _ in rules:
        if not row.base - 25 * row.size < y < row.base - 0.4 * row.size or not x0 - 3 < row.x0 or not row.x1 < x1 + 3:
            continue
        # Running text between two tables is as wide as their rules; a line of a cell is not.
        is_part = row.x0 > x0 + 0.15 * (x1 - x0) or row.x1 < x0 + 0.85 * (x1 - x0)
        if is_part and any(abs(rule[0] - x0) < 2 and abs(rule[2] - x1) < 2 for rule in below):
            return True
    return False


def _goes_on(one: Placed, near: Placed) -> bool:
    gap = abs(one.row.base - near.row.base)
    return (_has_cells(one) and gap < 1.9 * near.row.size) or gap < 0.8 * near.row.size


def _has_cells(one: Placed) -> bool:
    return widest_gap(one.row) > _CELL_GAP * one.row.size


def _is_inside(one: Placed, drawings: Sequence[Box]) -> bool:
    x, y = (one.row.x0 + one.row.x1) / 2, (one.row.y0 + one.row.y1) / 2
    return any(box[0] - 2 <= x <= box[2] + 2 and box[1] - 2 <= y <= box[3] + 2 for box in drawings)
