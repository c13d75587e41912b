"""What a chat has at hand: the engine, the conversation, and how the next question is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from ragscience.cli.screen import Screen
from ragscience.core.errors import UsageError
from ragscience.core.records import Answer, Filters
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.library_engine import Engine
from ragscience.engine.requests import AskRequest

__all__ = ["ChatState"]


@dataclass(slots=True)
class ChatState:
    """One conversation on a terminal or through pipes; commands change it."""

    engine: Engine
    request: AskRequest
    """How the next question is asked; its text is empty."""
    dialogue: Dialogue
    screen: Screen
    debug: bool = False
    read: Callable[[str], str] | None = None
    """Reads a line behind a prompt; None where nobody can be asked."""

    def last_answer(self) -> Answer:
        """Raises UsageError before the first answer."""
        if not self.dialogue.turns:
            raise UsageError("No answer yet.", "Ask a question first.")
        return self.dialogue.turns[-1].answer

    def filter_by(self, filters: Filters) -> None:
        """Ask only what fits from now on. Raises NothingFound where a filter of papers fits none."""
        if filters.papers != self.request.filters.papers:
            self.engine.library.select(Filters(papers=filters.papers))
        self.request = replace(self.request, filters=filters)

    def confirms(self, question: str) -> bool:
        """Whether a person says yes; no where nobody can be asked."""
        return self.read is not None and self.read(f"{question} [y/N] ").strip().lower() in ("y", "yes")

    @property
    def is_watched(self) -> bool:
        """Whether a person types the questions and reads the answers."""
        return sys.stdin.isatty() and sys.stdout.isatty()
