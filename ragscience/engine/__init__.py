"""The engine: what every command, notebook, page and test goes through. See docs/notebook.md.

Names are loaded when they are first used, so that a command imports only what it needs; the events come from `events`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragscience.engine.dialogue import Dialogue
    from ragscience.engine.library_engine import Engine
    from ragscience.engine.requests import AskRequest, SearchRequest

__all__ = ["AskRequest", "Dialogue", "Engine", "SearchRequest"]
_HOMES = {"AskRequest": "requests", "Dialogue": "dialogue", "Engine": "library_engine", "SearchRequest": "requests"}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'events')}"), name)
