"""The chat: a line in, an answer out, with the questions before it in mind and on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ragscience.errors import RagScienceError, UsageError
from ragscience.history import History
from ragscience.records import Answer, Filters
from ragscience.terminal.ask_command import ask_once, console
from ragscience.terminal.bib_view import cited_text
from ragscience.terminal.cli import say
from ragscience.terminal.explaining import source_number, surroundings_view, why_view
from ragscience.terminal.filtering import described, refiltered
from ragscience.terminal.history_views import SHOWN, found_view
from ragscience.terminal.keeping import Talk
from ragscience.terminal.markdown_export import as_markdown, hand_over, write_out
from ragscience.terminal.open_command import open_source
from ragscience.terminal.plain import counted, plain
from ragscience.terminal.question_lines import check_question
from ragscience.terminal.session import Session
from ragscience.terminal.telling import get_ready, told_search
from ragscience.terminal.views import hits_view

__all__ = ["Chat"]

PROMPT = "> "


class Chat:
    """One conversation on a terminal or through pipes: new, the last (`go_on`), or the one called `name`."""

    def __init__(
        self, session: Session, *, filters: Filters, name: str | None, go_on: bool, agent: bool = False
    ) -> None:
        self._session = session
        self._agent = agent
        self._filters = filters
        self._talk = Talk(session, name=name, go_on=go_on)
        self._commands: dict[str, tuple[str, Callable[[str], None]]] = {
            "/help": ("show this list", self._help),
            "/sources": ("show the passages behind the last answer", self._sources),
            "/show": ("N: show source N of the last answer among the words around it", self._show),
            "/open": ("N: open source N of the last answer in a PDF viewer", self._open),
            "/why": ("how the last answer came about", self._why),
            "/search": ("QUESTION: show ranked passages, no answer", self._search),
            "/paper": ("PATTERN …: ask only these papers; alone: all of them", self._paper),
            "/filter": ("section=… kind=… year=… author=…: keep to these; off: to nothing; alone: show", self._filter),
            "/agent": ("on or off: answer in several steps, with a second look; alone: show", self._switch_agent),
            "/history": ("the questions so far; TEXT: search all conversations", self._history),
            "/clear": ("begin a new conversation", self._clear),
            "/save": ("FILE: write the conversation as Markdown", self._save),
            "/bib": ("the papers cited so far, as BibTeX; FILE: write it there (.json: as CSL-JSON)", self._bib),
            "/quit": ("leave (or Ctrl-D)", lambda _: None),
        }

    def run(self) -> int:
        """Read and answer until the end of input; an exit code."""
        get_ready(self._session)
        read = self._reader()
        session = self._session
        session.notice(f"{counted(session.library.paper_count, 'paper')}. Type a question, or /help.")
        if self._talk.said:
            session.notice(self._talk.said)
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
            ask_once(
                self._session,
                question,
                talk=self._talk,
                history=self._talk.turns(),
                filters=self._filters,
                agent=self._agent,
            )
        except KeyboardInterrupt:
            say("\nstopped; the chat goes on (Ctrl-D leaves).")
        except RagScienceError as error:
            say(f"error: {error}")

    @property
    def _answers(self) -> list[Answer]:
        return self._talk.answers

    def _help(self, _: str) -> None:
        out = console()
        for name, (text, _command) in self._commands.items():
            out.print(f"{name:10}{text}")

    def _sources(self, _: str) -> None:
        if not self._answers:
            say("There is no answer yet.")
            return
        hits_view(self._answers[-1].found, console(), whole=True)

    def _show(self, number: str) -> None:
        if (answer := self._last()) is not None:
            wanted = source_number(number, command="/show")
            surroundings_view(answer, wanted, self._session.library, console())

    def _open(self, number: str) -> None:
        if (answer := self._last()) is not None:
            wanted = source_number(number, command="/open")
            open_source(answer, wanted, viewer=self._session.settings.pdf_viewer)

    def _why(self, _: str) -> None:
        if (answer := self._last()) is not None:
            why_view(answer, console())

    def _last(self) -> Answer | None:
        if not self._answers:
            say("There is no answer yet.")
            return None
        return self._answers[-1]

    def _search(self, question: str) -> None:
        checked = check_question(question, self._session.settings.max_question_chars)
        hits_view(told_search(self._session, checked, self._filters), console())

    def _paper(self, patterns: str) -> None:
        papers = tuple(patterns.split())
        self._session.library.select(Filters(papers=papers))
        self._filters = replace(self._filters, papers=papers)
        say(f"Asking only: {', '.join(papers)}" if papers else "Asking all papers.")

    def _filter(self, typed: str) -> None:
        wanted = refiltered(self._filters, typed)
        if wanted.papers != self._filters.papers:
            self._session.library.select(Filters(papers=wanted.papers))
        self._filters = wanted
        say(f"Keeping to: {described(wanted)}" if wanted != Filters() else "No filters.")

    def _switch_agent(self, wanted: str) -> None:
        if wanted not in ("", "on", "off"):
            raise UsageError(f"The agent cannot be {wanted!r}.", "Type /agent on or /agent off.")
        self._agent = wanted == "on" if wanted else self._agent
        say("The agent answers." if self._agent else "The agent is off: one search an answer.")

    def _history(self, text: str) -> None:
        if not text:
            for number, answer in enumerate(self._answers, start=1):
                console().print(f"{number:3}  {' '.join(plain(answer.question).split())}")
            if not self._answers:
                say("Nothing was asked yet; /history TEXT searches earlier conversations.")
            return
        with History.open(self._session.home.history) as history:
            found = history.search(text, SHOWN)
        if not found:
            say(f"No question or answer has {text!r}.")
        found_view(found, console())

    def _clear(self, _: str) -> None:
        self._talk.start_new()
        say("A new conversation.")

    def _save(self, name: str) -> None:
        if not name:
            say("Say where: /save notes.md")
            return
        if not self._answers:
            say("There is no answer yet.")
            return
        write_out(Path(name), as_markdown(self._answers[0].question, self._talk.kept))
        say(f"{len(self._answers)} answers written to {name}.")

    def _bib(self, name: str) -> None:
        if not self._answers:
            say("There is no answer yet.")
            return
        text = cited_text(self._answers, self._session.home, csl=name.endswith(".json"))
        if text or name:
            hand_over(text, Path(name) if name else None)

    def _reader(self) -> Callable[[], str]:
        if not sys.stdin.isatty():
            return _read_pipe
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import InMemoryHistory

        earlier = InMemoryHistory([answer.question for answer in self._answers])
        prompt: PromptSession[str] = PromptSession(
            history=earlier, completer=WordCompleter(list(self._commands), sentence=True)
        )
        return lambda: prompt.prompt(PROMPT)


def _read_pipe() -> str:
    raw = sys.stdin.buffer.readline()
    if not raw:
        raise EOFError
    return raw.decode("utf-8", "surrogateescape")
