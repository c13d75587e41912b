"""A paper as its elements and sentences, each with the pages that it is on."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.records import Citation, Hit, Paper, StoredChunk
from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import joined_lines
from ragscience.library.store import Store

PROSE = ("text", "abstract", "list")
_FLOATS = ("caption", "table", "figure", "footnote")
"""What may stand between the two pieces of a paragraph."""
_BULLET = re.compile(r"\s*(?:[•◦▪·‣∙●○*–—-]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s")
_MOST_HITS, _FEWEST_WORDS = 8, 3
"""Passages of an answer; words of a sentence: fewer are what a figure or a margin left."""
NO_SCORES = {"dense": None, "bm25": None, "fused": None, "rerank": None}


@dataclass(frozen=True, slots=True)
class Part:
    """An element with its words: `Document.text[start:end] == text`."""

    kind: str
    """As `Element.kind`."""
    text: str
    page: int
    start: int
    end: int
    level: int
    section: str


@dataclass(frozen=True, slots=True)
class PaperSentence:
    """A sentence of a paper."""

    text: str
    """On one line."""
    citations: tuple[Citation, ...]
    """One for each page that it is on."""
    section: str
    kind: str
    """Of its paragraph's first element."""


class PaperText:
    """A paper's elements, paragraphs and sentences, as the library has them."""

    def __init__(self, library: Store, paper: Paper) -> None:
        self._library = library
        self.paper = paper

    @cached_property
    def chunks(self) -> list[StoredChunk]:
        """Its passages."""
        return self._library.paper_chunks(self.paper.paper_id)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All elements in the order of the text; those of a damaged page are left out."""
        starts = {page.number: page.start for page in self._library.contents(self.paper.paper_id).pages}
        texts: dict[int, str] = {}
        parts: list[Part] = []
        for one in self._library.contents(self.paper.paper_id).elements:
            if one.page not in texts:
                texts[one.page] = self._page_text(one.page)
            first = starts.get(one.page, 0)
            text = texts[one.page][one.start - first : one.end - first]
            if text.strip():
                parts.append(Part(one.kind, text, one.page, one.start, one.end, one.level, one.section))
        return tuple(parts)

    def _page_text(self, number: int) -> str:
        try:
            return self._library.contents(self.paper.paper_id).text(number)
        except (LibraryDamaged, NothingFound):
            return ""

    @cached_property
    def sentences(self) -> tuple[PaperSentence, ...]:
        """The sentences of running text and lists, in order; none of headings, captions, footnotes, references."""
        return tuple(self._sentences())

    def _sentences(self) -> Iterator[PaperSentence]:
        for paragraph in _paragraphs(self.parts):
            whole, held = "", list[tuple[int, Part]]()
            for part in paragraph:
                whole += " " if held and held[-1][1].end != part.start else ""
                held.append((len(whole), part))
                whole += part.text
            for span in split_sentences(whole):
                cited = tuple(
                    self.cite_span(part, max(span.start - at, 0), min(span.end - at, len(part.text)))
                    for at, part in held
                    if at < span.end and span.start < at + len(part.text)
                )
                text = joined_lines(whole[span.start : span.end])
                if len(text.split()) >= _FEWEST_WORDS:
                    yield PaperSentence(text, cited, paragraph[0].section, paragraph[0].kind)

    def cite(self, parts: Sequence[Part]) -> tuple[Citation, ...]:
        """A citation of each part, whole."""
        return tuple(self.cite_span(part, 0, len(part.text)) for part in parts)

    def cite_span(self, part: Part, start: int, end: int) -> Citation:
        """A citation of `part.text[start:end]`."""
        words = part.text[start:end]
        place = (part.start + start, part.start + end)
        return Citation(self.paper.file, part.page, words, True, self.paper.path, *place)

    def hits(self, citations: Sequence[Citation], by: str) -> tuple[Hit, ...]:
        """The passages that hold most of what is cited, in the order of the citations, at most eight."""
        chosen: dict[int, StoredChunk] = {}
        for cited in citations:
            shared = [(min(one.end, cited.end) - max(one.start, cited.start), -one.ordinal, one) for one in self.chunks]
            most = max(shared, default=None, key=lambda each: each[:2])
            if most is not None and most[0] > 0:
                chosen.setdefault(most[2].chunk_id, most[2])
        best = list(chosen.values())[:_MOST_HITS]
        return tuple(Hit(rank, chunk, 1.0, NO_SCORES, (by,)) for rank, chunk in enumerate(best, start=1))


def _paragraphs(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts of each paragraph and item of a list; one goes on behind a page's end, and behind floats."""
    pieces: list[Part] = []
    for part in parts:
        if pieces and (part.kind in _FLOATS or _continues(pieces[-1], part)):
            pieces += [part] if part.kind in PROSE else []
            continue
        if pieces:
            yield pieces
        pieces = [part] if part.kind in PROSE else []
    if pieces:
        yield pieces


def _continues(before: Part, part: Part) -> bool:
    if part.kind not in PROSE or (part.kind == "list" and _BULLET.match(part.text)):
        return False
    if part.start - before.end <= 1:
        return True
    is_cut = before.text.rstrip()[-1] not in '.:!?…”")'
    return is_cut and part.text.lstrip()[0].islower() and part.page - before.page in (0, 1)
