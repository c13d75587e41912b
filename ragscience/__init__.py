"""RAG Science: answers from your own papers, with a page behind each fact.

from ragscience import AskRequest, Engine

with Engine.open("~/papers") as engine:
print(engine.ask(AskRequest("What does the paper say?")).text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragscience.core import __version__

if TYPE_CHECKING:
    from ragscience.core.errors import RagScienceError
    from ragscience.core.records import Answer, Filters, Found, Paper
    from ragscience.engine import AskRequest, Engine, SearchRequest

__all__ = [
    "Answer",
    "AskRequest",
    "Engine",
    "Filters",
    "Found",
    "Paper",
    "RagScienceError",
    "SearchRequest",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name in ("AskRequest", "Engine", "SearchRequest"):
        from ragscience import engine

        return getattr(engine, name)
    if name in ("Answer", "Filters", "Found", "Paper"):
        from ragscience.core import records

        return getattr(records, name)
    if name == "RagScienceError":
        from ragscience.core.errors import RagScienceError

        return RagScienceError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
