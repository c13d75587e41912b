"""The prompt of the chat: completion, earlier questions, several lines, and a status line below."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style
from rich.cells import cell_len, set_cell_size

from ragscience.core.errors import RagScienceError
from ragscience.core.records import title_of
from ragscience.engine.filter_words import described
from ragscience.engine.printable import counted, one_line
from ragscience.engine.requests import NO_LLM
from ragscience.engine.source_list import sources_given

if TYPE_CHECKING:
    from ragscience.cli.chat_commands import ChatCommand
    from ragscience.cli.chat_state import ChatState

__all__ = ["ChatPrompt", "redraw", "status_line"]

PROMPT = "> "
EARLIER = 1000
"""Questions that the up-arrow goes back to."""
_SEPARATOR = " · "


class ChatPrompt:
    """Reads questions and commands from a person."""

    def __init__(self, state: ChatState, commands: Mapping[str, ChatCommand]) -> None:
        self._state = state
        self._models = _KnownModel(state, self._redraw)
        self._session: PromptSession[str] = PromptSession(
            history=_Earlier(state),
            completer=_ChatCompleter(state, commands),
            complete_while_typing=False,
            key_bindings=_keys(),
            bottom_toolbar=self._toolbar,
            style=Style.from_dict({"bottom-toolbar": "noreverse dim", "bottom-toolbar.text": "noreverse dim"}),
            prompt_continuation="  ",
        )

    def read(self) -> str:
        """What is typed next, with line breaks if it has any. Raises EOFError, KeyboardInterrupt."""
        self._models.look()
        return self._session.prompt(PROMPT)

    def ask(self, question: str) -> str:
        """The reply to a question of ours, which is not kept. Raises EOFError, KeyboardInterrupt."""
        return PromptSession[str]().prompt(question)

    def _toolbar(self) -> str:
        width = self._session.app.output.get_size().columns
        return status_line(self._state, self._models.name, width)

    def _redraw(self) -> None:
        redraw(self._session.app)


def redraw(app: Application[str]) -> None:
    """Draw the prompt anew if it is shown; from any thread.

    `Application.invalidate` looks for the event loop several times, and fails where the prompt ends in between.
    """
    loop = app.loop
    if loop is not None:
        with suppress(RuntimeError):  # it was closed meanwhile
            loop.call_soon_threadsafe(app.invalidate)


def status_line(state: ChatState, model: str, width: int) -> str:
    """How many papers, the filter, the model, the profile and the conversation's name, in at most `width` columns."""
    request = state.request
    parts = [
        counted(state.engine.library.about.papers, "paper"),
        described(request.filters),
        "quotes" if model == NO_LLM else one_line(model),
        "agent" if request.agent else "",
        f"profile {request.profile or state.engine.settings.profile}",
        one_line(state.dialogue.name),
    ]
    line = _SEPARATOR.join(part for part in parts if part)
    return line if cell_len(line) < width else set_cell_size(line, max(width - 2, 0)).rstrip() + "…"


class _KnownModel:
    """The language model's name; the server is asked for it in the background, and nobody waits."""

    def __init__(self, state: ChatState, on_known: Callable[[], None]) -> None:
        self._state = state
        self._on_known = on_known
        self._looked_for: object = self
        self.name = ""
        """Empty while it is not known."""

    def look(self) -> None:
        """Find out, unless nothing has changed since the last time."""
        if self._looked_for != self._state.request.llm:
            self._looked_for = self._state.request.llm
            Thread(target=self._find, daemon=True).start()

    def _find(self) -> None:
        try:
            self.name = self._state.engine.shared.models.chat_model(self._state.engine.settings, self._state.request)
        except RagScienceError:
            self.name = "no language model"
        self._on_known()


class _Earlier(History):
    """The questions of all conversations, the newest last, and what is typed in this chat."""

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self._state = state

    def load_history_strings(self) -> Iterable[str]:
        """The newest first, each once; none where no history is kept or it cannot be read."""
        try:
            questions = self._state.engine.history.questions(EARLIER)
        except RagScienceError:
            questions = [turn.answer.question for turn in reversed(self._state.dialogue.turns)]
        return list(dict.fromkeys(questions))

    def store_string(self, string: str) -> None:
        """Nothing: an answered question is kept with its answer."""


class _ChatCompleter(Completer):
    """Commands, and what may stand behind each."""

    def __init__(self, state: ChatState, commands: Mapping[str, ChatCommand]) -> None:
        self._state = state
        self._commands = commands
        self._files = PathCompleter(expanduser=True)
        self._papers: list[tuple[str, str]] | None = None
        self._given: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
            "/paper": self._paper_names,
            "/summary": self._paper_names,
            "/show": self._sources,
            "/open": self._sources,
            "/chat": self._conversations,
            "/model": self._model_names,
            "/profile": lambda: ((each.name, each.about) for each in state.engine.profiles()),
            "/agent": lambda: (("on", ""), ("off", "")),
            "/help": lambda: ((name.removeprefix("/"), each.does) for name, each in commands.items()),
        }

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Whatever begins with what is typed; for papers and conversations also what has it inside."""
        text = document.text_before_cursor
        name, blank, argument = text.partition(" ")
        if not text.startswith("/"):
            return
        if not blank:
            for each in self._commands.values():
                if each.name.startswith(name):
                    yield Completion(each.name, start_position=-len(name), display_meta=each.does)
        elif name in ("/save", "/bib"):
            yield from self._files.get_completions(Document(argument), complete_event)
        elif name in self._given:
            typed = argument.rpartition(" ")[2] if name == "/paper" else argument
            yield from _fitting(self._given[name], typed)

    def _paper_names(self) -> list[tuple[str, str]]:
        if self._papers is None:
            self._papers = [
                (_quoted(paper.file), one_line(title_of(paper))) for paper in self._state.engine.papers.list()
            ]
        return self._papers

    def _sources(self) -> list[tuple[str, str]]:
        if not self._state.dialogue.turns:
            return []
        return [
            (str(source.number), f"{one_line(source.file)}, p.{source.page}")
            for source in sources_given(self._state.last_answer())
        ]

    def _conversations(self) -> list[tuple[str, str]]:
        return [
            (each.name or str(each.conversation_id), one_line(each.title))
            for each in self._state.engine.history.conversations()
        ]

    def _model_names(self) -> list[tuple[str, str]]:
        return [
            *((name, "") for name in self._state.engine.shared.models.chat_models(self._state.engine.settings)[0]),
            ("quotes", "no language model"),
        ]


def _fitting(given: Callable[[], Iterable[tuple[str, str]]], typed: str) -> Iterable[Completion]:
    try:
        every: Sequence[tuple[str, str]] = list(given())
    except RagScienceError:
        return
    wanted = typed.casefold()
    begun = [each for each in every if each[0].casefold().startswith(wanted)]
    for name, about in begun or [each for each in every if wanted in f"{each[0]} {each[1]}".casefold()]:
        yield Completion(name, start_position=-len(typed), display_meta=about)


def _quoted(file: str) -> str:
    return shlex.quote(file) if " " in file else file


def _keys() -> KeyBindings:
    """Enter sends, but for a line that ends with a backslash; Alt-Enter begins a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    return keys
