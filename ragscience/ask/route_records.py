"""What a route is given, what it answers, what papers it is about, and how these are put in its sentences."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragscience.core.paper_records import years_of
from ragscience.core.records import Block, Filters, Found, Hit, Paper, title_of
from ragscience.library.filter_selection import papers_allowed, plain_name
from ragscience.library.store import Store
from ragscience.search.names import PaperNames

_LONGEST_NAME = 40
SMALL_WORDS = frozenset({"of", "on", "in", "and", "the", "for", "a", "an", "to"})
_VENUE_KIND = frozenset({"conference", "journal", "proceedings", "workshop", "international"})
_RENAMED = {"nips": "neurips"}
"""A conference that changed its acronym."""


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
    maxsims: Callable[[str, Sequence[int]], Mapping[int, float]]
    """MaxSim, -1 to 1, of a query with passages, by their ids; empty where there are no token vectors."""

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
    likely: float = 1.0
    """How likely the question is one for the library itself."""
    nothing_found: bool = False
    """Whether the blocks say that the library has nothing of it: the answer is then a refusal."""


def label(paper: Paper, *, year: bool = True) -> str:
    """`Title (2017)`; the file's name where the title is not known."""
    title = " ".join(title_of(paper).split()) or paper.file
    return f"{title} ({paper.metadata.year})" if year and paper.metadata.year else title


def short_label(paper: Paper) -> str:
    """`BERT (2019)`: as `label`, with the title up to its colon, where it has one soon."""
    name, colon, rest = label(paper).partition(":")
    year = re.search(r" \(\d{4}\)$", rest)
    return f"{name}{year[0] if year else ''}" if colon and len(name) <= _LONGEST_NAME else label(paper)


def listed(items: Sequence[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(items[:-1])} {joint} {items[-1]}" if len(items) > 1 else "".join(items)


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
            found = [paper for paper in found if any(first <= year <= last for year in years_of(paper))]
        for name in self.authors:
            found = [paper for paper in found if has_author(paper, name)]
        return of_venue(found, self.venue) if self.venue else found


def has_author(paper: Paper, name: str) -> bool:
    """Whether the paper has an author of that name, case, accents and dots aside; a first name may be cut.

    "Hinton", "G. Hinton" and "Geoff Hinton" are Geoffrey Hinton.
    """
    *first, last = plain_name(name).replace(".", " ").split() or [""]
    authors = (plain_name(author).replace(".", " ").split() for author in paper.metadata.authors)
    return any(
        last == author[-1] and all(any(_is_cut(word, own) for own in author) for word in first)
        for author in authors
        if author
    )


def _is_cut(one: str, other: str) -> bool:
    same = one[:3] == other[:3] and min(len(one), len(other)) > 2  # Jeff, Jeffrey
    return same or one.startswith(other) or other.startswith(one)


def of_venue(papers: Sequence[Paper], name: str) -> list[Paper]:
    """The papers of that venue, by its words or its initials; an acronym may stand before a year in the file's name.

    A word that is none is the whole name: "Nature", and not "Learning".
    """
    wanted = set(_venue_words(name)) - _VENUE_KIND
    if not wanted:
        return []
    is_acronym, is_word = len(wanted) == 1 and name.isupper(), len(wanted) == 1 and name[1:].islower()
    found = []
    for paper in papers:
        words = _venue_words(paper.metadata.venue)
        known = {*words, *_venue_words("".join(word[0] for word in words) if len(words) > 2 else "")}
        dated = re.findall(r"(?<![a-z])[a-z]++(?=[-_ ]?(?:19|20)?\d\d)", paper.file.casefold()) if is_acronym else ()
        if name.casefold() in dated or (set(words) - _VENUE_KIND == wanted if is_word else wanted <= known):
            found.append(paper)
    return found


def _venue_words(text: str) -> list[str]:
    """The words of a venue's name that say something, in lower case, as they are now."""
    words = re.findall(r"[^\W\d_]++", plain_name(text))
    return [_RENAMED.get(word, word) for word in words if word not in SMALL_WORDS]
