"""The chat: a line in, an answer out, with the questions before it in mind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ragscience.errors import RagScienceError
from ragscience.records import Answer, Filters, Turn
from ragscience.terminal.asking import ask_once, console
from ragscience.terminal.door import say
from ragscience.terminal.plain import plain
from ragscience.terminal.questions import check_question
from ragscience.terminal.session import Session
from ragscience.terminal.views import hits_view

__all__ = ["Chat"]

PROMPT = "> "


class Chat:
    """One conversation."""

    def __init__(self, session: Session, *, papers: tuple[str, ...]) -> None:
        self._session = session
        self._papers = papers
        self._answers: list[Answer] = []
        self._commands: dict[str, tuple[str, Callable[[str], None]]] = {
            "/help": ("show this list", self._help),
            "/sources": ("show the passages behind the last answer", self._sources),
            "/search": ("QUESTION: show ranked passages, no answer", self._search),
            "/paper": ("PATTERN …: ask only these papers; alone: all of them", self._paper),
            "/clear": ("forget the conversation so far", self._clear),
            "/save": ("FILE: write the conversation as Markdown", self._save),
            "/quit": ("leave (or Ctrl-D)", lambda _: None),
        }

    def run(self) -> int:
        """Read and answer until the end of input; an exit code."""
        read = self._reader()
        session = self._session
        session.notice(f"{session.library.paper_count} papers. Type a question, or /help.")
        while True:
            try:
                line = read().strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return 0
            if line.partition(" ")[0] == "/quit":
                return 0
            if line:
                self._one(line)

    def _one(self, line: str) -> None:
        try:
            if line.startswith("/"):
                name, _, argument = line.partition(" ")
                if name not in self._commands:
                    say(f"There is no {name}; /help lists what there is.")
                    return
                self._commands[name][1](argument.strip())
                return
            question = check_question(line, self._session.settings.max_question_chars)
            history = tuple(Turn(answer.question, answer.text) for answer in self._answers)
            self._answers.append(ask_once(self._session, question, history=history, filters=self._filters()))
        except KeyboardInterrupt:
            say("\nstopped; the chat goes on (Ctrl-D leaves).")
        except RagScienceError as error:
            say(f"error: {error}")

    def _filters(self) -> Filters:
        return Filters(papers=self._papers)

    def _help(self, _: str) -> None:
        out = console()
        for name, (text, _command) in self._commands.items():
            out.print(f"{name:10}{text}")

    def _sources(self, _: str) -> None:
        if not self._answers:
            say("There is no answer yet.")
            return
        hits_view(self._answers[-1].found, console(), whole=True)

    def _search(self, question: str) -> None:
        checked = check_question(question, self._session.settings.max_question_chars)
        hits_view(self._session.search(checked, self._filters()), console())

    def _paper(self, patterns: str) -> None:
        papers = tuple(patterns.split())
        self._session.library.select(Filters(papers=papers))
        self._papers = papers
        say(f"Asking only: {', '.join(papers)}" if papers else "Asking all papers.")

    def _clear(self, _: str) -> None:
        self._answers.clear()
        say("Forgotten.")

    def _save(self, name: str) -> None:
        if not name:
            say("Say where: /save notes.md")
            return
        text = "\n\n".join(f"## {plain(item.question)}\n\n{plain(item.text)}" for item in self._answers)
        try:
            Path(name).expanduser().write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            say(f"{name} cannot be written: {error.strerror}.")
            return
        say(f"{len(self._answers)} answers written to {name}.")

    def _reader(self) -> Callable[[], str]:
        if not sys.stdin.isatty():
            return _read_pipe
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import InMemoryHistory

        prompt: PromptSession[str] = PromptSession(
            history=InMemoryHistory(), completer=WordCompleter(list(self._commands), sentence=True)
        )
        return lambda: prompt.prompt(PROMPT)


def _read_pipe() -> str:
    raw = sys.stdin.buffer.readline()
    if not raw:
        raise EOFError
    return raw.decode("utf-8", "surrogateescape")
