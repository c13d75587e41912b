"""Which route answers a question: each is asked in turn, by rules that cost next to nothing.

A route's module has many patterns, and is imported only for a question that has one of the words without which it
takes none: most questions of a program that starts anew need no route at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from ragscience.core.records import Block, Filters, Found, Hit, Paper
from ragscience.library.filter_selection import papers_allowed
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["ROUTES", "RouteContext", "Routed", "route"]


@dataclass(frozen=True)
class RouteContext:
    """What a route may use."""

    library: Store
    search: Callable[[str, Filters], Found]
    """The passages for a question, within filters."""
    filters: Filters
    """What the user keeps the question to."""

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


_PAPERS = r"papers?|articles?|documents?|publications?|pdfs?|preprints?|works|stud(?:y|ies)"
ROUTES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(words, re.IGNORECASE))
    for name, words in (
        (
            "papers_route",
            rf"\b(?:{_PAPERS}|who|whom|authors?|when|year|date|where|venue|journal|conference|workshop|proceedings|doi|"
            r"arxiv|title|pages?|passages|chunks|how long|how old|length|cite|bibtex|bib|citation|bibliograph\w*|"
            r"reference|affiliations?|e-?mail|contact|employers?|behind|(?:universit|institut|compan|organi[sz])\w+|labs?|"
            r"hospitals?)\b",
        ),
        (
            "mentions_route",
            rf"\b(?:{_PAPERS}|who|where|mentions?|occurrences?|anything|something|anywhere|somewhere|how often|"
            rf"times)\b",
        ),
        ("library_route", r"\b(?:library|papers|pdfs|collection|documents|(?:can|could|should|may) (?:i|we|you))\b"),
        ("help_route", r"\b(?:i|we|you|help|commands?|options?|program|ragscience|how to|how does one|possible to)\b"),
        (
            "element_route",
            r"tab|fig|alg|listing|eq|formula|sec|§|appendi|chapter|abstract|introduction|conclu|discussion|"
            r"related work|"
            r"acknowl|\b(?:of|in|from)\b",
        ),
        (
            "definition_route",
            r"what|define|explain|describe|tell me about|\bhow\b.+\b(?:works?|functions?|operates?)\b",
        ),
        (
            "summary_route",
            r"sum|overview|outline|synopsis|gist|tl;?dr|about|what|contribution|finding|result|limit|weakness|"
            r"shortcoming|drawback|conclusion|takeaway|idea|compare|contrast|differ|\bvs|versus",
        ),
        ("list_route", r"\b(?:list|name|enumerate|give|show|tell|what|which)\b"),
    )
)
"""The modules in the order in which they are asked, each with the words of which its questions have one."""


def route(question: str, context: RouteContext) -> Routed | None:
    """The answer of the first route that takes the question; None where a search for passages is the way.

    Raises what the library and the search raise.
    """
    for name, words in ROUTES:
        if words.search(question) is None:
            continue
        answer: Callable[[str, RouteContext], Routed | None] = import_module(f"ragscience.ask.{name}").answer
        routed = answer(question, context)
        if routed is not None:
            return routed
    return None
