"""What a route is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ragscience.core.records import Block, Filters, Found, Hit, Paper
from ragscience.library.filter_selection import papers_allowed
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.library.store import Store


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
