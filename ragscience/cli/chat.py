"""The chat: a line in, an answer out, with the questions before it in mind and on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from ragscience.cli.ask_command import ask_once
from ragscience.cli.chat_commands import COMMANDS, ChatState, command_named, last_turns_view
from ragscience.cli.output import console
from ragscience.cli.running import say, say_error
from ragscience.cli.screen import Screen
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import RagScienceError
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import counted
from ragscience.engine.requests import AskRequest

LEAVING = ("exit", "quit", "q", "/quit", "/exit", "/q")


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
        from ragscience.cli.chat_prompt import ChatPrompt

        prompt = ChatPrompt(self._state, COMMANDS)
        self._state.read = prompt.ask
        return prompt.read


def _read_pipe() -> str:
    raw = sys.stdin.buffer.readline()
    if not raw:
        raise EOFError
    return raw.decode("utf-8", "surrogateescape")
