"""What a route is given, what it answers, and how papers are put in its sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ragscience.core.records import Block, Citation, Filters, Found, Hit, Paper, title_of
from ragscience.library.filter_selection import papers_allowed
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.library.store import Store


_LONGEST_NAME = 40


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
