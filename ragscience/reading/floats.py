"""Captions, and the tables and figures that they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ragscience.reading.headings import heading_number
from ragscience.reading.text_rows import LaidPage, Measures, Placed, is_prose, widest_gap
from ragscience.reading.text_spans import box_on_page
from ragscience.records import Box

__all__ = ["CAPTION", "find_floats"]

CAPTION = re.compile(
    r"(?P<what>figure|fig|table|tab|algorithm|listing|scheme|chart|plate|exhibit)s?\.?\s?"
    r"(?P<number>[A-Z]?\.?\d{1,3}(?:[.\-]\d{1,2})*[a-z]?|[IVX]{1,5})\s*(?P<end>[:.|—–]|$|\s)",
    re.IGNORECASE,
)
_LONGEST_LABEL = 60
"""Characters on the axis of a figure."""
_CELL_GAP = 0.9
"""In font sizes: a wider gap in a row is one between two cells."""


def find_floats(placed: Sequence[Placed], pages: Mapping[int, LaidPage], measures: Measures) -> None:
    """Give the rows of captions, tables and figures their kinds; a caption and what it belongs to share a group."""
    group = 0
    captions = []
    for index in range(len(placed)):
        what = _caption_at(placed, index, measures)
        if what:
            group += 1
            last = _caption_end(placed, index, group)
            captions.append((what, index, last, group))
    tables = [caption for caption in captions if caption[0] == "table"]
    side = _usual_side(placed, tables, pages, measures)
    # What can only be one caption's table is not another's: those with one choice choose first.
    left = list(tables)
    while left:
        sure = []
        for table in left:
            _, first, last, number = table
            choices = {step for step in (-1, 1) if _side(placed, first, last, step, pages, measures)[1] >= 2}
            if len(choices) == 1 and (not side or choices == {side}):
                _take_table(placed, first, last, number, pages, measures, side)
                sure.append(table)
        for _, first, last, number in () if sure else left[:1]:
            _take_table(placed, first, last, number, pages, measures, side)
        left = [table for table in left[0 if sure else 1 :] if table not in sure]
    for what, first, last, number in captions:
        if what == "figure":
            _take_figure(placed, first, last, number, pages, measures)
    _take_turned(placed, captions, pages)


def _take_turned(
    placed: Sequence[Placed], captions: Sequence[tuple[str, int, int, int]], pages: Mapping[int, LaidPage]
) -> None:
    """Mark what stands upright beside a figure, the names of its axes, as text in the figure of the nearest caption."""
    turned: dict[int, list[Placed]] = {}
    for one in placed:
        if one.row.turn and not one.kind:
            turned.setdefault(one.page, []).append(one)
    for number, rows in turned.items():
        figures = [caption for caption in captions if caption[0] == "figure" and placed[caption[1]].page == number]
        if not figures or any(len(one.row.text) > _LONGEST_LABEL for one in rows):
            continue
        page = pages[number]
        for one in rows:
            left, top, right, bottom = box_on_page(one.row.box, one.row.turn, page.width, page.height)
            x, y = (left + right) / 2, (top + bottom) / 2
            distances = {
                group: max(first.row.x0 - x, x - first.row.x1, 0.0) + abs(first.row.base - y)
                for first, group in ((placed[index], group) for _, index, _, group in figures)
            }
            one.kind, one.group = "figure", min(distances, key=lambda group: distances[group])


def _usual_side(
    placed: Sequence[Placed],
    tables: Sequence[tuple[str, int, int, int]],
    pages: Mapping[int, LaidPage],
    measures: Measures,
) -> int:
    """Whether tables stand above their captions (-1) or below (1), by those with something on one side only; else 0."""
    votes = 0
    for _, first, last, _ in tables:
        above, below = (_side(placed, first, last, step, pages, measures)[1] >= 2 for step in (-1, 1))
        votes += int(below) - int(above)
    return 0 if abs(votes) < 2 else 1 if votes > 0 else -1


def _caption_at(placed: Sequence[Placed], index: int, measures: Measures) -> str:
    """What a caption that begins here is of, "table", "figure" or "other", else ""."""
    one = placed[index]
    match = CAPTION.match(one.row.text)
    if not match or one.kind or one.row.turn:
        return ""
    if not match["what"][0].isupper():
        return ""
    before = placed[index - 1] if index and placed[index - 1].region == one.region else None
    first_span = one.row.pieces[0].spans[0]
    is_marked = (
        first_span.bold != _usually_bold(one)
        or one.row.size < measures.size - 0.4
        or measures.font not in (one.row.font, first_span.font)
    )
    has_sign = match["end"] in (":", "|", "—", "–") or (match["end"] == "." and is_marked)
    alone = match.end() >= len(one.row.text.rstrip())
    if not (has_sign or is_marked or (alone and len(one.row.text) < 20)):
        return ""
    if before is not None and one.above is not None and not has_sign:
        close = one.above < 1.3 * max(one.row.size, before.row.size)
        if close and is_prose(before, measures) and not before.row.text.endswith("."):
            return ""
    if match["end"] == "." and before is not None and one.above is not None:
        # "… as shown in / Fig. 3. The …" goes on where the line before has no end.
        is_open = is_prose(before, measures) and before.row.text[-1] not in ".:!?"
        if is_open and one.above < 1.3 * one.row.size:
            return ""
    what = match["what"].lower()
    if what.startswith("tab"):
        return "table"
    return "figure" if what.startswith("fig") or what in ("chart", "plate", "scheme", "exhibit") else "other"


def _usually_bold(one: Placed) -> bool:
    spans = [span for piece in one.row.pieces for span in piece.spans if not span.text.isspace()]
    return sum(len(span.text) for span in spans if span.bold) > 0.5 * len(one.row.text)


def _caption_end(placed: Sequence[Placed], first: int, group: int) -> int:
    """Mark a caption's rows and give the index of the last one."""
    start = placed[first]
    start.kind, start.group = "caption", group
    last = first
    gap: float | None = None
    for index in range(first + 1, len(placed)):
        one, before = placed[index], placed[last]
        if one.region != start.region or one.kind or one.above is None or CAPTION.match(one.row.text):
            break
        if abs(one.row.size - start.row.size) > 0.6 or one.above > (1.25 * gap if gap else 1.6 * start.row.size):
            break
        if widest_gap(one.row) > 1.2 * one.row.size or _ends_paragraph(before, one):
            break
        gap = one.above if gap is None else min(gap, one.above)
        one.kind, one.group = "caption", group
        last = index
    return last


def _ends_paragraph(before: Placed, one: Placed) -> bool:
    """Whether a caption's line ends it: short, closed by a full stop, and what follows begins elsewhere."""
    is_short = before.row.x1 < one.row.x1 - 3 * one.row.size
    return is_short and before.row.text.endswith(".") and abs(before.row.x0 - one.row.x0) > 2


def _take_table(
    placed: Sequence[Placed],
    first: int,
    last: int,
    group: int,
    pages: Mapping[int, LaidPage],
    measures: Measures,
    usual: int,
) -> None:
    """Mark the rows of the table that a caption belongs to: those on the usual side of it, else on the other.

    Where there is no usual side it is the one that is more like a table, below the caption when in doubt.
    """
    if any(one.kind == "table" and one.group == group for one in placed[max(first - 1, 0) : last + 2]):
        return
    sides = [_side(placed, first, last, step, pages, measures) for step in (1, -1)]
    is_above = usual < 0 or (not usual and sides[1][1] > sides[0][1])
    for rows, likeness in reversed(sides) if is_above else sides:
        if likeness >= 2:
            for index in rows:
                placed[index].kind, placed[index].group = "table", group
            return


def _side(
    placed: Sequence[Placed],
    first: int,
    last: int,
    step: int,
    pages: Mapping[int, LaidPage],
    measures: Measures,
) -> tuple[list[int], float]:
    """The rows above (-1) or below (1) a caption that may be its table's, and how much they look like one."""
    rules = [rule for rule in pages[placed[first].page].rules if max(rule[2] - rule[0], 2 * (rule[3] - rule[1])) > 20]
    rows = _table_rows(placed, first if step < 0 else last, step, rules, measures)
    return rows, _likeness(placed, rows, rules)


def _table_rows(placed: Sequence[Placed], start: int, step: int, rules: Sequence[Box], measures: Measures) -> list[int]:
    """The indices of the rows on one side of a caption that may be its table's, from the caption on."""
    caption = placed[start]
    found: list[int] = []
    index = start + step
    while 0 <= index < len(placed):
        one, near = placed[index], placed[index - step]
        if one.region != (placed[found[0]].region if found else caption.region) and not _is_next(
            one, near, step, found
        ):
            break
        if one.kind:
            break
        gap = abs(one.row.base - near.row.base)
        between = [
            rule
            for rule in rules
            if rule[2] - rule[0] > 20
            and min(one.row.base, near.row.base) - 2 < rule[1] < max(one.row.base, near.row.base) + 2
        ]
        is_beside = _is_beside(one, caption)
        if gap > 3.2 * one.row.size and not (between and gap < 5 * one.row.size) and not is_beside:
            break
        if is_prose(one, measures) and not _is_enclosed(one, rules):
            break
        found.append(index)
        index += step
    return _within_rules(placed, start, step, found, rules)


def _is_next(one: Placed, near: Placed, step: int, found: Sequence[int]) -> bool:
    """Whether a caption's table may begin in the region before or behind it: one wider than the column stands apart."""
    overlaps = one.row.x0 < near.row.x1 and near.row.x0 < one.row.x1 and not near.row.turn and not one.row.turn
    ahead = step * (one.row.base - near.row.base)
    return not found and one.page == near.page and overlaps and 0 < ahead < 3.2 * one.row.size


def _is_beside(one: Placed, caption: Placed) -> bool:
    """Whether a row stands left or right of a caption."""
    apart = one.row.x1 < caption.row.x0 or one.row.x0 > caption.row.x1
    return apart and abs(one.row.base - caption.row.base) < 25 * caption.row.size


def _is_enclosed(one: Placed, rules: Sequence[Box]) -> bool:
    """Whether rules make a line a cell's: an upright one runs through it, or level ones reach far beyond one end."""
    row = one.row
    upright = [rule for rule in rules if rule[3] - rule[1] > 8 and rule[1] < row.base < rule[3] + 2]
    if any(row.x0 + row.size < rule[0] < row.x1 - row.size for rule in upright):
        return True
    above = [rule for rule in rules if row.base - 25 * row.size < rule[1] < row.base - 0.4 * row.size]
    below = [rule for rule in rules if row.base - 2 < rule[1] < row.base + 25 * row.size]
    for x0, _, x1, _ in above:
        has_end = any(abs(rule[0] - x0) < 2 and abs(rule[2] - x1) < 2 for rule in below)
        # Running text between two tables is as wide as their lines, a line of a cell is not.
        is_part = row.x0 > x0 + 0.15 * (x1 - x0) or row.x1 < x0 + 0.85 * (x1 - x0)
        if has_end and is_part and x0 - 3 < row.x0 and row.x1 < x1 + 3 and row.x0 > one.left + 2 * row.size:
            return True
    return False


def _within_rules(placed: Sequence[Placed], start: int, step: int, found: list[int], rules: Sequence[Box]) -> list[int]:
    """The rows as far as the last horizontal rule beside them, where there are two rules or more."""
    if not found:
        return found
    top = min(placed[index].row.y0 for index in found)
    bottom = max(placed[index].row.y1 for index in found)
    caption = placed[start].row
    heights = sorted(
        {
            round(rule[1])
            for rule in rules
            if rule[2] - rule[0] > 40
            and top - 14 < rule[1] < bottom + 14
            and (rule[1] > caption.base - 2 if step > 0 else rule[1] < caption.y1)
            and rule[2] > placed[found[0]].left - 30
            and rule[0] < placed[found[0]].right + 30
        }
    )
    # A double line is one.
    heights = [y for y, before in zip(heights, [-99, *heights], strict=False) if y - before > 4]
    if len(heights) < 2:
        return found
    low, high = heights[0], heights[-1]
    inside = [index for index in found if low - 3 <= placed[index].row.base <= high + 3]
    if not inside:
        return inside
    # A header above the first line and a row below the last one, where they have cells as the others.
    first, last = found.index(inside[0]), found.index(inside[-1])
    while first > 0 and _goes_on(placed[found[first - 1]], placed[found[first]]):
        first -= 1
    while last + 1 < len(found) and _goes_on(placed[found[last + 1]], placed[found[last]]):
        last += 1
    return found[first : last + 1]


def _goes_on(one: Placed, near: Placed) -> bool:
    gap = abs(one.row.base - near.row.base)
    return (_has_cells(one) and gap < 1.9 * near.row.size) or gap < 0.8 * near.row.size


def _has_cells(one: Placed) -> bool:
    return widest_gap(one.row) > _CELL_GAP * one.row.size


def _likeness(placed: Sequence[Placed], rows: Sequence[int], rules: Sequence[Box]) -> float:
    """How much rows look like a table: rows with cells, rules between them."""
    if not rows:
        return 0.0
    with_cells = sum(_has_cells(placed[index]) for index in rows)
    top = min(placed[index].row.y0 for index in rows) - 8
    bottom = max(placed[index].row.y1 for index in rows) + 8
    ruled = sum(rule[2] - rule[0] > 40 and top < rule[1] < bottom for rule in rules)
    return with_cells + min(ruled, 3) if with_cells >= 2 or (with_cells and ruled >= 2) else 0.0


def _take_figure(
    placed: Sequence[Placed],
    first: int,
    last: int,
    group: int,
    pages: Mapping[int, LaidPage],
    measures: Measures,
) -> None:
    """Mark the text in the figure that a caption belongs to: above it, else below."""
    page = pages[placed[first].page]
    drawings = [box for box in page.drawings if (box[2] - box[0]) * (box[3] - box[1]) > 400]
    for start, step in ((first, -1), (last, 1)):
        rows = _figure_rows(placed, start, step, drawings, measures)
        for index in rows:
            placed[index].kind, placed[index].group = "figure", group
        edge = placed[start].row
        if rows or (step < 0 and any(box[3] < edge.base and box[3] > edge.base - 60 for box in drawings)):
            return


def _figure_rows(
    placed: Sequence[Placed], start: int, step: int, drawings: Sequence[Box], measures: Measures
) -> list[int]:
    caption = placed[start]
    found: list[int] = []
    index = start + step
    while 0 <= index < len(placed):
        one = placed[index]
        if one.region != caption.region or one.kind:
            break
        inside = _is_inside(one, drawings) or _is_beside(one, caption)
        is_text = is_prose(one, measures) and not _is_label(one, placed[index - step], measures)
        if not inside and (is_text or _looks_like_text(one, measures)):
            break
        far = abs(one.row.base - placed[index - step].row.base) > (12 if inside else 5) * max(one.row.size, 8)
        if far and found:
            break
        if step > 0 and not inside:
            break
        found.append(index)
        index += step
    # The last short line of a paragraph stands right below its long ones.
    while found and step < 0 and not _is_inside(placed[found[-1]], drawings):
        top = placed[found[-1]]
        above = placed[found[-1] - 1] if found[-1] else None
        hangs = above is not None and above.region == top.region and is_prose(above, measures)
        if hangs and top.above is not None and top.above < 1.3 * measures.leading and abs(top.row.x0 - top.left) < 3:
            found.pop()
        else:
            break
    return found


def _is_inside(one: Placed, drawings: Sequence[Box]) -> bool:
    x, y = (one.row.x0 + one.row.x1) / 2, (one.row.y0 + one.row.y1) / 2
    return any(box[0] - 2 <= x <= box[2] + 2 and box[1] - 2 <= y <= box[3] + 2 for box in drawings)


def _is_label(one: Placed, near: Placed, measures: Measures) -> bool:
    """Whether a row as wide as a narrow column is what is written in a figure: short, in another font or set apart."""
    row = one.row
    if len(row.text) > _LONGEST_LABEL or row.text[-1] in ".,;:-":
        return False
    gap = max(one.above or 0.0, abs(row.base - near.row.base))
    is_apart = row.x0 > one.left + row.size and gap > 1.3 * measures.leading
    return (row.font != measures.font and not row.italic) or is_apart


def _looks_like_text(one: Placed, measures: Measures) -> bool:
    """Whether a row is a heading or a sentence's end: set as running text is, from the column's left edge."""
    row = one.row
    as_body = abs(row.size - measures.size) < 0.3 and row.font == measures.font
    number = heading_number(row.text)
    has_name = any(map(str.isalpha, row.text[len(number) :]))
    is_heading = (row.bold and row.size >= measures.size - 0.3) or (bool(number) and has_name)
    return abs(row.x0 - one.left) < 2 and (as_body or is_heading)
