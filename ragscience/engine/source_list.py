"""The numbered sources of an answer: the [1], [2] … under it, and each source on its page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import NothingFound
from ragscience.core.records import Answer, Citation, title_of
from ragscience.engine.page_places import find_quote, placed_citation
from ragscience.engine.printable import plain

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store import Store

__all__ = [
    "PlacedSource",
    "Source",
    "Span",
    "Surroundings",
    "cited_label",
    "page_label",
    "placed_sources",
    "section_of",
    "source_now",
    "source_numbered",
    "sources_given",
    "sources_of",
    "surroundings",
]

_SEPARATOR = " › "
"""Between the headings of a section's path."""
_MOST_SECTIONS = 2


@dataclass(frozen=True, slots=True)
class Source:
    """A page of a paper."""

    number: int
    """From 1, as it is listed."""
    file: str
    path: str
    """The full path of the file; empty where it is not known."""
    page: int
    citations: tuple[Citation, ...]
    """What the answer cites of it; one that is no more than a passage's text where the answer cites nothing."""


def sources_of(answer: Answer) -> list[Source]:
    """The pages that the answer cites, in its order; of one that cites none, the pages where its passages begin."""
    paths = {hit.chunk.file: hit.chunk.path for hit in answer.found.hits}
    cited: dict[tuple[str, int], list[Citation]] = {}
    for citation in answer.citations or _passages(answer):
        cited.setdefault((citation.file, citation.page), []).append(citation)
    return [
        Source(number, file, next((item.path for item in items if item.path), paths.get(file, "")), page, tuple(items))
        for number, ((file, page), items) in enumerate(cited.items(), 1)
    ]


def sources_given(answer: Answer) -> list[Source]:
    """`sources_of`, and numbered on from there the pages where passages begin that the answer was given besides."""
    sources = sources_of(answer)
    paths = {(source.path or source.file, source.page) for source in sources}
    others: dict[tuple[str, int], list[Citation]] = {}
    for passage in _passages(answer):
        if (passage.path or passage.file, passage.page) not in paths:
            others.setdefault((passage.file, passage.page), []).append(passage)
    return sources + [
        Source(number, file, items[0].path, page, tuple(items))
        for number, ((file, page), items) in enumerate(others.items(), len(sources) + 1)
    ]


def section_of(answer: Answer, source: Source) -> str:
    """The headings above a source's quotes, two at most; empty if no passage with them has one."""
    on_page = [
        hit.chunk
        for hit in answer.found.hits
        if hit.chunk.file == source.file and hit.chunk.page_start <= source.page <= hit.chunk.page_end
    ]
    names = [
        chunk.section.rpartition(_SEPARATOR)[2]
        for quote in source.citations
        for chunk in on_page
        if chunk.section
        and ((quote.end and chunk.start <= quote.start < chunk.end) or (quote.quote and quote.quote in chunk.text))
    ]
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:_MOST_SECTIONS]) + (", …" if len(distinct) > _MOST_SECTIONS else "")


def _passages(answer: Answer) -> list[Citation]:
    """Each passage as a citation of its first page, with its text on that page."""
    found = []
    for hit in answer.found.hits:
        chunk = hit.chunk
        on_first_page = chunk.page_breaks[1][0] if len(chunk.page_breaks) > 1 else len(chunk.text)
        text = chunk.text[:on_first_page].rstrip()
        end = chunk.start + len(text)
        found.append(Citation(chunk.file, chunk.page_start, text, False, chunk.path, chunk.start, end))
    return found


def source_numbered(answer: Answer, number: int) -> Source:
    """The source with this number. Raises NothingFound for a number that is not listed."""
    sources = sources_given(answer)
    if not sources:
        raise NothingFound("The answer has no sources.", "Ask something that your papers answer.")
    if not 1 <= number <= len(sources):
        listed = "only source 1" if len(sources) == 1 else f"sources 1 to {len(sources)}"
        raise NothingFound(f"There is no source {number}: the answer has {listed}.", "Give one of these numbers.")
    return sources[number - 1]


def cited_label(file: str, page: int) -> str:
    """How a page is cited in an answer, safe to show: `(file.pdf, p.3)`."""
    return f"({plain(file)}, p.{page})"


def page_label(first: int, last: int) -> str:
    """`p.3`, or `p.3-4` for a passage that crosses a page."""
    return f"p.{first}" if first == last else f"p.{first}-{last}"


Span = tuple[int, int]
AROUND_CHARS = 400
"""How much of the page is shown before and after a quote, up to the line's end."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A source on its page: spans are (start, end) in `text`, in order, and do not overlap."""

    source: Source
    text: str
    """Of the whole page."""
    quotes: tuple[Span, ...]
    """Empty if the quotes are not on the page."""
    windows: tuple[Span, ...]
    """The quotes with whole lines around them; the start of the page without quotes."""


def surroundings(answer: Answer, number: int, library: Store) -> Surroundings:
    """The page of a source with what is quoted of it. Raises UsageError or NothingFound."""
    source = source_numbered(answer, number)
    paper = _paper_of(source, library)
    if paper is None:
        raise NothingFound(f"{plain(source.file)} is no longer in the library.", "`python ingest.py list` shows it.")
    text = library.contents(paper.paper_id).text(source.page)
    quotes = _quotes(source, text, library.contents(paper.paper_id).page(source.page).start)
    return Surroundings(source, text, quotes, _windows(quotes, text))


def source_now(answer: Answer, number: int, library: Store) -> Source:
    """A source with the path that its file has now. Raises UsageError for a number that the answer does not list."""
    source = source_numbered(answer, number)
    paper = _paper_of(source, library)
    return replace(source, path=paper.path) if paper else source


@dataclass(frozen=True, slots=True)
class PlacedSource:
    """A numbered source with the paper that it is of now."""

    number: int
    md5: str
    """Of the paper's file; empty where the library no longer has it."""
    file: str
    title: str
    page: int
    quotes: tuple[Citation, ...]
    """With their boxes, as far as known."""


def placed_sources(answer: Answer, library: Store) -> list[PlacedSource]:
    """The sources of an answer, as `sources_of` numbers them, each with its paper and the boxes of its quotes."""
    found = []
    for source in sources_of(answer):
        md5 = next((quote.md5 for quote in source.citations if quote.md5), "")
        paper = library.paper(md5=md5) if md5 else _paper_of(source, library)
        if paper is None:
            found.append(PlacedSource(source.number, "", source.file, "", source.page, source.citations))
        else:
            quotes = tuple(placed_citation(quote, paper.paper_id, library) for quote in source.citations)
            title = title_of(paper)
            found.append(PlacedSource(source.number, paper.md5, paper.file, title, source.page, quotes))
    return found


def _paper_of(source: Source, library: Store) -> Paper | None:
    """The paper of a source; of an answer from before its file, or the whole home, was moved, the one of its name."""
    if not source.path:
        return None
    alike = [paper for paper in library.papers() if paper.file == source.file]
    return library.paper(path=source.path) or (alike[0] if alike and not Path(source.path).exists() else None)


def _quotes(source: Source, text: str, page_start: int) -> tuple[Span, ...]:
    found: list[Span] = []
    for citation in source.citations:
        start, end = citation.start - page_start, citation.end - page_start
        if citation.end and 0 <= start < end <= len(text):
            found.append((start, end))
        else:
            found += find_quote(citation.quote, text)
    return _merged(found)


def _windows(quotes: tuple[Span, ...], text: str) -> tuple[Span, ...]:
    wide = []
    for start, end in quotes or ((0, 0),):
        before = text.rfind("\n", 0, max(0, start - AROUND_CHARS)) + 1
        after = text.find("\n", min(len(text), end + AROUND_CHARS))
        wide.append((before, len(text) if after < 0 else after))
    return _merged(wide)


def _merged(spans: list[Span]) -> tuple[Span, ...]:
    """The same characters in spans that are in order and do not touch."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)
