"""The numbered places that an answer rests on: the [1], [2] … under it, and what `open` and `/show` go by."""

from __future__ import annotations

from dataclasses import dataclass

from ragscience.errors import NothingFound, UsageError
from ragscience.records import Answer, Citation
from ragscience.terminal.plain import plain

__all__ = ["Source", "cited_label", "section_of", "source_numbered", "sources_of"]

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


def section_of(answer: Answer, source: Source) -> str:
    """The headings that a source's quotes stand under, two at most; empty where no passage with them has one."""
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
    """Each passage as a citation of its first page, with what stands on that page."""
    found = []
    for hit in answer.found.hits:
        chunk = hit.chunk
        on_first_page = chunk.page_breaks[1][0] if len(chunk.page_breaks) > 1 else len(chunk.text)
        text = chunk.text[:on_first_page].rstrip()
        end = chunk.start + len(text)
        found.append(Citation(chunk.file, chunk.page_start, text, False, chunk.path, chunk.start, end))
    return found


def source_numbered(answer: Answer, number: int) -> Source:
    """The source with this number. Raises UsageError for a number that is not listed, NothingFound without any."""
    sources = sources_of(answer)
    if not sources:
        raise NothingFound("The answer has no sources.", "Ask something that your papers answer.")
    if not 1 <= number <= len(sources):
        listed = "only source 1" if len(sources) == 1 else f"sources 1 to {len(sources)}"
        raise UsageError(f"There is no source {number}: the answer has {listed}.", "Give one of these numbers.")
    return sources[number - 1]


def cited_label(file: str, page: int) -> str:
    """How a page is cited in an answer, safe to show: `(file.pdf, p.3)`."""
    return f"({plain(file)}, p.{page})"
