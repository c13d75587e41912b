"""One conversation on a terminal: what commands of the chat change, and its last turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from ragscience.cli.output import flat, put
from ragscience.cli.screen import Screen
from ragscience.core.errors import UsageError
from ragscience.core.records import Answer, Filters
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import plain, shortened
from ragscience.engine.requests import AskRequest
from ragscience.engine.saved_answers import KeptAnswer

TURNS = 3


NOT_SAID = ("Found in ", "|---")
"""How lines of an answer begin that say nothing of what it found."""


@dataclass(slots=True)
class ChatState:
    """One conversation on a terminal or through pipes; commands change it."""

    engine: Engine
    request: AskRequest
    """How the next question is asked; its text is empty."""
    dialogue: Dialogue
    screen: Screen
    read: Callable[[str], str] | None = None
    """Reads a line after a prompt; None where nobody can be asked."""

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


def last_turns_view(turns: Sequence[KeptAnswer], out: Console) -> None:
    """The last TURNS questions with their days, and how each answer begins."""
    for kept in turns[-TURNS:]:
        put(out, f"{plain(kept.created_at).partition('T')[0]}  {flat(kept.answer.question)}", style="bold")
        said = [line for line in plain(kept.answer.text).replace("**", "").splitlines() if line.strip()]
        first = [line for line in said if not line.startswith(NOT_SAID)]
        put(out, shortened(" ".join(first or said), 2 * (out.width - 6)), "  ", style="dim")
