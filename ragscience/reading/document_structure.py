"""The pages of a file become one text with its structure: the joint of all that reads a layout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ragscience.reading.blocks import make_blocks
from ragscience.reading.columns import reading_order
from ragscience.reading.floats import find_floats
from ragscience.reading.headers_footers import without_furniture
from ragscience.reading.headings import find_headings
from ragscience.reading.layout_model import LayoutBox, advise_headings, without_margins
from ragscience.reading.text_assembly import Assembled, Vocabulary
from ragscience.reading.text_cleaning import mend_accents
from ragscience.reading.text_rows import LaidPage, Row, make_segments, measure, place_rows
from ragscience.reading.text_spans import PageSpans
from ragscience.records import Box, Document, Element, Line, Page

__all__ = ["SourcePage", "structured_document"]

Place = TypeVar("Place", Line, Element)

_LEAST_COVERAGE = 0.98
"""Of a page's visible characters that must be in its structured text; else the page is taken as the file gives it."""
_MARKUP = re.compile(r"[\s|\-\u00ad\u2010^\\\ufffd]+")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page as it was read from the file."""

    number: int
    spans: PageSpans
    rules: tuple[Box, ...] = ()
    drawings: tuple[Box, ...] = ()
    warning: str = ""
    parts: tuple[LayoutBox, ...] = ()
    """What the layout model sees on it; none where it was not asked."""


def structured_document(sources: Sequence[SourcePage], title: str, warnings: Sequence[str]) -> Document:
    """The document that the pages make. A page whose layout loses text is taken in the order of the file instead."""
    plain: set[int] = {source.number for source in sources if not source.spans.pieces}
    try:
        return _structured(sources, plain, title, warnings)
    except (ArithmeticError, LookupError, ValueError):
        # A layout that no one foresaw must not cost the text.
        plain = {source.number for source in sources}
        return _document(sources, Assembled({}, Vocabulary([])), [""] * len(sources), plain, title, warnings)


def _structured(sources: Sequence[SourcePage], plain: set[int], title: str, warnings: Sequence[str]) -> Document:
    segments = [[] if source.number in plain else _segments(source.spans) for source in sources]
    while True:
        pages, furniture = without_furniture(segments, [source.spans.height for source in sources])
        for number, source in enumerate(sources):
            if source.parts:
                pages[number], furniture[number] = without_margins(
                    pages[number], furniture[number], source.parts, source.spans.height
                )
        laid = {
            source.number: LaidPage(
                source.number,
                source.spans.width,
                source.spans.height,
                tuple(region for turned in _by_turn(rows) for region in reading_order(turned, source.spans.width)),
                source.rules,
                source.drawings,
            )
            for source, rows in zip(sources, pages, strict=True)
        }
        assembled = _assembled(laid, {source.number: source.parts for source in sources if source.parts})
        document = _document(sources, assembled, furniture, plain, title, warnings)
        lossy = {source.number for source in sources if source.number not in plain and _loses(document, source)}
        if not lossy:
            return document
        plain = plain | lossy
        segments = [[] if source.number in plain else rows for source, rows in zip(sources, segments, strict=True)]


def _segments(spans: PageSpans) -> list[Row]:
    """The segments of a page, those of the turn with most text first."""
    turns: dict[int, int] = {}
    for piece in spans.pieces:
        turns[piece.turn] = turns.get(piece.turn, 0) + len(piece.text)
    ordered = sorted(turns, key=lambda turn: -turns[turn])
    return [row for turn in ordered for row in make_segments([one for one in spans.pieces if one.turn == turn])]


def _by_turn(rows: Sequence[Row]) -> list[list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.turn, []).append(row)
    return list(groups.values())


def _assembled(laid: dict[int, LaidPage], parts: dict[int, tuple[LayoutBox, ...]]) -> Assembled:
    placed = place_rows(list(laid.values()))
    measures = measure(placed)
    find_floats(placed, laid, measures)
    find_headings(placed, measures)
    if parts:
        advise_headings(placed, parts, measures)
    assembled = Assembled(laid, Vocabulary([one.row.text for one in placed]))
    assembled.add_blocks(make_blocks(placed, measures))
    return assembled


def _document(
    sources: Sequence[SourcePage],
    assembled: Assembled,
    furniture: Sequence[str],
    plain: set[int],
    title: str,
    warnings: Sequence[str],
) -> Document:
    """The assembled text with the plain pages put in where they belong."""
    whole = "".join(assembled.parts)
    elements: dict[int, list[Element]] = {number: [] for number in assembled.bounds}
    for element in assembled.elements:
        elements[element.page].append(element)
    text, pages, moved = "", [], []
    last = 0
    for source, aside in zip(sources, furniture, strict=True):
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
            pages.append(Page(source.number, start, len(text), source.warning, lines, aside))
            moved += [_moved(one, shift) for one in elements[source.number]]
        else:
            pages.append(Page(source.number, len(text), len(text), source.warning, (), aside))
    return Document(text, tuple(pages), title, tuple(warnings), tuple(moved))


def _moved(one: Place, shift: int) -> Place:
    return replace(one, start=one.start + shift, end=one.end + shift)


def _loses(document: Document, source: SourcePage) -> bool:
    page = document.pages[source.number - 1]
    wanted = sum(len(_MARKUP.sub("", mend_accents(piece.text))) for piece in source.spans.pieces)
    got = len(_MARKUP.sub("", document.text[page.start : page.end] + page.furniture))
    return got < _LEAST_COVERAGE * wanted
