"""Headers, footers and footnotes: running heads, page numbers, arXiv stamps and line numbers are not part of the text.

They are found by repetition: the same words, apart from digits, at the same height of several pages.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise, takewhile

from ragscience.reading.text_rows import Measures, Placed, Row, grouped, runs

_CAPTION = re.compile(r"(?:Figure|Fig\.|Table|TABLE|FIGURE|Algorithm)\s?\d+")
_ITEM_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Z]|[IVX]+)(?:\.\d{1,2}){0,3}[.:)]?|\[\d{1,3}\]|[•–—-]")
_LETTERS = 12


def find_zones(segments: list[Row], gutter: float) -> list[tuple[bool, list[Row]]]:
    """Zones of the page from top to bottom: those that span the gutter, and those with columns next to it.

    Not every row of a spanning table, or of names under a title, crosses the gutter: lines between or next to spanning
    lines that are not running text of a column belong to their zone.
    """
    spanning = [row for row in segments if row.x0 < gutter - 4 and row.x1 > gutter + 4]
    body = _running_text(segments, gutter)
    rest = [row for row in segments if id(row) not in body and row not in spanning]
    lines = [row for row in segments if id(row) in body]
    marks = sorted([(row.base, False) for row in lines] + [(row.base, True) for row in spanning])
    some = runs(marks, lambda run, mark: run[0][1] == mark[1])
    bounds = [(run[0][1], run[0][0], run[-1][0]) for run in some]
    if not bounds:
        return [(False, segments)]
    zones: list[tuple[bool, list[Row]]] = [(is_spanning, []) for is_spanning, _, _ in bounds]
    for base, row in sorted([(row.base, row) for row in segments], key=lambda item: (item[0], item[1].x0)):
        is_rest = any(row is one for one in rest)
        zones[_zone_of(base, row, bounds, is_rest)][1].append(row)
    _to_captions(zones, bounds, {id(row) for row in rest})
    return [zone for zone in zones if zone[1]]


def _to_captions(zones: list[tuple[bool, list[Row]]], bounds: list[tuple[bool, float, float]], rest: set[int]) -> None:
    """Move tables and figures of a column from a spanning zone to a nearer caption in a column."""
    for index, (is_spanning, rows) in enumerate(zones):
        if not is_spanning:
            continue
        _, top, bottom = bounds[index]
        for other, loose, edge in (
            (index + 1, [row for row in rows if row.base > bottom and id(row) in rest], bottom),
            (index - 1, [row for row in rows if row.base < top and id(row) in rest], top),
        ):
            if not loose or not 0 <= other < len(zones) or not zones[other][1]:
                continue
            near = (min if other > index else max)(zones[other][1], key=lambda row: row.base)
            level = [row for row in zones[other][1] if abs(row.base - near.base) < near.size]
            low, high = min(row.base for row in loose), max(row.base for row in loose)
            to_text, to_spanning = (near.base - high, low - edge) if other > index else (low - near.base, edge - high)
            if any(_CAPTION.match(row.text) for row in level) and to_text < min(to_spanning, 3 * near.size):
                rows[:] = [row for row in rows if row not in loose]
                zones[other][1].extend(loose)
                zones[other][1].sort(key=lambda row: (row.base, row.x0))


def _zone_of(base: float, row: Row, bounds: list[tuple[bool, float, float]], is_rest: bool) -> int:
    for index, (_, top, bottom) in enumerate(bounds):
        if top - 0.01 <= base <= bottom + 0.01:
            return index
        if base < top:
            if index == 0:
                return 0
            before = bounds[index - 1]
            if not is_rest:
                return index
            # Between two zones: in the spanning one, unless it is close to the text.
            to_before, to_after = base - before[2], top - base
            if before[0] == bounds[index][0]:
                return index if to_after < to_before else index - 1
            spanning, gap_to_text = (index - 1, to_after) if before[0] else (index, to_before)
            text = index if before[0] else index - 1
            return text if gap_to_text < 1.3 * row.size else spanning
    return len(bounds) - 1


def _are_number_and_name(row: Row, other: Row) -> bool:
    """Whether one of two segments of a line is the number of the other, of a heading or a list's item."""
    first, second = sorted((row, other), key=lambda one: one.x0)
    return bool(_ITEM_NUMBER.fullmatch(first.text)) and second.x0 - first.x1 < 3 * first.size


def _running_text(segments: list[Row], gutter: float) -> set[int]:
    """The ids of running text: segments alone on their line, as wide as the column or next to such a line."""
    found: set[int] = set()
    left = [row for row in segments if row.x1 <= gutter + 4]
    right = [row for row in segments if row.x0 >= gutter - 4 and row.x1 > gutter + 4]
    for side in filter(None, (left, right)):
        lengths = sorted(row.x1 - row.x0 for row in side)
        width = lengths[int(0.9 * (len(lengths) - 1))]
        starts = Counter(round(row.x0 / 2) for row in side if row.x1 - row.x0 > 0.6 * width)
        usual = 2 * starts.most_common(1)[0][0] if starts else 0
        alone = [
            row
            for number, row in enumerate(side)
            if not any(
                abs(other.base - row.base) < 0.6 * row.size and not _are_number_and_name(row, other)
                for other in (*side[max(0, number - 2) : number], *side[number + 1 : number + 3])
            )
        ]
        lines = [row for row in alone if row.x1 - row.x0 > 0.6 * width and len(row.text) >= _LETTERS]
        found.update(map(id, lines))
        for step, gap, indent in ((1, 1.7, 3.0), (-1, 3.0, 0.0)):
            last: Row | None = None
            for row in alone[::step]:
                is_next = last is not None and step * (row.base - last.base) < gap * row.size
                if id(row) in found or (is_next and abs(row.x0 - usual) < (indent * row.size or 3)):
                    found.add(id(row))
                    last = row
    return found


_MARGIN = 0.14
"""Share of the page's height at its top and at its bottom."""
_SAME_HEIGHT = 5.0
"""Points between the heights of two lines that may be the same running head."""
_MOST_ROWS = 6
"""Rows at either end of a page that may be headers or footers: a licence has up to five."""
_MOST_NUMBERS = 3
"""Outermost rows that may be numbers of pages."""
_FREQUENT = 0.2
"""Share of the pages on which a line is part of a head or foot of several lines."""
_DIGITS = re.compile(r"\d+|\b[ivxl]+\b")
_PAGE_NUMBER = re.compile(r"[\W_]*(?:(?:page|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/)\s*\d{1,4})?[\W_]*", re.I)
_STAMP = re.compile(r"arxiv:\s?(?:\d{4}\.\d{4,5}|[a-z.-]+/\d{7})", re.I)
_LINE_NUMBER = re.compile(r"\d{1,4}")
_LEAST_LINE_NUMBERS = 15


def without_headers_footers(
    pages: Sequence[Sequence[Row]], heights: Sequence[float]
) -> tuple[list[list[Row]], list[str]]:
    """For each page its segments without headers and footers, and their text; no page is left empty.

    `pages` are the segments of each page from top to bottom.
    """
    numbered = [_line_numbers(segments) for segments in pages]
    ends = [
        _ends([row for row in segments if id(row) not in numbers], height)
        for segments, numbers, height in zip(pages, numbered, heights, strict=True)
    ]
    repeated = _repeated(ends, least=2 if len(ends) < 6 else 3)
    frequent = _repeated(ends, least=max(3, round(_FREQUENT * len(ends))))
    kept, texts = [], []
    for segments, numbers, candidates in zip(pages, numbered, ends, strict=True):
        away = set(numbers)
        margin = [line for line in candidates if _key(line) in repeated]
        # A head or foot of several lines stands alone as a whole.
        others = _without(segments, margin)
        for line in margin:
            if _stands_alone(line, segments) or (_is_of_words(line, frequent) and _stands_alone(line, others)):
                away.update(map(id, line))
        away.update(id(row) for row in segments if row.turn and _STAMP.search(row.text))
        rest = [row for row in segments if id(row) not in away]
        if not rest:
            rest, away = list(segments), set()
        kept.append(rest)
        texts.append("\n".join(row.text for row in segments if id(row) in away))
    return kept, texts


def _line_numbers(segments: Sequence[Row]) -> set[int]:
    """The ids of line numbers: below each other at the page's edge, rising by 1 or 5."""
    numbers = [row for row in segments if not row.turn and _LINE_NUMBER.fullmatch(row.text)]
    sides = (((side, round(x / 4)), row) for row in numbers for side, x in (("left", row.x0), ("right", row.x1)))
    columns = grouped(sides)
    found: set[int] = set()
    for rows in columns.values():
        if len(rows) < _LEAST_LINE_NUMBERS:
            continue
        values = [int(row.text) for row in rows]
        steps = Counter(after - before for before, after in pairwise(values))
        step, count = steps.most_common(1)[0]
        edge = min(row.x0 for row in segments), max(row.x1 for row in segments)
        at_edge = rows[0].x0 < edge[0] + 12 or rows[0].x1 > edge[1] - 12
        if step in (1, 5) and count > 0.9 * (len(values) - 1) and at_edge:
            found.update(map(id, rows))
    return found


def _ends(segments: Sequence[Row], height: float) -> list[list[Row]]:
    """The lines at the top and at the bottom of a page, each of one or more segments."""
    lines = runs((row for row in segments if not row.turn), lambda line, row: row.base - line[0].base < 3)
    top = [line for line in lines[:_MOST_ROWS] if line[0].base < _MARGIN * height]
    bottom = [line for line in lines[-_MOST_ROWS:] if line[0].base > (1 - _MARGIN) * height and line not in top]
    inner = top[_MOST_NUMBERS:] + bottom[:-_MOST_NUMBERS]
    return [line for line in top + bottom if line not in inner or _has_words(line)]


def _key(line: Sequence[Row]) -> tuple[str, int]:
    text = " ".join(row.text for row in line)
    return ("#" if _PAGE_NUMBER.fullmatch(text) else _DIGITS.sub("#", text.lower())), round(line[0].base / _SAME_HEIGHT)


def _repeated(ends: Sequence[Sequence[Sequence[Row]]], *, least: int) -> set[tuple[str, int]]:
    """The keys of lines on at least so many pages; a page number may be on a single one."""
    counts: Counter[tuple[str, int]] = Counter()
    for candidates in ends:
        counts.update({_key(line) for line in candidates})
    found = set()
    for text, height in counts:
        if text != "#" and not any(map(str.isalpha, text)) and len(text) > 3:
            continue
        around = sum(counts[text, height + shift] for shift in (-1, 0, 1))
        if around >= (1 if text == "#" else least):
            found.add((text, height))
    return found


def _has_words(line: Sequence[Row]) -> bool:
    return any(character.isalpha() for row in line for character in row.text)


def _is_of_words(line: Sequence[Row], frequent: set[tuple[str, int]]) -> bool:
    """Whether a line with words is on many pages; numbers may be those of a table or an axis."""
    return _has_words(line) and _key(line) in frequent


def _without(segments: Sequence[Row], lines: Sequence[Sequence[Row]]) -> list[Row]:
    away = {id(row) for line in lines for row in line}
    return [row for row in segments if id(row) not in away]


def _stands_alone(line: Sequence[Row], segments: Sequence[Row]) -> bool:
    """Whether a gap or another type size separates a line from the text next to it."""
    base, size = line[0].base, max(row.size for row in line)
    others = [row for row in segments if not row.turn and abs(row.base - base) >= 3]
    if not others:
        return False
    nearest = min(others, key=lambda row: abs(row.base - base))
    gap = abs(nearest.base - base)
    is_number = all(_PAGE_NUMBER.fullmatch(row.text) for row in line)
    return gap > 1.55 * max(size, nearest.size) or (not is_number and gap > 1.3 * size and nearest.size != size)


FOOTNOTE_MARK = re.compile(r"\^?(?:\d{1,2}|[∗*†‡§¶‖♯#♦♣]+)\s?(?=[^\W\d_]|https?:|\W)|(?:Copyright )?(?:©|[cC]\u20dd)")
"""The beginning of a footnote."""


def mark_footnotes(placed: Sequence[Placed], measures: Measures) -> None:
    """Mark the footnotes: rows at the end of a region that are small or have a footnote mark, from a marked one on.

    One as large as the text is set apart from it.
    """

    def is_small(one: Placed) -> bool:
        return one.row.size <= measures.size - 0.6

    def is_apart(one: Placed) -> bool:
        return is_small(one) or (one.above or 0.0) > 1.3 * measures.leading

    def may_be_note(one: Placed) -> bool:
        return not (one.kind or one.row.turn) and (is_small(one) or _is_marked(one))

    for _, region in groupby(placed, key=lambda one: one.region):
        small = [*takewhile(may_be_note, reversed(list(region)))][::-1]
        first = next((number for number, one in enumerate(small) if _is_marked(one) and is_apart(one)), len(small))
        if first == 0 or (first < len(small) and small[first].above):
            for one in small[first:]:
                one.kind = "footnote"


def _is_marked(one: Placed) -> bool:
    """Whether a row begins with a footnote mark: raised, or not a digit."""
    spans = [span for piece in one.row.pieces for span in piece.spans if not span.text.isspace()]
    first = spans[0]
    raised = first.base < one.row.base - 0.15 * one.row.size and first.size < one.row.size
    return bool(FOOTNOTE_MARK.match(one.row.text)) and (raised or not first.text.strip()[0].isdigit())
