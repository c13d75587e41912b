"""The JSON of places: a page's geometry, passages, words on pages, the sources of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from ragscience.core.records import Box, PageShape, Paper, StoredChunk, title_of
from ragscience.core.serialization import Count, Output, PageNumber, select
from ragscience.engine.papers import PaperPage
from ragscience.engine.places import PagePart

if TYPE_CHECKING:
    from ragscience.engine.places import PlacedSource

__all__ = [
    "GeometryOutput",
    "PassageOutput",
    "PlacesOutput",
    "SourcesOutput",
    "geometry_output",
    "passage_output",
    "places_output",
    "sources_output",
]


class LineOutput(TypedDict):
    """A line of a page; offsets count from the beginning of the paper's text."""

    start: Count
    end: Count
    box: Box


class PartOutput(TypedDict):
    """A part of a page, by its kind; offsets count from the beginning of the paper's text."""

    kind: str
    level: Count
    section: str
    start: Count
    end: Count
    box: Box | None
    """Around all its lines; null where that is not known."""


class GeometryOutput(Output):
    """Where things stand on a page.

    Boxes are left, top, right, bottom in points (1/72 inch) from the top left corner of the page as it is shown: cut to
    its crop box and turned by its rotation. pdf.js draws the same page with `page.getViewport({scale})`, where a point
    is `scale` pixels.
    """

    md5: str
    file: str
    page: PageNumber
    width: float
    """In points, as the page is shown."""
    height: float
    rotation: int
    """Degrees clockwise by which the page is turned to be shown: 0, 90, 180 or 270."""
    crop_box: Box
    """What is shown of the sheet: left, bottom, right, top in the file's own units and axes, before the page is
    turned."""
    start: Count
    """The offset of the page's text in the paper's."""
    end: Count
    lines: Sequence[LineOutput]
    elements: Sequence[PartOutput]


class PlaceOutput(TypedDict):
    """Words on one page; offsets count from the beginning of the paper's text."""

    page: PageNumber
    start: Count
    end: Count
    text: str
    """As they stand in the library."""
    boxes: Sequence[Box]
    """One a line; empty where they are not known."""


class PassageOutput(Output):
    """A passage."""

    chunk_id: Count
    md5: str
    file: str
    title: str
    section: str
    kind: str
    page_start: PageNumber
    page_end: PageNumber
    text: str
    parts: Sequence[PlaceOutput]
    """Page by page."""


class WordsOutput(TypedDict):
    """A place of the words: several parts where they go on in another column or on another page."""

    parts: Sequence[PlaceOutput]


class PlacesOutput(Output):
    """Where words stand in a paper."""

    md5: str
    file: str
    places: Sequence[WordsOutput]


class SourceQuote(TypedDict):
    """What is cited of a page; offsets are both 0 where they are not known."""

    quote: str
    supported: bool
    start: Count
    end: Count
    boxes: Sequence[Box]


class SourceOutput(TypedDict):
    """A numbered source of an answer."""

    number: PageNumber
    """As [1], [2] … under the answer."""
    md5: str
    """Empty where the library no longer has the paper."""
    file: str
    title: str
    page: PageNumber
    quotes: Sequence[SourceQuote]


class SourcesOutput(Output):
    """The sources of an answer."""

    answer_id: str
    sources: Sequence[SourceOutput]


def geometry_output(page: PaperPage, shape: PageShape) -> GeometryOutput:
    """The lines and parts of a page, and its size."""
    elements = [select(PartOutput, each) for each in page.elements]
    return select(GeometryOutput, shape, page.page, page.paper, page=page.page.number, elements=elements)


def passage_output(chunk: StoredChunk, paper: Paper, parts: Iterable[PagePart]) -> PassageOutput:
    """A passage and its places."""
    return select(PassageOutput, chunk, title=title_of(paper), parts=list(parts))


def places_output(paper: Paper, places: Iterable[Sequence[PagePart]]) -> PlacesOutput:
    """The places of words."""
    return select(PlacesOutput, paper, places=[{"parts": parts} for parts in places])


def sources_output(answer_id: str, sources: Iterable[PlacedSource]) -> SourcesOutput:
    """The sources of an answer."""
    shown = [
        select(SourceOutput, each, quotes=[select(SourceQuote, quote) for quote in each.quotes]) for each in sources
    ]
    return select(SourcesOutput, answer_id=answer_id, sources=shown)
