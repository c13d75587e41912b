"""Locates a quote: its offsets in the document, and its boxes on the page."""

from __future__ import annotations

import re
from dataclasses import replace

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.records import Answer, Citation
from ragscience.library.store import Store

__all__ = ["find_quote", "placed", "placed_citation"]

_LEAVES_OUT = re.compile(r"(?:(?<!\s)\s++)?+(?:\[…\]|\[\.\.\.\]|…)\s*+")
"""Marks the words that a quote leaves out."""


def placed(answer: Answer, library: Store) -> Answer:
    """The answer with path, MD5, offsets and boxes in each citation, as far as known, also those of its parts.

    What is filled in already stays. A page that has left the library meanwhile, or is damaged, leaves its citations as
    they are.
    """
    chunks = [hit.chunk for hit in answer.found.hits]
    paths = {chunk.file: chunk.path for chunk in chunks}
    papers = {chunk.path: (chunk.paper_id, chunk.md5) for chunk in chunks}
    known: dict[Citation, Citation] = {}

    def place(citation: Citation) -> Citation:
        path = citation.path or paths.get(citation.file, "")
        if path and path not in papers and (paper := library.paper(path=path)):
            papers[path] = paper.paper_id, paper.md5
        if path in papers and citation not in known:
            paper_id, md5 = papers[path]
            known[citation] = placed_citation(replace(citation, path=path, md5=md5), paper_id, library)
        return known.get(citation, citation)

    with library.snapshot():
        return replace(
            answer,
            citations=tuple(place(citation) for citation in answer.citations),
            sentences=tuple(
                replace(sentence, evidence=place(sentence.evidence)) if sentence.evidence else sentence
                for sentence in answer.sentences
            ),
            blocks=tuple(
                replace(block, citations=tuple(place(citation) for citation in block.citations))
                for block in answer.blocks
            ),
        )


def placed_citation(citation: Citation, paper_id: int, library: Store) -> Citation:
    """The citation of that paper with offsets and boxes, as far as known; what is filled in already stays."""
    if citation.boxes:
        return citation
    try:
        spans = [(citation.start, citation.end)]
        if not citation.end:
            page = library.contents(paper_id).page(citation.page)
            found = find_quote(citation.quote, library.contents(paper_id).text(citation.page))
            spans = [(page.start + start, page.start + end) for start, end in found]
        if len(spans) == 1:
            citation = replace(citation, start=spans[0][0], end=spans[0][1])
        boxes = (library.contents(paper_id).boxes(citation.page, *span) for span in spans)
        return replace(citation, boxes=tuple(box for each in boxes for box in each))
    except (NothingFound, LibraryDamaged):
        return citation


def find_quote(quote: str, text: str) -> list[tuple[int, int]]:
    """(start, end) in `text` of each part of the quote, in order; white space and where lines end do not matter.

    An ellipsis divides a quote into parts. Empty unless all parts are found; a hyphen at
    the end of a line may be missing in the quote.
    """
    spans: list[tuple[int, int]] = []
    for part in _parts(quote):
        found = _pattern(part).search(text, spans[-1][1] if spans else 0)
        if found is None:
            return []
        spans.append(found.span())
    return spans


def _parts(quote: str) -> list[str]:
    return [part for part in _LEAVES_OUT.split(quote.strip()) if part]


def _pattern(part: str) -> re.Pattern[str]:
    words = (r"(?:-\n)?".join(map(re.escape, word)) for word in part.split())
    return re.compile(r"\s+".join(words))
