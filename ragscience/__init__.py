"""RAG Science: answers from your own papers, with a page behind each fact.

from ragscience import AskRequest, Engine

with Engine.open("~/papers") as engine:
print(engine.ask(AskRequest("What does the paper say?")).text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ragscience.core import __version__

if TYPE_CHECKING:
    from ragscience.core.errors import RagScienceError
    from ragscience.core.records import Answer, Filters, Found, Paper
    from ragscience.engine import AskRequest, Engine, SearchRequest

_HOMES = {
    **dict.fromkeys(("Answer", "Filters", "Found", "Paper"), "core.records"),
    **dict.fromkeys(("AskRequest", "Engine", "SearchRequest"), "engine"),
    "RagScienceError": "core.errors",
}
"""Where each name is, which is imported when it is first used."""
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
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
