"""Which route answers a question: each is asked in turn, by rules that cost next to nothing."""

from __future__ import annotations

from collections.abc import Callable

from ragscience.routes import (
    element_route,
    help_route,
    library_route,
    list_route,
    mentions_route,
    papers_route,
    summary_route,
)
from ragscience.routes.route_records import RouteContext, Routed

__all__ = ["ROUTES", "route"]

ROUTES: tuple[Callable[[str, RouteContext], Routed | None], ...] = (
    papers_route.answer,
    mentions_route.answer,
    library_route.answer,
    help_route.answer,
    element_route.answer,
    summary_route.answer,
    list_route.answer,
)
"""In the order in which they are asked; a route gives None for a question that is not its own."""


def route(question: str, context: RouteContext) -> Routed | None:
    """The answer of the first route that takes the question; None where a search for passages is the way.

    Raises what the library and the search raise.
    """
    for answer in ROUTES:
        routed = answer(question, context)
        if routed is not None:
            return routed
    return None
