"""The chat: a line in, an answer out, with the questions before it in mind and on disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ragscience.engine.dialogue import Dialogue
from ragscience.engine.filter_words import described, refiltered
from ragscience.engine.library_engine import Engine
from ragscience.engine.markdown_export import as_markdown, write_out
from ragscience.engine.printable import counted, plain
from ragscience.engine.requests import AskRequest, SearchRequest
from ragscience.errors import RagScienceError, UsageError
from ragscience.records import Answer, Filters
from ragscience.terminal.ask_command import ask_once
from ragscience.terminal.cli import say
from ragscience.terminal.explaining import source_number, surroundings_view, why_view
from ragscience.terminal.history_views import SHOWN, found_view
from ragscience.terminal.open_command import cited_text, open_source
from ragscience.terminal.screen import Screen, console, hand_over
from ragscience.terminal.status_line import STATUS
from ragscience.terminal.views import hits_view

__all__ = ["Chat"]

PROMPT = "> "


class Chat:
    """One conversation on a terminal or through pipes, each question asked as `request` says."""

    def __init__(self, engine: Engine, request: AskRequest, dialogue: Dialogue, screen: Screen) -> None:
        self._engine = engine
        self._request = request
        self._dialogue = dialogue
        self._screen = screen
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
        read = self._reader()
        papers = self._engine.library.paper_count
        first = f"{counted(papers, 'paper')}. Type a question, or /help."
        self._screen.warn_all([*self._dialogue.warnings, first, self._dialogue.summary])
        while True:
            STATUS.hide()
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
            request = replace(self._request, question=line)
            ask_once(self._engine, request, dialogue=self._dialogue, screen=self._screen)
        except KeyboardInterrupt:
            STATUS.hide()
            if self._screen.streamed:
                console().print()
            say("stopped; the chat goes on (Ctrl-D leaves).")
        except RagScienceError as error:
            say(f"error: {error}")

    @property
    def _answers(self) -> list[Answer]:
        return self._dialogue.answers

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
            surroundings_view(self._engine.surroundings(answer, wanted), console())

    def _open(self, number: str) -> None:
        if (answer := self._last()) is not None:
            wanted = source_number(number, command="/open")
            open_source(self._engine, answer, wanted)

    def _why(self, _: str) -> None:
        if (answer := self._last()) is not None:
            why_view(answer, console())

    def _last(self) -> Answer | None:
        if not self._answers:
            say("There is no answer yet.")
            return None
        return self._answers[-1]

    def _search(self, question: str) -> None:
        request = SearchRequest(question, self._request.filters, top_k=self._request.top_k)
        hits_view(self._engine.search(request, on_event=self._screen), console())

    def _paper(self, patterns: str) -> None:
        papers = tuple(patterns.split())
        self._keep_to(replace(self._request.filters, papers=papers))
        say(f"Asking only: {', '.join(papers)}" if papers else "Asking all papers.")

    def _filter(self, typed: str) -> None:
        wanted = refiltered(self._request.filters, typed)
        self._keep_to(wanted)
        say(f"Filter: {described(wanted)}" if wanted != Filters() else "No filters.")

    def _keep_to(self, filters: Filters) -> None:
        if filters.papers != self._request.filters.papers:
            self._engine.library.select(Filters(papers=filters.papers))
        self._request = replace(self._request, filters=filters)

    def _switch_agent(self, wanted: str) -> None:
        if wanted not in ("", "on", "off"):
            raise UsageError(f"The agent cannot be {wanted!r}.", "Type /agent on or /agent off.")
        if wanted:
            self._request = replace(self._request, agent=wanted == "on")
        say("The agent answers." if self._request.agent else "The agent is off: one search an answer.")

    def _history(self, text: str) -> None:
        if not text:
            for number, answer in enumerate(self._answers, start=1):
                console().print(f"{number:3}  {' '.join(plain(answer.question).split())}")
            if not self._answers:
                say("Nothing was asked yet; /history TEXT searches earlier conversations.")
            return
        found = self._engine.history.search(text, SHOWN)
        if not found:
            say(f"No question or answer has {text!r}.")
        found_view(found, console())

    def _clear(self, _: str) -> None:
        self._dialogue.start_new()
        say("A new conversation.")

    def _save(self, name: str) -> None:
        if not name:
            say("Say where: /save notes.md")
            return
        if not self._answers:
            say("There is no answer yet.")
            return
        write_out(Path(name), as_markdown(self._answers[0].question, self._dialogue.turns))
        say(f"{len(self._answers)} answers written to {name}.")

    def _bib(self, name: str) -> None:
        if not self._answers:
            say("There is no answer yet.")
            return
        text = cited_text(self._engine, self._answers, csl=name.endswith(".json"))
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
