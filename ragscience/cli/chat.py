"""The chat: a line in, an answer out, with the questions before it in mind and on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from ragscience.cli.ask_command import ask_once
from ragscience.cli.chat_commands import COMMANDS, command_named
from ragscience.cli.chat_state import ChatState
from ragscience.cli.cli import say, say_error
from ragscience.cli.last_turns import last_turns_view
from ragscience.cli.screen import Screen, console
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import RagScienceError
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import counted
from ragscience.engine.requests import AskRequest

__all__ = ["Chat"]

LEAVING = ("exit", "quit", "q", "/quit", "/exit", "/q")


class Chat:
    """One conversation on a terminal or through pipes, each question asked as `request` says."""

    def __init__(
        self, engine: Engine, request: AskRequest, dialogue: Dialogue, screen: Screen, *, debug: bool = False
    ) -> None:
        self._state = ChatState(engine, request, dialogue, screen, debug)

    def run(self) -> int:
        """Read and answer until the end of input; an exit code."""
        state, read = self._state, self._reader()
        papers = state.engine.library.about.papers
        first = f"{counted(papers, 'paper')}. Type a question, or /help."
        state.screen.warn_all([*state.dialogue.warnings, first, state.dialogue.summary])
        if state.is_watched:
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
        try:
            if line.startswith("/"):
                name, _, argument = line.partition(" ")
                command_named(name).act(self._state, argument.strip())
                return
            state = self._state
            ask_once(state.engine, replace(state.request, question=line), dialogue=state.dialogue, screen=state.screen)
        except KeyboardInterrupt:
            STATUS.hide()
            if self._state.screen.streamed:
                console().print()
            say("stopped; ask again, or press Ctrl-D to leave.")
        except RagScienceError as error:
            say_error(error)

    def _reader(self) -> Callable[[], str]:
        if not sys.stdin.isatty():
            return _read_pipe
        from ragscience.cli.chat_prompt import ChatPrompt

        prompt = ChatPrompt(self._state, COMMANDS)
        self._state.read = prompt.ask
        return prompt.read


def _read_pipe() -> str:
    raw = sys.stdin.buffer.readline()
    if not raw:
        raise EOFError
    return raw.decode("utf-8", "surrogateescape")
