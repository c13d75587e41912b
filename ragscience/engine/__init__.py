"""The engine: what every command, notebook, page and test goes through. See docs/notebook.md.

Names are loaded when they are first used, so that a command imports only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragscience.engine.dialogue import Dialogue
    from ragscience.engine.events import (
        Event,
        ModelAsked,
        ModelChosen,
        Noted,
        OnEvent,
        PaperFailed,
        PaperRead,
        PaperRemoved,
        PaperStored,
        PlanMade,
        Progressed,
        Reranking,
        Searched,
        StepDone,
        Thinking,
        Token,
        Warned,
    )
    from ragscience.engine.library_engine import Engine
    from ragscience.engine.requests import AskRequest, SearchRequest

__all__ = [
    "AskRequest", "Dialogue", "Engine", "Event", "ModelAsked", "ModelChosen", "Noted", "OnEvent", "PaperFailed",
    "PaperRead", "PaperRemoved", "PaperStored", "PlanMade", "Progressed", "Reranking", "SearchRequest", "Searched",
    "StepDone", "Thinking", "Token", "Warned",
]  # fmt: skip
_HOMES = {"AskRequest": "requests", "Dialogue": "dialogue", "Engine": "library_engine", "SearchRequest": "requests"}
"""The modules of what is no event."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "events")
    return getattr(import_module(f"{__name__}.{home}"), name)
