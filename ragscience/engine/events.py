"""What happens while the engine works, one frozen record each; a caller that wants to show it passes `on_event`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragscience.core.records import Step

__all__ = [
    "Checking",
    "Downloaded",
    "Downloading",
    "Event",
    "ModelAsked",
    "ModelChosen",
    "OnEvent",
    "Reranking",
    "Searched",
    "StepDone",
    "Thinking",
    "Token",
    "TokensCounted",
    "Warned",
    "WorkersStarted",
]


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all events."""


@dataclass(frozen=True, slots=True)
class ModelChosen(Event):
    """Which model does a part of the work, in one line; comes once for each choice of an engine."""

    text: str
    """Empty where there is nothing to say: what the settings want is there."""
    part: str = ""
    """ "embedder", "llm" or "reranker"; empty where the choice belongs to one run."""


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """Something is missing or failed, and the work continues without it. Also in the result's warnings."""

    text: str


@dataclass(frozen=True, slots=True)
class Token(Event):
    """A piece of an answer as it is written, before its citations are checked."""

    text: str


@dataclass(frozen=True, slots=True)
class StepDone(Event):
    """A step of the agent is done."""

    step: Step


@dataclass(frozen=True, slots=True)
class Searched(Event):
    """The library is searched, by these words."""

    query: str


@dataclass(frozen=True, slots=True)
class Reranking(Event):
    """The reranker reads the passages that were found."""

    passages: int


@dataclass(frozen=True, slots=True)
class ModelAsked(Event):
    """A language model is asked; nothing comes until it has read its prompt."""

    model: str
    passages: int
    """In its prompt; 0 where it reads something else."""


@dataclass(frozen=True, slots=True)
class TokensCounted(Event):
    """A reply of a language model has ended."""

    tokens: int
    """Of prompt and reply together, as the server counted them."""


@dataclass(frozen=True, slots=True)
class Thinking(Event):
    """A language model has begun to think, which is not shown: nothing comes until it writes its answer."""

    model: str


@dataclass(frozen=True, slots=True)
class Checking(Event):
    """A step begins of a check that reads the whole library."""

    what: str
    """What is looked at: "contents", "indexes", …"""
    step: int
    """From 1."""
    steps: int


@dataclass(frozen=True, slots=True)
class Downloading(Event):
    """A file is on its way."""

    item: str
    done_bytes: int
    total_bytes: int | None
    """None while it is not known."""


@dataclass(frozen=True, slots=True)
class Downloaded(Event):
    """A model is here now."""

    item: str


@dataclass(frozen=True, slots=True)
class WorkersStarted(Event):
    """Other processes read, cut and embed the papers of a run."""

    workers: int
    memory_bytes: int = 0
    """What they take together, about; 0 where it is other machines' memory."""
    address: str = ""
    """The Ray cluster that they are of; empty: processes of this machine."""


OnEvent = Callable[[Event], None]
"""Called in the thread that does the work; what it raises ends the work."""
