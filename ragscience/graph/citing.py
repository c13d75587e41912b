"""Who cites whom among the papers of a library, by their lists of references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.records import Paper, title_of
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
class Reference:
    """An entry of a list of references."""

    citing: Paper
    page: int
    text: str
    """On one line."""
    cited: Paper | None
    """The paper of the library that it names; None where it has none."""

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The DOI and the arXiv id that it gives: ("10.1145/3292500", "arXiv:1706.03762")."""
        whole = self.text.replace("- ", "-")
        found = [match.group() for match in _DOI.finditer(whole)]
        return tuple(dict.fromkeys([*found, *(f"arXiv:{match[1]}" for match in _ARXIV.finditer(whole))]))


def references(library: Store, papers: Sequence[Paper] | None = None) -> Iterator[Reference]:
    """The entries of the lists of references of `papers`, or of all, in their order; a supplement is never cited."""
    every = library.papers()
    known = _Known([paper for paper in every if not paper.metadata.part])
    for paper in every if papers is None else papers:
        contents = library.contents(paper.paper_id)
        texts = {page.number: (page.start, text) for page, text in zip(contents.pages, contents.texts, strict=True)}
        for element in contents.elements:
            if element.kind == "reference":
                start, text = texts[element.page]
                entry = " ".join(text[max(0, element.start - start) : element.end - start].split())
                yield Reference(paper, element.page, entry, known.named(entry, paper))


def citations(library: Store, papers: Sequence[Paper]) -> dict[tuple[int, int], Reference]:
    """An entry for each pair (citing, cited) of ids, of those in the lists of references of `papers`."""
    found = references(library, papers)
    return {(one.citing.paper_id, one.cited.paper_id): one for one in found if one.cited is not None}


def cited_by(found: Sequence[Reference], paper: Paper) -> list[Paper]:
    """The papers that cite a paper, each once."""
    return list({one.citing.paper_id: one.citing for one in found if one.cited == paper}.values())


def cited_in(found: Sequence[Reference], paper: Paper) -> list[Paper]:
    """The papers of the library that a paper cites, each once."""
    named = [one.cited for one in found if one.citing == paper and one.cited is not None]
    return list({one.paper_id: one for one in named}.values())


class _Known:
    """The papers that an entry may name."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        self._papers: Mapping[str, list[tuple[Paper, str, bool]]] = {}
        by_name: dict[str, list[tuple[Paper, str, bool]]] = {}
        self._by_id: dict[str, Paper] = {}
        for paper in papers:
            known, title = paper.metadata, title_of(paper)
            name = _words(last_name(known.authors[0])) if known.authors else ""
            for part in dict.fromkeys((title, title.partition(": ")[2])):  # which is also cited without its short name
                letters = _letters(part)
                is_clear = len(letters) >= _CLEAR_TITLE
                if is_clear or (part == title and len(letters) >= _LEAST_LETTERS):
                    by_name.setdefault(name, []).append((paper, letters, is_clear))
            for one in (known.doi.casefold(), known.arxiv_id.partition("v")[0]):
                if one:
                    self._by_id[one] = paper
        self._papers = by_name

    def named(self, entry: str, citing: Paper) -> Paper | None:
        """The paper that an entry of another one names: by its identifier, or by its title and first author."""
        from rapidfuzz import fuzz

        found = [*_DOI.findall(entry.casefold()), *_ARXIV.findall(entry)]
        for one in found:
            if (paper := self._by_id.get(one)) is not None and paper != citing:
                return paper
        letters, words = _letters(entry), f" {_words(entry)} "
        best: tuple[float, int, Paper] | None = None
        for name, papers in self._papers.items():
            is_named = bool(name) and f" {name} " in words
            for paper, title, is_clear in papers:
                if paper == citing or len(title) > len(letters) or not (is_named or is_clear):
                    continue
                score = 100.0 if title in letters else fuzz.partial_ratio(title, letters) if is_named else 0.0
                if score >= _ALIKE and (best is None or (score, len(title)) > best[:2]):
                    best = score, len(title), paper
        return best[2] if best is not None else None


def _words(text: str) -> str:
    """The words of a text, without case and accents, with a blank between."""
    return " ".join(_WORD.findall(plain_letters(text)))


def _letters(text: str) -> str:
    """The letters and digits of a text, without case, accents, blanks and hyphens."""
    return "".join(char for char in plain_letters(text) if char.isalnum())
