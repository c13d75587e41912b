"""The chat: a line in, an answer out, with the questions before it in mind and on disk."""

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style
from rich.cells import cell_len, set_cell_size

from ragscience.cli.ask_command import ask_once
from ragscience.cli.chat_commands import COMMANDS, ChatCommand, ChatState, command_named, last_turns_view
from ragscience.cli.output import console
from ragscience.cli.running import say, say_error
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import RagScienceError
from ragscience.core.paper_records import place_label
from ragscience.core.records import title_of
from ragscience.engine.places import sources_given
from ragscience.engine.printable import counted, one_line
from ragscience.engine.requests import NO_LLM, described

LEAVING = ("exit", "quit", "q", "/quit", "/exit", "/q")


def run_chat(state: ChatState) -> int:
    """Read and answer until the end of input, on a terminal or through pipes; an exit code."""
    read: Callable[[], str] = _prompt(state, COMMANDS).prompt if sys.stdin.isatty() else _read_pipe
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
            _one(state, line)


def _one(state: ChatState, line: str) -> None:
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


def _read_pipe() -> str:
    raw = sys.stdin.buffer.readline()
    if not raw:
        raise EOFError
    return raw.decode("utf-8", "surrogateescape")


# The prompt: completion, earlier questions, several lines, and a status line below

EARLIER = 1000
"""Questions that the up-arrow goes back to."""
_DIM = "noreverse dim"
Named = Iterable[tuple[str, str]]
"""What can be typed, and what it is."""


def _prompt(state: ChatState, commands: Mapping[str, ChatCommand]) -> PromptSession[str]:
    """Reads questions and commands from a person, with line breaks if they have any."""
    session: PromptSession[str] = PromptSession(
        "> ",
        history=_Earlier(state),
        completer=_ChatCompleter(state, commands),
        complete_while_typing=False,
        key_bindings=_keys(),
        bottom_toolbar=lambda: status_line(state, session.app.output.get_size().columns),
        style=Style.from_dict({"bottom-toolbar": _DIM, "bottom-toolbar.text": _DIM}),
        prompt_continuation="  ",
    )
    return session


def status_line(state: ChatState, width: int) -> str:
    """How many papers, the filter, the model, the profile and the conversation's name, in at most `width` columns.

    The model is the one that was chosen, else the one that gave the last answer.
    """
    request, turns = state.request, state.dialogue.turns
    model = request.llm or (turns[-1].answer.models.get("llm") or NO_LLM if turns else "")
    parts = [
        counted(state.engine.library.about.papers, "paper"),
        described(request.filters),
        "quotes" if model == NO_LLM else one_line(model),
        "agent" if request.agent else "",
        f"profile {request.profile or state.engine.settings.profile}",
        one_line(state.dialogue.name),
    ]
    line = " · ".join(part for part in parts if part)
    return line if cell_len(line) < width else set_cell_size(line, max(width - 2, 0)).rstrip() + "…"


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
    """Commands, and what may follow each."""

    def __init__(self, state: ChatState, commands: Mapping[str, ChatCommand]) -> None:
        self._state, settings = state, state.engine.settings
        self._given: dict[str, Callable[[], Named]] = {
            "": lambda: ((name, each.does) for name, each in commands.items()),
            "/help": lambda: ((name.removeprefix("/"), each.does) for name, each in commands.items()),
            "/paper": self._papers,
            "/show": self._sources,
            "/open": self._sources,
            "/chat": self._conversations,
            "/model": lambda: ((name, "") for name in (*state.engine.models.chat_models(settings)[0], "quotes")),
            "/profile": lambda: ((each.name, each.about) for each in state.engine.profiles()),
            "/agent": lambda: (("on", ""), ("off", "")),
        }

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Whatever begins with what is typed, else what has it inside, also in what is said of it."""
        name, blank, typed = document.text_before_cursor.partition(" ")
        if not name.startswith("/"):
            return
        if blank and name == "/save":
            yield from PathCompleter(expanduser=True).get_completions(Document(typed), complete_event)
            return
        typed = typed.rpartition(" ")[2] if name == "/paper" else typed if blank else name
        try:
            every = list(self._given.get(name if blank else "", tuple)())
        except RagScienceError:
            return
        wanted = typed.casefold()
        begun = [each for each in every if each[0].casefold().startswith(wanted)]
        inside = [each for each in every if blank and wanted in f"{each[0]} {each[1]}".casefold()]
        for word, about in begun or inside:
            yield Completion(word, start_position=-len(typed), display_meta=about)

    def _papers(self) -> Named:
        for paper in self._state.engine.papers.list():
            yield shlex.quote(paper.file) if " " in paper.file else paper.file, one_line(title_of(paper))

    def _sources(self) -> Named:
        for source in sources_given(self._state.last_answer()) if self._state.dialogue.turns else ():
            yield str(source.number), f"{one_line(source.file)}, {place_label(source.file, source.page)}"

    def _conversations(self) -> Named:
        for each in self._state.engine.history.conversations():
            yield each.name or str(each.conversation_id), one_line(each.title)


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
