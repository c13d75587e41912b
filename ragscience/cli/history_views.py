"""`query.py history`: what was asked and answered before, shown, searched, written out and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ragscience.cli.cli import say
from ragscience.cli.column_list import Column, list_records
from ragscience.cli.line_wrap import put
from ragscience.cli.open_command import cited_text
from ragscience.cli.pager import paged
from ragscience.cli.screen import console, hand_over, print_json
from ragscience.cli.views import answer_footer, answer_view
from ragscience.core.errors import NothingFound
from ragscience.core.serialization import select, to_json
from ragscience.engine.library_engine import Engine
from ragscience.engine.library_output import HistoryOutput, conversation_output, turns_output
from ragscience.engine.markdown_export import as_markdown
from ragscience.engine.printable import counted, plain, shortened
from ragscience.engine.saved_answers import Conversation, KeptAnswer

__all__ = ["delete", "export", "found_view", "list_conversations", "rename", "search_history", "show"]

SHOWN = 20
"""Default number of lines in a list."""
QUESTION_CHARS = 100
_COLUMNS = (
    Column("id", is_number=True),
    Column("changed (UTC)"),
    Column("turns", is_number=True),
    Column("name", least=8),
    Column("first question", least=16),
)


def list_conversations(engine: Engine, *, limit: int | None, as_json: bool) -> int:
    """The conversations, the one changed last first: `limit` of them, else all as JSON and SHOWN as a table."""
    every = engine.history.conversations()
    if as_json:
        print_json(select(HistoryOutput, conversations=[conversation_output(item) for item in every[:limit]]))
        return 0
    shown = every[: limit or SHOWN]
    rows = [
        (str(item.conversation_id), _when(item.changed_at).removesuffix(" UTC"), str(item.turns), item.name, item.title)
        for item in shown
    ]
    with paged() as out:
        list_records(_COLUMNS, rows, out)
    if not every:
        say("No conversations saved yet.")
    elif len(every) > len(shown):
        say(f"{len(every) - len(shown)} more: -n {len(every)} shows all.")
    return 0


def show(engine: Engine, key: str | None, *, as_json: bool) -> int:
    """A conversation, or one answer with its passages' pages; without a key the last conversation."""
    conversation, turns = engine.history.conversation(key)
    if as_json:
        print_json(turns_output(conversation, turns))
        return 0
    with paged() as out:
        put(out, _headline(conversation), style="dim")
        for kept in turns:
            answer = kept.answer
            out.print()
            put(out, plain(answer.question), "> ", style="bold")
            answer_view(answer, out)
            answer_footer(answer, out)
            put(out, f"{_when(kept.created_at)}  answer {plain(answer.answer_id)}", style="dim")
    return 0


def search_history(engine: Engine, text: str, *, limit: int | None) -> int:
    """The turns that have every word of the text, the newest first. Raises NothingFound without one."""
    found = engine.history.search(text, limit or SHOWN)
    if not found:
        raise NothingFound(f"No question or answer has {text!r}.", "Try fewer words.")
    found_view(found, console())
    return 0


def found_view(found: Sequence[KeptAnswer], out: Console) -> None:
    """Turns as a list: where each is, its question, and how its answer begins."""
    for kept in found:
        answer = kept.answer
        where = f"{kept.conversation_id}  {_when(kept.created_at)}  answer {plain(answer.answer_id)}"
        put(out, where, style="dim")
        put(out, shortened(answer.question, QUESTION_CHARS), "> ", style="bold")
        put(out, shortened(answer.text, QUESTION_CHARS), "  ")


def export(engine: Engine, key: str | None, *, form: str, target: Path | None) -> int:
    """Write a conversation (the last one without a key) as "md", "json" or "bib" to a file, or to stdout."""
    conversation, turns = engine.history.conversation(key)
    if form == "json":
        text = to_json(turns_output(conversation, turns), indent=2) + "\n"
    elif form == "bib":
        text = cited_text(engine, [kept.answer for kept in turns], csl=False)
    else:
        text = as_markdown(conversation.name or conversation.title, turns)
    hand_over(text, target)
    return 0


def rename(engine: Engine, key: str, name: str) -> int:
    """Give a conversation another name."""
    renamed = engine.history.rename(key, name)
    say(f"Conversation {renamed.conversation_id} is now called {renamed.name}.")
    return 0


def delete(engine: Engine, key: str | None) -> int:
    """Forget a conversation or one answer; everything without a key."""
    gone = engine.history.delete(key)
    say(f"{counted(gone, 'turn')} deleted." if gone else "No conversations are saved now.")
    return 0


def _headline(conversation: Conversation) -> str:
    name = f" {plain(conversation.name)}" if conversation.name else ""
    turns = counted(conversation.turns, "turn")
    return f"Conversation {conversation.conversation_id}{name}, {turns}, started {_when(conversation.started_at)}"


def _when(moment: str) -> str:
    """A moment as it was kept, without seconds: `2026-01-31 09:05 UTC`."""
    day, _, clock = plain(moment).partition("T")
    return f"{day} {clock[:5]} UTC"
