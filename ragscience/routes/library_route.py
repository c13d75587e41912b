"""Questions of the library itself: how many papers it has."""

from __future__ import annotations

import re

from ragscience.records import Block
from ragscience.routes.route_records import RouteContext, Routed

__all__ = ["answer"]

_HOW_MANY = re.compile(
    r"\s*+how many (?:papers|pdfs|documents) (?:are|do i have|have i)(?: there)?"
    r"(?: in (?:my|the|this) library)?\s*+\??\s*+",
    re.IGNORECASE,
)


def answer(question: str, context: RouteContext) -> Routed | None:
    """The number of papers and passages."""
    if not _HOW_MANY.fullmatch(question):
        return None
    library = context.library
    text = f"The library has {library.paper_count:,} papers, in {library.chunk_count:,} passages."
    return Routed("library", "Counted the papers of the library.", (Block("text", text),))
