"""What can be typed in the chat besides questions: each command with its line in /help, and what it changes."""

import difflib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import cleandoc
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ragscience.cli import source_views
from ragscience.cli.answer_view import answer_footer, answer_view
from ragscience.cli.history_commands import list_conversations
from ragscience.cli.output import console, facts, flat, hand_over, local_time, put
from ragscience.cli.running import say
from ragscience.cli.screen import Screen
from ragscience.core.errors import UsageError
from ragscience.core.records import Answer, Filters
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.library_engine import Engine
from ragscience.engine.places import cited_by
from ragscience.engine.printable import one_line, plain, shortened
from ragscience.engine.requests import NO_LLM, AskRequest
from ragscience.engine.saved_answers import KeptAnswer, as_markdown

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


def last_turns_view(turns: Sequence[KeptAnswer], out: Console) -> None:
    """The last TURNS questions with their days, and how each answer begins."""
    for kept in turns[-TURNS:]:
        put(out, f"{local_time(kept.created_at)[:10]}  {flat(kept.answer.question)}", style="bold")
        said = [line for line in plain(kept.answer.text).replace("**", "").splitlines() if line.strip()]
        first = [line for line in said if not line.startswith(NOT_SAID)]
        put(out, shortened(" ".join(first or said), 2 * (out.width - 6)), "  ", style="dim")


MARKDOWN = (".md", ".markdown", ".txt")
QUOTES = (NO_LLM, "quotes")
Act = Callable[[ChatState, str], None]


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command with its line in /help, and what /help NAME adds to it."""

    name: str
    takes: str
    """What is typed after it; [] around what may be left out."""
    does: str
    more: str
    group: str
    act: Act

    @property
    def usage(self) -> str:
        """`/show [N]`."""
        return f"{self.name} {self.takes}".rstrip()


COMMANDS: dict[str, ChatCommand] = {}
"""By name, in the order of /help."""
_LAST, _HOW, _TALK, _REST = "The last answer", "Questions and search", "Conversations", "Other"


def _command(usage: str, group: str) -> Callable[[Act], Act]:
    def added(act: Act) -> Act:
        name, _, takes = usage.partition(" ")
        does, _, more = cleandoc(act.__doc__ or "").partition("\n")
        COMMANDS[name] = ChatCommand(name, takes, does[0].lower() + does[1:-1], more.strip(), group, act)
        return act

    return added


def command_named(name: str) -> ChatCommand:
    """Raises UsageError, which suggests the nearest name."""
    if name in COMMANDS:
        return COMMANDS[name]
    begun = [known for known in COMMANDS if len(name) > 2 and known.startswith(name)]
    near = begun or difflib.get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near[:3])}?" if near else "/help lists the commands."
    raise UsageError(f"There is no command {name}.", hint)


@_command("/more", _LAST)
def _more(state: ChatState, _: str) -> None:
    """Show every quote of it."""
    answer, out, cite = state.last_answer(), console(), state.screen.cite
    answer = cited_by(answer, cite) if cite else answer
    answer_view(answer, out, every=True, cite=cite)
    answer_footer(answer, out, every=True)


@_command("/sources", _LAST)
def _sources(state: ChatState, _: str) -> None:
    """List its sources."""
    source_views.sources_view(state.last_answer(), console())


@_command("/show [N]", _LAST)
def _show(state: ChatState, number: str) -> None:
    """Source N with the text around it.

    Without N: source 1.
    """
    answer = state.last_answer()
    source_views.surroundings_view(state.engine.papers.surroundings(answer, _number(number, "/show")), console())


@_command("/open [N]", _LAST)
def _open(state: ChatState, number: str) -> None:
    """Open source N in a PDF viewer, at its page.

    RAG_PDF_VIEWER sets the viewer.
    """
    source_views.open_source(state.engine, state.last_answer(), _number(number, "/open"))


def _number(text: str, command: str) -> int:
    try:
        return int(text or "1")
    except ValueError:
        raise UsageError(f"{text!r} is not a source number.", f"For example: {command} 1") from None


@_command("/why", _LAST)
def _why(state: ChatState, _: str) -> None:
    """How the answer was made.

    `query.py audit last` also shows the scores.
    """
    source_views.why_view(state.last_answer(), console())


@_command("/paper [NAME …]", _HOW)
def _paper(state: ChatState, patterns: str) -> None:
    """Ask only these papers; without a name: all papers.

    Give part of a file name or title, or a pattern with *: /paper bert lora
    """
    try:
        papers = tuple(shlex.split(patterns))
    except ValueError:
        raise UsageError(f"A quote in {patterns!r} is not closed.", 'For example: /paper "my paper.pdf"') from None
    state.filter_by(replace(state.request.filters, papers=papers))
    say(f"Asking only: {', '.join(papers)}" if papers else "Asking all papers.")


@_command("/focus [PAPER|none]", _HOW)
def _focus(state: ChatState, name: str) -> None:
    """Show, or choose, the paper that the next question is about.

    A question that names a paper moves the focus; “it” and “that paper” mean the paper in focus.
    """
    if name.lower() in ("none", "off"):
        state.dialogue.focus = ()
    elif name:
        state.dialogue.focus = tuple(paper.file for paper in state.engine.papers.find([name]))
    files = state.dialogue.in_focus(state.engine.library)
    say(f"In focus: {', '.join(files)}" if files else "No paper is in focus.")


@_command("/model [NAME]", _HOW)
def _model(state: ChatState, name: str) -> None:
    """Choose the language model; quotes: answer without one.

    Without a name it lists Ollama's models.
    """
    names, why = state.engine.models.chat_models(state.engine.settings)
    if name in QUOTES:
        state.request = replace(state.request, llm=NO_LLM)
        say("Answers are quotes, without a language model.")
    elif name:
        full = next((each for each in names if each in (name, f"{name}:latest")), None)
        if full is None and names:
            raise UsageError(f"Ollama has no {name}.", f"It has {', '.join(names)}. Or type /model quotes.")
        if full is None:
            raise UsageError(f"{name} cannot be used: {why}.", "Answers are quotes until Ollama runs.")
        state.request = replace(state.request, llm=full)
        say(f"{full} now writes the answers of this chat.")
    else:
        now = state.engine.models.chat_model(state.engine.settings, state.request)
        for each in (*names, NO_LLM):
            shown = f"{each} (quotes)" if each == NO_LLM else one_line(each)
            put(console(), f"{'*' if each == now else ' '} {shown}")
        if not names:
            say(f"No language model: {why}.")


@_command("/profile [NAME]", _HOW)
def _profile(state: ChatState, name: str) -> None:
    """Choose how passages are searched.

    Without a name it lists the profiles.
    """
    profiles = {profile.name: profile.about for profile in state.engine.profiles()}
    if name and name not in profiles:
        raise UsageError(f"There is no profile {name!r}.", f"Profiles: {', '.join(profiles)}.")
    if name:
        state.request = replace(state.request, profile=name)
        say(f"Profile {name}: {profiles[name]}")
        return
    now = state.request.profile or state.engine.settings.profile
    facts(((f"{'*' if each == now else ' '} {each}", about) for each, about in profiles.items()), console())


@_command("/agent [on|off]", _HOW)
def _agent(state: ChatState, wanted: str) -> None:
    """Answer in several steps.

    The agent splits the question, searches for each part, and checks its own draft.
    """
    if wanted not in ("", "on", "off"):
        raise UsageError(f"{wanted!r} is neither on nor off.", "Type /agent on or /agent off.")
    if wanted:
        state.request = replace(state.request, agent=wanted == "on")
    on = state.request.agent
    say("The agent is on: it answers in several steps." if on else "The agent is off: one search per answer.")


@_command("/chat [NAME]", _TALK)
def _chat(state: ChatState, name: str) -> None:
    """List the conversations, or continue one.

    Give a name or a number from the list; a new name starts a new conversation.
    """
    if not name:
        list_conversations(state.engine, limit=None, as_json=False)
        return
    state.dialogue = state.engine.dialogue(name=name)
    say(state.dialogue.summary or "A new conversation.")
    last_turns_view(state.dialogue.turns, console())


@_command("/history", _TALK)
def _history(state: ChatState, _: str) -> None:
    """List the questions so far.

    `query.py history search` searches all.
    """
    for number, answer in enumerate(state.dialogue.answers, start=1):
        put(console(), one_line(answer.question), f"{number:3}  ")


@_command("/rename NAME", _TALK)
def _rename(state: ChatState, name: str) -> None:
    """Give this conversation a name.

    `query.py chat --chat NAME` continues it later.
    """
    if not name:
        raise UsageError("Give a name.", "For example: /rename thesis")
    say(f"This conversation is now called {state.dialogue.rename(name)}.")


@_command("/clear", _TALK)
def _clear(state: ChatState, _: str) -> None:
    """Start a new conversation.

    The current one is still saved.
    """
    state.dialogue.start_new()
    say("A new conversation.")


@_command("/save FILE", _TALK)
def _save(state: ChatState, name: str) -> None:
    """Write this conversation as Markdown.

    It replaces no file.
    """
    if not name:
        raise UsageError("Give a file name: /save notes.md", "The conversation is written as Markdown.")
    state.last_answer()
    path = Path(name).expanduser()
    path = path if path.suffix else path.with_suffix(".md")
    if path.suffix.lower() not in MARKDOWN and not path.is_dir():
        raise UsageError(f"/save writes Markdown, not {path.suffix}.", f"Type /save {path.stem}.md")
    if path.is_file():
        raise UsageError(f"{path} already exists.", "Give another name.")
    title = state.dialogue.name or state.dialogue.answers[0].question
    hand_over(as_markdown(title, state.dialogue.turns, cite=state.screen.cite), path)


@_command("/help [COMMAND]", _REST)
def _help(_: ChatState, name: str) -> None:
    """Show this list, or explain one command."""
    out = console()
    if name:
        command = command_named(f"/{name.removeprefix('/')}")
        facts([(command.usage, f"{command.does[0].upper()}{command.does[1:]}. {command.more}".strip())], out)
        return
    width = max(len(command.usage) for command in COMMANDS.values())
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        put(out, f"{group}", style="bold")
        facts(((f"{one.usage:{width}}", one.does) for one in COMMANDS.values() if one.group == group), out)
    keys = "Alt-Enter, or \\ at the end of a line, starts a new line. Ctrl-R searches earlier questions."
    out.print(Text(keys, "dim"))


@_command("/quit", _REST)
def _quit(state: ChatState, _: str) -> None:
    """Leave the chat; exit, q and Ctrl-D do the same."""
