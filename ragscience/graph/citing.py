"""Who cites whom among the papers of a library, by their lists of references."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.records import Filters, Paper, title_of
from ragscience.core.tokenizing import tokenize
from ragscience.reading.author_names import last_name
from ragscience.reading.text_cleaning import plain_letters

if TYPE_CHECKING:
    from ragscience.library.store import Store

_ALIKE = 92.0
"""Of 100: how like a part of an entry must be to a title whose first author it names."""
_CLEAR_TITLE = 24
"""Letters: a title of so many is no other one's, whoever the entry names."""
_LEAST_LETTERS = 5
_WORD = re.compile(r"\w+")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]*[^\s\"<>.,;)\]]")
_ARXIV = re.compile(r"arxiv[^\d]{0,20}(\d{4}\.\d{4,5})(?:v\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """An entry of a paper's list of references."""

    page: int
    start: int
    end: int
    """Where it is in the text of the paper."""
    text: str
    """On one line."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry that is about another paper of the library."""

    citing: Paper
    cited: Paper
    entry: ReferenceEntry


class Citations:
    """The citations among the papers of a library at one of its versions; a supplement is never cited.

    Each list of references is read once, when it is first needed.
    """

    def __init__(self, library: Store, _: Citations | None = None) -> None:
        self._library = library
        self._papers = {paper.paper_id: paper for paper in library.papers()}
        self._titles = KnownWorks([paper for paper in self._papers.values() if not paper.metadata.part])
        self._read: dict[int, dict[int, Reference]] = {}
        """By the ids of the citing and the cited paper."""

    @classmethod
    def of(cls, library: Store) -> Citations:
        """Those of the library as it is now."""
        return library.derived(cls)

    @property
    def all(self) -> list[Reference]:
        """One for each pair of papers, by the citing paper's file."""
        return [one for paper in self._papers.values() for one in self.by(paper)]

    def by(self, paper: Paper) -> list[Reference]:
        """What the paper cites."""
        if paper.paper_id not in self._read:
            found: dict[int, Reference] = {}
            for entry in entries(self._library, paper):
                if (cited := self._titles.named(entry.text, paper)) is not None:
                    found.setdefault(cited.paper_id, Reference(paper, cited, entry))
            self._read[paper.paper_id] = found
        return [*self._read[paper.paper_id].values()]

    def to(self, paper: Paper) -> list[Reference]:
        """What cites the paper."""
        rest = self._papers.keys() - self._read.keys()
        for number in rest & self._having(paper) if rest else ():
            self.by(self._papers[number])
        return [found[paper.paper_id] for one in self._papers if paper.paper_id in (found := self._read.get(one, {}))]

    def elsewhere(self, paper: Paper) -> list[str]:
        """The identifiers of what the paper cites and the library lacks: a DOI, or "arXiv:" with an id, each once."""
        absent = [one.text for one in entries(self._library, paper) if self._titles.named(one.text, paper) is None]
        return list(dict.fromkeys(one for text in absent for one in identifiers(text)))

    def _having(self, paper: Paper) -> set[int]:
        """The papers whose lists of references may name the paper, by the index of words."""
        library, known, title = self._library, paper.metadata, title_of(paper)
        lists = library.select(Filters(kinds=("reference",)))
        parts = list(map(tokenize, (title, title.partition(": ")[2], known.doi, known.arxiv_id.partition("v")[0])))
        found = {one for terms in parts if terms for one in library.keywords.having(terms, lists).tolist()}
        sure = {chunk.paper_id for chunk in library.chunks(sorted(found))}
        name, words = tokenize(last_name(known.authors[0])) if known.authors else [], _words(title).split()
        pairs = [[*name, term] for term in dict.fromkeys(parts[0])] if name else []
        found = {one for terms in pairs for one in library.keywords.having(terms, lists).tolist()} - found
        chunks = library.chunks(sorted(found))
        return sure | {chunk.paper_id for chunk in chunks if _is_near(words, _letters(_words(chunk.text)))}


def entries(library: Store, paper: Paper) -> Iterator[ReferenceEntry]:
    """The entries of a paper's list of references."""
    contents = library.contents(paper.paper_id)
    texts = {page.number: (page.start, text) for page, text in zip(contents.pages, contents.texts, strict=True)}
    for one in contents.elements:
        if one.kind == "reference":
            start, text = texts[one.page]
            said = " ".join(text[max(0, one.start - start) : one.end - start].split())
            yield ReferenceEntry(one.page, one.start, one.end, said)


def identifiers(entry: str) -> list[str]:
    """The DOI and the arXiv id that an entry gives: ["10.1145/3292500", "arXiv:1706.03762"]."""
    whole = entry.replace("- ", "-")
    return [*_DOI.findall(whole), *(f"arXiv:{number}" for number in _ARXIV.findall(whole))]


class KnownWorks:
    """The papers that an entry may name, by identifier, first author and title."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        self._by_id: dict[str, Paper] = {}
        self._by_author: defaultdict[str, list[tuple[str, list[str], Paper]]] = defaultdict(list)
        """(name, words of the title, paper), by the first word of the name."""
        self._by_start: defaultdict[str, list[tuple[str, Paper]]] = defaultdict(list)
        """(letters of the title, paper), by the first _CLEAR_TITLE letters."""
        for paper in papers:
            known, title = paper.metadata, title_of(paper)
            name = _words(last_name(known.authors[0])) if known.authors else ""
            for part in dict.fromkeys((title, title.partition(": ")[2])):  # which is also cited without its short name
                words = _words(part)
                letters = _letters(words)
                is_clear = len(letters) >= _CLEAR_TITLE
                if is_clear:
                    self._by_start[letters[:_CLEAR_TITLE]].append((letters, paper))
                if name and (is_clear or (part == title and len(letters) >= _LEAST_LETTERS)):
                    self._by_author[name.partition(" ")[0]].append((name, words.split(), paper))
            for one in (known.doi.casefold(), known.arxiv_id.partition("v")[0]):
                if one:
                    self._by_id[one] = paper

    def named(self, entry: str, citing: Paper | None = None) -> Paper | None:
        """The paper that an entry of `citing` names: by its identifier, or by its title and first author."""
        for one in (*_DOI.findall(entry.casefold()), *_ARXIV.findall(entry)):
            if (paper := self._by_id.get(one)) is not None and paper != citing:
                return paper
        fitting = [one for one in self._fitting(entry) if one[2] != citing]
        return max(fitting, key=lambda one: one[:2])[2] if fitting else None

    def _fitting(self, entry: str) -> Iterable[tuple[float, int, Paper]]:
        """(how like its title is, letters of its title, paper) of each paper that the entry may be about."""
        from rapidfuzz import fuzz

        words = _words(entry)
        letters, at = _letters(words), 0
        for word in words.split():
            for title, paper in self._by_start.get(letters[at : at + _CLEAR_TITLE], ()):
                if letters.startswith(title, at):
                    yield 100.0, len(title), paper
            at += len(word) - word.count("_")
        for word in dict.fromkeys(words.split()):
            for name, parts, paper in self._by_author.get(word, ()):
                if f" {name} " in f" {words} " and _is_near(parts, letters):
                    title = "".join(parts).replace("_", "")
                    score = fuzz.partial_ratio(title, letters, score_cutoff=_ALIKE) if len(title) <= len(letters) else 0
                    if score:
                        yield score, len(title), paper


def _is_near(words: Sequence[str], letters: str) -> bool:
    """Whether a text has half of the words of a title: what has fewer is not compared, which takes long."""
    return 2 * sum(word in letters for word in words) >= len(words)


def _words(text: str) -> str:
    """The words of a text, without case and accents, with a blank between."""
    return " ".join(_WORD.findall(plain_letters(text)))


def _letters(words: str) -> str:
    """The letters and digits of words."""
    return words.replace(" ", "").replace("_", "")
