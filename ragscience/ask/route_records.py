"""What a route is given, what it answers, what papers it is about, and how these are put in its sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.records import Block, Citation, Filters, Found, Hit, Paper, title_of
from ragscience.library.filter_selection import papers_allowed, plain_name
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.library.store import Store


_LONGEST_NAME = 40
SMALL_WORDS = frozenset({"of", "on", "in", "and", "the", "for", "a", "an", "to"})
_VENUE_KIND = frozenset({"conference", "journal", "proceedings", "workshop", "international"})
_RENAMED = {"nips": "neurips"}
"""A conference that changed its acronym."""
_FILE_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_FILE_ARXIV = re.compile(r"(?<!\d)(\d\d)(?:0[1-9]|1[0-2])\.\d{4,5}(?!\d)")


@dataclass(frozen=True)
class RouteContext:
    """What a route may use."""

    library: Store
    search: Callable[[str, Filters], Found]
    """The passages for a question, within filters."""
    filters: Filters
    """What the user keeps the question to."""
    probabilities: Callable[[str], NDArray[np.float32]]
    """[kinds] of a question, as `intents.probabilities`; empty where there is no model to read it."""
    embed: Callable[[str], NDArray[np.float32]]
    """[dimension], the unit vector of a query; empty where there is no model."""

    @cached_property
    def names(self) -> PaperNames:
        """Which papers a text names."""
        return PaperNames.of(self.library)

    @cached_property
    def papers(self) -> tuple[Paper, ...]:
        """The papers that the filters allow, by file. Raises NothingFound for a filter that fits no paper."""
        papers = self.library.papers()
        allowed = papers_allowed(papers, self.filters)
        return tuple(paper for paper in papers if allowed is None or paper.paper_id in allowed)


@dataclass(frozen=True, slots=True)
class Routed:
    """The answer of a route."""

    route: str
    """The route's name, as in `Answer.route`."""
    note: str
    """What was done, in one line."""
    blocks: tuple[Block, ...]
    hits: tuple[Hit, ...] = ()
    """The passages that it rests on, best first; none for what the papers' metadata says."""
    confidence: str | None = "high"
    """As `Answer.confidence`."""
    for_llm: bool = False
    """Whether a language model, where there is one, answers from `hits` instead."""
    nothing_found: bool = False
    """Whether the blocks say that the library has nothing of it: the answer is then a refusal."""


def label(paper: Paper, *, year: bool = True) -> str:
    """`Title (2017)`; the file's name where the title is not known."""
    title = " ".join(title_of(paper).split()) or paper.file
    return f"{title} ({paper.metadata.year})" if year and paper.metadata.year else title


def short_label(paper: Paper) -> str:
    """`BERT (2019)`: the title up to its colon, where it has one soon, with the year."""
    title = label(paper, year=False)
    name, colon, _ = title.partition(":")
    year = f" ({paper.metadata.year})" if paper.metadata.year else ""
    return f"{name if colon and len(name) <= _LONGEST_NAME else title}{year}"


def listed(items: Sequence[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(items[:-1])} {joint} {items[-1]}" if len(items) > 1 else "".join(items)


def printed_at(library: Store, paper: Paper, words: Iterable[str]) -> tuple[Citation, ...]:
    """The line of the paper's first page that has the first of the words that it has at all; empty without any."""
    page = next((page for page in library.contents(paper.paper_id).pages if page.number == 1), None)
    if page is None:
        return ()
    text = library.contents(paper.paper_id).text(1)
    for word in words:
        at = text.find(word) if word else -1
        if at < 0:
            continue
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        span = page.start + start, page.start + end
        boxes = library.contents(paper.paper_id).boxes(1, *span)
        return (Citation(paper.file, 1, " ".join(text[start:end].split()), True, paper.path, *span, boxes),)
    return ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """What papers must be; nothing is required of an empty field."""

    years: tuple[int, int] | None = None
    """First and last, inclusive."""
    authors: tuple[str, ...] = ()
    """The paper has an author of each name."""
    venue: str = ""

    def fit(self, papers: Sequence[Paper]) -> list[Paper]:
        """Those of the papers that meet the conditions."""
        found = list(papers)
        if self.years:
            first, last = self.years
            found = [paper for paper in found if first <= (year_of(paper)[0] or first - 1) <= last]
        for name in self.authors:
            found = [paper for paper in found if has_author(paper, name)]
        return of_venue(found, self.venue) if self.venue else found


def has_author(paper: Paper, name: str) -> bool:
    """Whether the paper has an author of that name, case, accents and dots aside; a first name may be cut.

    "Hinton", "G. Hinton" and "Geoff Hinton" are Geoffrey Hinton.
    """
    wanted = plain_name(name).replace(".", " ").split()
    authors = [plain_name(author).replace(".", " ").split() for author in paper.metadata.authors]
    return bool(wanted) and any(
        wanted[-1] == author[-1] and all(any(_is_cut(word, own) for own in author) for word in wanted[:-1])
        for author in authors
        if author
    )


def _is_cut(one: str, other: str) -> bool:
    same = one[:3] == other[:3] and min(len(one), len(other)) > 2  # Jeff, Jeffrey
    return same or one.startswith(other) or other.startswith(one)


def year_of(paper: Paper) -> tuple[int | None, bool]:
    """(the paper's year, whether it is known only by the arXiv id or the file's name); None where nothing says it."""
    if paper.metadata.year:
        return paper.metadata.year, False
    stem = Path(paper.file).stem
    arxiv = _FILE_ARXIV.search(paper.metadata.arxiv_id or stem)
    if arxiv:
        return 2000 + int(arxiv[1]), True
    plain = _FILE_YEAR.search(stem)
    return (int(plain[1]), True) if plain else (None, True)


def _venue_words(text: str) -> set[str]:
    """The words of a venue's name and its initials: of "International Conference on Machine Learning" also "icml"."""
    words = re.findall(r"(?<!\d)[^\W\d_]++", plain_name(text))
    telling = [word for word in words if word not in SMALL_WORDS]
    initials = "".join(word[0] for word in telling)
    found = {*telling, *((initials,) if len(initials) > 2 else ())}
    return found | {_RENAMED[word] for word in found if word in _RENAMED}


def of_venue(papers: Sequence[Paper], name: str) -> list[Paper]:
    """The papers of that venue; an acronym may also stand in the name of the file."""
    wanted = {_RENAMED.get(word, word) for word in re.findall(r"[^\W\d_]++", plain_name(name))} - (
        SMALL_WORDS | _VENUE_KIND
    )
    if not wanted:
        return []
    found = [paper for paper in papers if wanted <= _venue_words(paper.metadata.venue)]
    if len(wanted) == 1 and name.isupper():
        (acronym,) = wanted
        letters = [set(re.findall(r"[a-z]+", Path(paper.file).stem.casefold())) for paper in papers]
        found += [p for p, words in zip(papers, letters, strict=True) if acronym in words and p not in found]
    return found
