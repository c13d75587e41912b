"""The pages of a file become one text with its structure: lines joined to paragraphs, each with its place on a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ragscience.core.records import Box, Document, Element, Line, Page
from ragscience.reading import text_rows
from ragscience.reading.blocks import RowBlock, make_blocks
from ragscience.reading.columns import reading_order
from ragscience.reading.floats import find_floats
from ragscience.reading.formulas import PageGlyphs, read_formula
from ragscience.reading.headers_footers import without_headers_footers
from ragscience.reading.headings import Headings
from ragscience.reading.table_areas import PageTables, find_table_areas
from ragscience.reading.tables import TableRow, markdown_row, table_rows
from ragscience.reading.text_cleaning import mend_accents
from ragscience.reading.text_rows import LaidPage, Placed, Region, Row, TableArea
from ragscience.reading.text_spans import PageSpans, box_around, box_on_page

Place = TypeVar("Place", Line, Element)

_LEAST_COVERAGE = 0.98
"""Share of a page's visible characters in its structured text; below it the page has the file's plain text."""
_MARKUP = re.compile(r"[\s|\-\u00ad\u2010^\\\ufffd]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"(?<![^\W\d_])(?<![^\W\d_]-)([^\W\d_]++(?:-[^\W\d_]++)*+)[-\u00ad\u2010]$")
_HYPHENATED = re.compile(r"\w[-\u2010]\w$")
_FIRST = re.compile(r"[^\W\d_]+")
_CLOSE = {("caption", "table"), ("caption", "figure"), ("list", "list"), ("reference", "reference")}
_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page as it was read from the file."""

    number: int
    spans: PageSpans
    rules: tuple[Box, ...] = ()
    drawings: tuple[Box, ...] = ()
    warning: str = ""
    glyphs: Callable[[], PageGlyphs | None] | None = None
    """Reads them anew, where the page has formulas."""


def structured_document(sources: Sequence[SourcePage], title: str, warnings: Sequence[str]) -> Document:
    """The document of the pages. A page whose layout would lose text has the file's plain text instead."""
    try:
        document = _structured(sources, {source.number for source in sources if not source.spans.pieces})
    except (ArithmeticError, LookupError, ValueError):
        # An unexpected layout must not cost the text.
        plain = {source.number for source in sources}
        document = _document(sources, Assembled({}, Vocabulary([])), [""] * len(sources), plain)
    return replace(document, title=title, warnings=tuple(warnings))


def _structured(sources: Sequence[SourcePage], plain: set[int]) -> Document:
    segments = [[] if source.number in plain else _segments(source.spans) for source in sources]
    while True:
        pages, margin_texts = without_headers_footers(segments, [source.spans.height for source in sources])
        found = find_table_areas([(rows, source.rules) for source, rows in zip(sources, pages, strict=True)])
        laid = {source.number: _laid_page(source, page) for source, page in zip(sources, found, strict=True)}
        assembled = _assembled(laid, {source.number: source for source in sources})
        document = _document(sources, assembled, margin_texts, plain)
        lossy = {source.number for source in sources if source.number not in plain and _loses(document, source)}
        if not lossy:
            return document
        plain = plain | lossy
        segments = [[] if source.number in plain else rows for source, rows in zip(sources, segments, strict=True)]


def _segments(spans: PageSpans) -> list[Row]:
    """The segments of a page, those of the turn with most text first."""
    turns: Counter[int] = Counter()
    for piece in spans.pieces:
        turns[piece.turn] += len(piece.text)
    by_turn = ([one for one in spans.pieces if one.turn == turn] for turn, _ in turns.most_common())
    return [row for pieces in by_turn for row in text_rows.make_segments(pieces)]


def _laid_page(source: SourcePage, page: PageTables) -> LaidPage:
    by_turn = text_rows.grouped((row.turn, row) for row in page.rest)
    width, height = source.spans.width, source.spans.height
    regions = [region for turned in by_turn.values() for region in reading_order(turned, width)]
    # Of tables side by side the left one is put in last, before the others.
    for table in sorted(page.tables, key=lambda table: -table.caption.x0):
        parts = [_region(rows) for rows in (table.lines, table.rows) if rows]
        place = _place_of(table, regions)
        regions[place:place] = parts
    return LaidPage(source.number, width, height, tuple(regions), source.rules, source.drawings, tuple(page.tables))


def _region(rows: Sequence[Row]) -> Region:
    return Region(tuple(rows), min(row.x0 for row in rows), max(row.x1 for row in rows))


def _place_of(table: TableArea, regions: Sequence[Region]) -> int:
    """The index of the region before which a table is read: after its caption, or after the text above both."""
    if not table.lines:
        first = table.caption.pieces[0]
        having = (number for number, one in enumerate(regions, 1) if any(first in row.pieces for row in one.rows))
        return next(having, len(regions))
    rows = (*table.lines, *table.rows)
    x0, x1, top = min(row.x0 for row in rows), max(row.x1 for row in rows), min(row.base for row in rows)
    above = [
        number
        for number, region in enumerate(regions, 1)
        if any(row.base < top + 1 and row.x0 < x1 and x0 < row.x1 for row in region.rows)
    ]
    return above[-1] if above else 0


def _assembled(laid: dict[int, LaidPage], sources: dict[int, SourcePage]) -> Assembled:
    placed = text_rows.place_rows(list(laid.values()))
    measures = text_rows.measure(placed)
    find_floats(placed, laid, measures)
    Headings(placed, measures).mark()
    assembled = Assembled(laid, Vocabulary([one.row.text for one in placed]))
    blocks = make_blocks(placed, measures)
    for block in blocks:
        if block.kind == "equation":
            block.rows = _formula_rows(block.rows, sources[block.page])
    assembled.add_blocks(blocks)
    return assembled


def _formula_rows(rows: list[Placed], source: SourcePage) -> list[Placed]:
    """The rows of a formula, one for each of its lines, with text like LaTeX."""
    page = source.glyphs and not rows[0].row.turn and source.glyphs()
    if not page:
        return rows
    lines = read_formula(page, [piece for placed in rows for piece in placed.row.pieces])
    found = []
    for text, (x0, y0, x1, y1) in lines:
        row = replace(rows[0].row, text=text, x0=x0, y0=y0, x1=x1, y1=y1)
        found.append(replace(rows[0], row=row))
    return found or rows


def _document(
    sources: Sequence[SourcePage], assembled: Assembled, margin_texts: Sequence[str], plain: set[int]
) -> Document:
    """The assembled text, with the plain pages inserted."""
    whole = "".join(assembled.parts)
    elements = text_rows.grouped((element.page, element) for element in assembled.elements)
    text, pages, moved = "", [], []
    last = 0
    for source, margin_text in zip(sources, margin_texts, strict=True):
        bounds = assembled.bounds.get(source.number)
        if source.number in plain and source.spans.plain.strip():
            text += "\n\n" if text else ""
            start = len(text)
            text += source.spans.plain
            moved.append(Element(start, len(text), "text", source.number))
            pages.append(Page(source.number, start, len(text), source.warning))
        elif bounds:
            first, beyond = bounds
            between = whole[last:first]
            follows_plain = bool(pages) and pages[-1].number in plain and pages[-1].start < pages[-1].end
            text += "\n\n" if follows_plain and "\n" not in between else (between if text else "")
            start = len(text)
            text += whole[first:beyond]
            shift = start - first
            last = beyond
            lines = tuple(_moved(one, shift) for one in assembled.lines[source.number])
            pages.append(Page(source.number, start, len(text), source.warning, lines, margin_text))
            moved += [_moved(one, shift) for one in elements.get(source.number, ())]
        else:
            pages.append(Page(source.number, len(text), len(text), source.warning, (), margin_text))
    return Document(text, tuple(pages), elements=tuple(moved))


def _moved(one: Place, shift: int) -> Place:
    return replace(one, start=one.start + shift, end=one.end + shift)


def _loses(document: Document, source: SourcePage) -> bool:
    page = document.pages[source.number - 1]
    wanted = sum(len(_MARKUP.sub("", mend_accents(piece.text))) for piece in source.spans.pieces)
    got = len(_MARKUP.sub("", document.text[page.start : page.end] + page.furniture))
    return got < _LEAST_COVERAGE * wanted


class Vocabulary:
    """The words of a document, which decide whether a word broken at a line's end has a hyphen."""

    def __init__(self, texts: Sequence[str]) -> None:
        """`texts` are the lines in their order; a word broken at a line's end does not count."""
        self._words: set[str] = set()
        self._compounds: set[str] = set()
        is_broken = False
        for text in texts:
            words = _WORD.findall(text.lower())
            words = words[1:] if is_broken else words
            is_broken = bool(_BROKEN.search(text))
            for word in words[:-1] if is_broken else words:
                (self._compounds if "-" in word else self._words).add(word)

    def joiner(self, before: str, after: str) -> tuple[int, str]:
        """How two lines are joined: how many characters to cut from the first, and the text between them."""
        broken = _BROKEN.search(before)
        first = _FIRST.match(after)
        if not broken or not first:
            is_one_word = before.endswith("/") or _HYPHENATED.search(before + after[:1])
            return 0, "" if is_one_word else " "
        is_soft = before[-1] == "\u00ad"
        head, tail = broken[1].lower(), first[0].lower()
        last = head.rsplit("-", 1)[-1]
        if is_soft or last + tail in self._words:
            return 1, ""
        if f"{head}-{tail}" in self._compounds or f"{last}-{tail}" in self._compounds:
            return 0, ""
        is_name = not (broken[1][1:].islower() and first[0].islower())
        if is_name or "-" in head:
            return 0, ""
        return (0, "") if last in self._words and tail in self._words and len(last) > 3 else (1, "")


class Assembled:
    """A document's text in the making, with its elements and the lines of each page.

    An empty line separates paragraphs, a newline separates list items.
    """

    def __init__(self, pages: Mapping[int, LaidPage], vocabulary: Vocabulary) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.elements: list[Element] = []
        self.lines: dict[int, list[Line]] = {}
        """By page number."""
        self.bounds: dict[int, tuple[int, int]] = {}
        """(start, end) of each page that has text."""
        self._pages, self._vocabulary = pages, vocabulary

    def add_blocks(self, blocks: Sequence[RowBlock]) -> None:
        """Append the blocks in their order."""
        _set_sections(blocks)
        before: RowBlock | None = None
        for block in blocks:
            joiner = _joiner(before, block)
            if before is not None and block.goes_on:
                count, joiner = self._vocabulary.joiner(before.rows[-1].row.text, block.rows[0].row.text)
                if count:  # a hyphen, at the end of the text and of its last line, element and page
                    self._cut(before.page, count)
                    self.elements[-1] = replace(self.elements[-1], end=self.length)
                    self.bounds[before.page] = self.bounds[before.page][0], self.length
            self._add(joiner)
            self._add_block(block)
            before = block

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def _cut(self, page: int, count: int) -> None:
        """Cut characters from the end of the last line."""
        self.parts[-1] = self.parts[-1][:-count]
        self.length -= count
        self.lines[page][-1] = replace(self.lines[page][-1], end=self.length)

    def _add_block(self, block: RowBlock) -> None:
        start, first = self.length, len(self.lines.setdefault(block.page, []))
        if block.kind == "table":
            self._add_table(block)
        else:
            self._add_rows(block)
        box = box_around(line.box for line in self.lines[block.page][first:])
        section = _SEPARATOR.join(block.sections)
        self.elements.append(Element(start, self.length, block.kind, block.page, block.level, section, box))
        self.bounds[block.page] = self.bounds.get(block.page, (start, start))[0], self.length

    def _add_line(self, text: str, place: Row | TableRow, page: LaidPage) -> None:
        box = box_on_page(place.box, place.turn, page.width, page.height)
        self.lines[page.number].append(Line(self.length, self.length + len(text), box))
        self._add(text)

    def _add_rows(self, block: RowBlock) -> None:
        for number, one in enumerate(block.rows):
            if number:
                before = block.rows[number - 1].row.text
                count, joiner = 0, "\n" if block.kind == "equation" else " "
                if block.kind not in ("figure", "equation"):
                    count, joiner = self._vocabulary.joiner(before, one.row.text)
                if count:
                    self._cut(block.page, count)
                self._add(joiner)
            self._add_line(one.row.text, one.row, self._pages[block.page])

    def _add_table(self, block: RowBlock) -> None:
        page = self._pages[block.page]
        for number, row in enumerate(table_rows(block.rows, page.rules, self._vocabulary.joiner)):
            text = markdown_row(row.cells)
            if number:
                self._add("\n")
            else:
                text += "\n|" + "---|" * len(row.cells)
            self._add_line(text, row, page)


def _joiner(before: RowBlock | None, block: RowBlock) -> str:
    if before is None:
        return ""
    if block.kind == "equation" and before.kind in ("text", "list", "equation"):
        return "\n"
    if before.kind == "equation" and block.kind == "text" and not block.rows[0].row.text[:1].isupper():
        return "\n"
    return "\n" if (before.kind, block.kind) in _CLOSE else "\n\n"


def _set_sections(blocks: Sequence[RowBlock]) -> None:
    path: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind == "heading":
            name = " ".join(one.row.text for one in block.rows)
            path = [(level, text) for level, text in path if level < block.level]
            path.append((block.level, name))
        block.sections = tuple(text for _, text in path)
