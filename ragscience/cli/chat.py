"""The chat: a line in, an answer out, with the questions before it in mind and on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from ragscience.cli.ask_command import ask_once
from ragscience.cli.output import console, flat, put
from ragscience.cli.running import say, say_error
from ragscience.cli.screen import Screen
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Answer, Filters
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import counted, plain, shortened
from ragscience.engine.requests import AskRequest
from ragscience.engine.saved_answers import KeptAnswer

__all__ = ["Chat", "ChatState", "last_turns_view"]

LEAVING = ("exit", "quit", "q", "/quit", "/exit", "/q")
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


class Chat:
    """One conversation on a terminal or through pipes, each question asked as `request` says."""

    def __init__(self, engine: Engine, request: AskRequest, dialogue: Dialogue, screen: Screen) -> None:
        self._state = ChatState(engine, request, dialogue, screen)

    def run(self) -> int:
        """Read and answer until the end of input; an exit code."""
        state, read = self._state, self._reader()
        papers = state.engine.library.about.papers
        first = f"{counted(papers, 'paper')}. Type a question, or /help."
        empty = "The library has no papers yet: put PDFs into papers/, leave the chat, and run `python ingest.py`."
        state.screen.warn_all([*state.dialogue.warnings, first if papers else empty, state.dialogue.summary])
        if sys.stdin.isatty() and sys.stdout.isatty():
            last_turns_view(state.dialogue.turns, console())
        while True:
            STATUS.hide()
            try:
                line = " ".join(read().split())
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if line.lower() in LEAVING:
                return 0
            if line:
                self._one(line)

    def _one(self, line: str) -> None:
        from ragscience.cli.chat_commands import command_named

        state = self._state
        try:
            if line.startswith("/"):
                name, _, argument = line.partition(" ")
                command_named(name).act(state, argument.strip())
            else:
                request = replace(state.request, question=line)
                ask_once(state.engine, request, dialogue=state.dialogue, screen=state.screen)
        except KeyboardInterrupt:
            STATUS.hide()
            if state.screen.streamed:
                console().print()
            say("stopped; ask again, or press Ctrl-D to leave.")
        except RagScienceError as error:
            say_error(error)

    def _reader(self) -> Callable[[], str]:
        if not sys.stdin.isatty():
            return _read_pipe
        from ragscience.cli.chat_commands import COMMANDS
        from ragscience.cli.chat_prompt import ChatPrompt

        prompt = ChatPrompt(self._state, COMMANDS)
        self._state.read = prompt.ask
        return prompt.read


def _read_pipe() -> str:
    raw = sys.stdin.buffer.readline()
    if not raw:
        raise EOFError
    return raw.decode("utf-8", "surrogateescape")


def last_turns_view(turns: Sequence[KeptAnswer], out: Console) -> None:
    """The last TURNS questions with their days, and how each answer begins."""
    for kept in turns[-TURNS:]:
        put(out, f"{plain(kept.created_at).partition('T')[0]}  {flat(kept.answer.question)}", style="bold")
        said = [line for line in plain(kept.answer.text).replace("**", "").splitlines() if line.strip()]
        first = [line for line in said if not line.startswith(NOT_SAID)]
        put(out, shortened(" ".join(first or said), 2 * (out.width - 6)), "  ", style="dim")
