"""Where things are in papers: an answer's numbered sources, quotes on their pages, and a reader's words."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.paper_records import page_label, place_label, sure_authors, sure_year
from ragscience.core.records import Answer, Citation, Paper, StoredChunk, title_of
from ragscience.engine.printable import plain
from ragscience.library.store import Store
from ragscience.reading.author_names import last_name

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
    cited_as: dict[int, str] = {}
    known: dict[Citation, Citation] = {}

    def place(citation: Citation) -> Citation:
        path = citation.path or paths.get(citation.file, "")
        if path and path not in papers and (paper := library.paper(path=path)):
            papers[path] = paper.paper_id, paper.md5
        if path in papers and citation not in known:
            paper_id, md5 = papers[path]
            if paper_id not in cited_as:
                cited_as[paper_id] = next(map(_author_and_year, library.papers([paper_id])), "")
            citing = replace(citation, path=path, md5=md5, cited_as=cited_as[paper_id])
            known[citation] = placed_citation(citing, paper_id, library)
        return known.get(citation, citation)

    with library.snapshot():
        return replace(
            answer,
            citations=tuple(map(place, answer.citations)),
            sentences=tuple(replace(one, evidence=one.evidence and place(one.evidence)) for one in answer.sentences),
            blocks=tuple(replace(block, citations=tuple(map(place, block.citations))) for block in answer.blocks),
        )


def _author_and_year(paper: Paper) -> str:
    """As in "Vaswani 2017"; empty where either is not known for sure."""
    authors, year = sure_authors(paper), sure_year(paper)
    return f"{last_name(authors[0])} {year}" if authors and year else ""


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
    for part in filter(None, _LEAVES_OUT.split(quote.strip())):
        found = _pattern(part).search(text, spans[-1][1] if spans else 0)
        if found is None:
            return []
        spans.append(found.span())
    return spans


def _pattern(part: str) -> re.Pattern[str]:
    words = (r"(?:-\n)?".join(map(re.escape, word)) for word in part.split())
    return re.compile(r"\s+".join(words))


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
    md5: str = ""
    """Of the paper's file; empty where the library no longer has it, and before it is looked for."""
    title: str = ""


def sources_of(answer: Answer) -> list[Source]:
    """The pages that the answer cites, in its order; of one that cites none, the pages where its passages begin."""
    return _numbered(answer, answer.citations or _passages(answer), 1)


def sources_given(answer: Answer) -> list[Source]:
    """`sources_of`, and numbered on from there the pages where passages begin that the answer was given besides."""
    sources = sources_of(answer)
    listed = {(source.path or source.file, source.page) for source in sources}
    others = [one for one in _passages(answer) if (one.path or one.file, one.page) not in listed]
    return sources + _numbered(answer, others, len(sources) + 1)


def _numbered(answer: Answer, citations: Sequence[Citation], first: int) -> list[Source]:
    """A source for each page, in the order of the citations, numbered from `first`."""
    paths = {hit.chunk.file: hit.chunk.path for hit in answer.found.hits}
    pages: dict[tuple[str, int], list[Citation]] = {}
    for citation in citations:
        pages.setdefault((citation.file, citation.page), []).append(citation)
    return [
        Source(number, file, next((item.path for item in items if item.path), paths.get(file, "")), page, tuple(items))
        for number, ((file, page), items) in enumerate(pages.items(), first)
    ]


def holds(chunk: StoredChunk, citation: Citation) -> bool:
    """Whether a citation is of words in the passage; of its pages, where the words are not placed."""
    if (citation.path or chunk.path) != chunk.path or citation.file != chunk.file:
        return False
    if citation.end:
        return chunk.start <= citation.start and citation.end <= chunk.end
    return chunk.page_start <= citation.page <= chunk.page_end


def section_of(answer: Answer, source: Source) -> str:
    """The headings above a source's quotes, two at most; empty if no passage with them has one."""
    chunks = [hit.chunk for hit in answer.found.hits if hit.chunk.section]
    pairs = ((chunk, quote) for quote in source.citations for chunk in chunks if holds(chunk, quote))
    holding = [chunk for chunk, quote in pairs if quote.end or quote.quote in chunk.text]
    names = list(dict.fromkeys(chunk.section.rpartition(_SEPARATOR)[2] for chunk in holding))
    return ", ".join(names[:_MOST_SECTIONS]) + (", …" if len(names) > _MOST_SECTIONS else "")


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
    return page_label(plain(file), page)


Cite = Callable[[Citation], str]
"""Says how a page is cited: "[@vaswani2017attention, p. 3]"."""


def by_file(cited: Citation) -> str:
    """A `Cite`: `(file.pdf, p.3)`."""
    return cited_label(cited.file, cited.page)


def by_author(cited: Citation) -> str:
    """A `Cite`: `(Vaswani 2017, p.3)`, where that is known."""
    return f"({plain(cited.cited_as or cited.file)}, {place_label(cited.file, cited.page)})"


def cited_by(answer: Answer, cite: Cite) -> Answer:
    """The answer with its pages cited so in its text, in place of file and page."""
    cited = (*answer.citations, *(one for block in answer.blocks for one in block.citations))
    labels = {by_file(one): cite(one) for one in cited}

    def said(text: str) -> str:
        for label, other in labels.items():
            text = text.replace(label, other)
        return text

    sentences = tuple(replace(one, text=said(one.text)) for one in answer.sentences)
    return replace(answer, text=said(answer.text), sentences=sentences)


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


def placed_sources(answer: Answer, library: Store) -> list[Source]:
    """The sources of an answer, as `sources_of` numbers them, each with its paper and the boxes of its quotes."""
    found = []
    for source in sources_of(answer):
        md5 = next((quote.md5 for quote in source.citations if quote.md5), "")
        paper = library.paper(md5=md5) if md5 else _paper_of(source, library)
        if paper is not None:
            quotes = tuple(placed_citation(quote, paper.paper_id, library) for quote in source.citations)
            source = replace(source, file=paper.file, citations=quotes, md5=paper.md5, title=title_of(paper))
        found.append(source)
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
