"""The last turns of a conversation that is continued: what was asked, and how the answer began."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ragscience.cli.line_wrap import wrapped
from ragscience.engine.printable import plain
from ragscience.engine.saved_answers import KeptAnswer

__all__ = ["last_turns_view"]

TURNS = 3
LINES = 2
"""Of each answer."""
NOT_SAID = ("Found in ", "|---")
"""How lines of an answer begin that say nothing of what it found."""


def last_turns_view(turns: Sequence[KeptAnswer], console: Console) -> None:
    """The last TURNS questions with their days, and the first LINES of each answer."""
    width = max(console.width - 2, 20)
    for kept in turns[-TURNS:]:
        day = plain(kept.created_at).partition("T")[0]
        asked = wrapped(Text(f"{day}  {_flat(kept.answer.question)}"), width)
        for line in asked:
            line.stylize("bold")
            console.print(line)
        lines = wrapped(Text(_beginning(kept.answer.text)), width - 2)
        if len(lines) > LINES:
            cut = lines[LINES - 1]
            cut.truncate(width - 4)
            cut.append(" …")
        for line in lines[:LINES]:
            console.print(Text("  ").append(line), style="dim")


def _beginning(text: str) -> str:
    said = [line for line in plain(text).replace("**", "").splitlines() if line.strip()]
    first = [line for line in said if not line.startswith(NOT_SAID)]
    return _flat(" ".join(first or said))


def _flat(text: str) -> str:
    return " ".join(plain(text).split())
