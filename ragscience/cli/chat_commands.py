"""What can be typed in the chat besides questions: a table of the commands, and what each does."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rich.text import Text

from ragscience.cli.ask_command import ask_once
from ragscience.cli.chat_state import ChatState
from ragscience.cli.cli import say
from ragscience.cli.clipboard import answer_text, copied
from ragscience.cli.explaining import source_number, surroundings_view
from ragscience.cli.history_views import SHOWN, found_view, list_conversations
from ragscience.cli.last_turns import last_turns_view
from ragscience.cli.open_command import cited_text, open_source
from ragscience.cli.screen import console, hand_over
from ragscience.cli.sources_view import sources_view
from ragscience.cli.two_columns import two_columns
from ragscience.cli.views import hits_view
from ragscience.cli.why_view import why_view
from ragscience.core.errors import UsageError
from ragscience.core.records import Filters
from ragscience.engine.filter_words import described, refiltered
from ragscience.engine.markdown_export import as_markdown
from ragscience.engine.printable import counted, one_line
from ragscience.engine.requests import NO_LLM, SearchRequest

__all__ = ["COMMANDS", "ChatCommand", "command_named"]

MARKDOWN = (".md", ".markdown", ".txt")
MOST_PASSAGES = 1000
QUOTES = (NO_LLM, "quotes")


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command with its line in /help, and what /help NAME adds to it."""

    name: str
    takes: str
    """What is typed behind it; [] around what may be left out."""
    does: str
    group: str
    more: str
    act: Callable[[ChatState, str], None]

    @property
    def usage(self) -> str:
        """`/show [N]`."""
        return f"{self.name} {self.takes}".rstrip()


def command_named(name: str) -> ChatCommand:
    """Raises UsageError, which suggests the nearest name."""
    if name in COMMANDS:
        return COMMANDS[name]
    begun = [known for known in COMMANDS if len(name) > 2 and known.startswith(name)]
    near = begun or difflib.get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near[:3])}?" if near else "/help lists the commands."
    raise UsageError(f"There is no command {name}.", hint)


# The last answer


def _sources(state: ChatState, _: str) -> None:
    sources_view(state.last_answer(), console())


def _show(state: ChatState, number: str) -> None:
    answer = state.last_answer()
    wanted = source_number(number, command="/show")
    surroundings_view(state.engine.papers.surroundings(answer, wanted), console())


def _open(state: ChatState, number: str) -> None:
    open_source(state.engine, state.last_answer(), source_number(number, command="/open"))


def _why(state: ChatState, how: str) -> None:
    if how not in ("", "--debug"):
        raise UsageError(f"{how!r} is not an option of /why.", "Type /why, or /why --debug for all scores.")
    why_view(state.last_answer(), console(), debug=state.debug or bool(how))


def _copy(state: ChatState, _: str) -> None:
    say(copied(answer_text(state.last_answer())))


# What is asked, and how


def _search(state: ChatState, question: str) -> None:
    if not question:
        raise UsageError("Nothing to search for.", "For example: /search learning rate")
    now = state.request
    request = SearchRequest(question, now.filters, top_k=now.top_k, profile=now.profile, llm=now.llm)
    hits_view(state.engine.search(request, on_event=state.screen), console())


def _summary(state: ChatState, paper: str) -> None:
    if not paper:
        raise UsageError("Name a paper: /summary NAME.", "Press Tab after /summary to see the names.")
    file = state.engine.papers.page(paper, 1).paper.file
    request = replace(state.request, question=f"Summarize {file}", agent=False, plain=False)
    ask_once(state.engine, request, dialogue=state.dialogue, screen=state.screen)


def _paper(state: ChatState, patterns: str) -> None:
    papers = tuple(_words(patterns))
    state.filter_by(replace(state.request.filters, papers=papers))
    say(f"Asking only: {', '.join(papers)}" if papers else "Asking all papers.")


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:
        raise UsageError(f"A quote in {typed!r} is not closed.", 'For example: /paper "my paper.pdf"') from None


def _filter(state: ChatState, typed: str) -> None:
    wanted = refiltered(state.request.filters, typed)
    state.filter_by(wanted)
    say(f"Filter: {described(wanted)}" if wanted != Filters() else "No filters.")


def _k(state: ChatState, number: str) -> None:
    if number:
        wanted = int(number) if number.isdecimal() else 0
        if not 1 <= wanted <= MOST_PASSAGES:
            raise UsageError(
                f"{number!r} is not a valid number of passages.",
                f"Give a number from 1 to {MOST_PASSAGES:,}, for example /k 8.",
            )
        state.request = replace(state.request, top_k=wanted)
    k = state.request.top_k
    say(
        f"Answers are now made from {counted(k, 'passage')}."
        if k
        else "The profile sets the number of passages; /k 8 sets it to 8."
    )


def _profile(state: ChatState, name: str) -> None:
    profiles = {profile.name: profile.about for profile in state.engine.profiles()}
    if name and name not in profiles:
        raise UsageError(f"There is no profile {name!r}.", f"Profiles: {', '.join(profiles)}.")
    if name:
        state.request = replace(state.request, profile=name)
        say(f"Profile {name}: {profiles[name]}")
        return
    now = state.request.profile or state.engine.settings.profile
    two_columns([(f"{'*' if each == now else ' '} {each}", about) for each, about in profiles.items()], console())


def _model(state: ChatState, name: str) -> None:
    names, why = state.engine.shared.models.chat_models(state.engine.settings)
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
        now = state.engine.shared.models.chat_model(state.engine.settings, state.request)
        for each in (*names, NO_LLM):
            said = f"{each} (quotes)" if each == NO_LLM else one_line(each)
            console().print(Text(f"{'*' if each == now else ' '} {said}"))
        if not names:
            say(f"No language model: {why}.")


def _agent(state: ChatState, wanted: str) -> None:
    if wanted not in ("", "on", "off"):
        raise UsageError(f"{wanted!r} is neither on nor off.", "Type /agent on or /agent off.")
    if wanted:
        state.request = replace(state.request, agent=wanted == "on")
    say(
        "The agent is on: it answers in several steps."
        if state.request.agent
        else "The agent is off: one search per answer."
    )


# Conversations


def _history(state: ChatState, text: str) -> None:
    if text:
        found = state.engine.history.search(text, SHOWN)
        if not found:
            say(f"No question or answer has {text!r}.")
        found_view(found, console())
        return
    for number, answer in enumerate(state.dialogue.answers, start=1):
        console().print(Text(f"{number:3}  {one_line(answer.question)}"))
    if not state.dialogue.turns:
        say("No questions yet in this conversation; /history TEXT searches earlier ones.")


def _chat(state: ChatState, name: str) -> None:
    if not name:
        list_conversations(state.engine, limit=None, as_json=False)
        return
    state.dialogue = state.engine.dialogue(name=name)
    say(state.dialogue.summary or "A new conversation.")
    last_turns_view(state.dialogue.turns, console())


def _rename(state: ChatState, name: str) -> None:
    if not name:
        raise UsageError("Give a name.", "For example: /rename thesis")
    say(f"This conversation is now called {state.dialogue.rename(name)}.")


def _clear(state: ChatState, _: str) -> None:
    state.dialogue.start_new()
    say("A new conversation.")


def _save(state: ChatState, name: str) -> None:
    if not name:
        raise UsageError("Give a file name: /save notes.md", "The conversation is written as Markdown.")
    state.last_answer()
    path = Path(name).expanduser()
    path = path if path.suffix else path.with_suffix(".md")
    if path.suffix.lower() not in MARKDOWN and not path.is_dir():
        raise UsageError(f"/save writes Markdown, not {path.suffix}.", f"Type /save {path.stem}.md")
    if _may_write(state, path):
        hand_over(as_markdown(state.dialogue.name or state.dialogue.answers[0].question, state.dialogue.turns), path)


def _bib(state: ChatState, name: str) -> None:
    state.last_answer()
    path = Path(name).expanduser() if name else None
    text = cited_text(state.engine, state.dialogue.answers, csl=name.endswith(".json"))
    if path is None and text:
        hand_over(text, None)
    elif path is not None and _may_write(state, path):
        hand_over(text, path)


def _may_write(state: ChatState, path: Path) -> bool:
    """Whether the file is not there yet, or a person says that it may be replaced. Raises UsageError in a pipe."""
    if not path.is_file():
        return True
    if state.read is None:
        raise UsageError(f"{path} already exists.", "Give another name.")
    if state.confirms(f"{path} already exists. Replace it?"):
        return True
    say(f"{path} was not changed.")
    return False


def _help(_: ChatState, name: str) -> None:
    out = console()
    if name:
        command = command_named(f"/{name.removeprefix('/')}")
        two_columns([(command.usage, f"{command.does[0].upper()}{command.does[1:]}. {command.more}".strip())], out)
        return
    group = ""
    for command in COMMANDS.values():
        if command.group != group:
            out.print(Text(f"{command.group}" if not group else f"\n{command.group}", "bold"))
            group = command.group
        two_columns([(command.usage, command.does)], out)
    out.print(
        Text("\nAlt-Enter, or \\ at the end of a line, starts a new line. Ctrl-R searches earlier questions.", "dim")
    )


_LAST, _HOW, _TALK, _REST = "The last answer", "Questions and search", "Conversations", "Other"
_TABLE = (
    ChatCommand("/sources", "", "list its sources", _LAST, "", _sources),
    ChatCommand("/show", "[N]", "source N with the text around it", _LAST, "Without N: source 1.", _show),
    ChatCommand(
        "/open", "[N]", "open source N in a PDF viewer, at its page", _LAST, "RAG_PDF_VIEWER sets the viewer.", _open
    ),
    ChatCommand(
        "/why",
        "",
        "how the answer was made",
        _LAST,
        "/why --debug also shows the scores and signals of the search.",
        _why,
    ),
    ChatCommand("/copy", "", "copy the answer and its sources to the clipboard", _LAST, "", _copy),
    ChatCommand(
        "/summary", "PAPER", "summarize a paper: question, method, findings", _HOW, "Tab completes names.", _summary
    ),
    ChatCommand("/search", "QUESTION", "list ranked passages, without an answer", _HOW, "", _search),
    ChatCommand(
        "/paper",
        "[NAME …]",
        "ask only these papers; without a name: all papers",
        _HOW,
        "Give part of a file name or title, or a pattern with *: /paper bert lora",
        _paper,
    ),
    ChatCommand(
        "/filter",
        "[NAME=VALUE …]",
        "limit the search to sections, kinds, years or authors; off: no filters",
        _HOW,
        "/filter section=method kind=table year=2015-2020 author=vaswani; /filter year= removes one filter; "
        "/filter off removes all; /filter alone shows them.",
        _filter,
    ),
    ChatCommand(
        "/model",
        "[NAME]",
        "choose the language model; quotes: answer without one",
        _HOW,
        "Without a name it lists Ollama's models.",
        _model,
    ),
    ChatCommand(
        "/profile",
        "[NAME]",
        "choose how passages are searched",
        _HOW,
        "Without a name it lists the profiles.",
        _profile,
    ),
    ChatCommand("/k", "[N]", "set how many passages an answer is made from", _HOW, "", _k),
    ChatCommand(
        "/agent",
        "[on|off]",
        "answer in several steps",
        _HOW,
        "The agent splits the question, searches for each part, and checks its own draft.",
        _agent,
    ),
    ChatCommand(
        "/chat",
        "[NAME]",
        "list the conversations, or continue one",
        _TALK,
        "Give a name or a number from the list; a new name starts a new conversation.",
        _chat,
    ),
    ChatCommand("/history", "[TEXT]", "list the questions so far; TEXT: search all conversations", _TALK, "", _history),
    ChatCommand(
        "/rename",
        "NAME",
        "give this conversation a name",
        _TALK,
        "`query.py chat --chat NAME` continues it later.",
        _rename,
    ),
    ChatCommand("/clear", "", "start a new conversation", _TALK, "The current one stays saved.", _clear),
    ChatCommand(
        "/save", "FILE", "write this conversation as Markdown", _TALK, "It asks before replacing a file.", _save
    ),
    ChatCommand(
        "/bib",
        "[FILE]",
        "write the papers cited so far as BibTeX",
        _TALK,
        "If FILE ends with .json, it is CSL-JSON, for Zotero and pandoc.",
        _bib,
    ),
    ChatCommand("/help", "[COMMAND]", "show this list, or explain one command", _REST, "", _help),
    ChatCommand("/quit", "", "leave the chat; exit, q and Ctrl-D do the same", _REST, "", lambda *_: None),
)
COMMANDS = {command.name: command for command in _TABLE}
"""By name, in the order of /help."""
