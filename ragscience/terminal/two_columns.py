"""Names and what is said of them, in two columns that fit the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ragscience.terminal.line_wrap import wrapped

__all__ = ["two_columns"]

NAMES = 26
"""Columns of the names; a longer one has its text below it."""
LEAST_TEXT = 24
INDENT = 6


def two_columns(rows: Sequence[tuple[str, str]], console: Console) -> None:
    """Each row's text beside its name, wrapped at words on a terminal; below it where there is no room."""
    for name, text in rows:
        if not console.is_terminal:
            console.print(Text(f"{name:{NAMES}}{text}".rstrip()), soft_wrap=True)
            continue
        beside = cell_len(name) < NAMES - 1 and console.width - NAMES >= LEAST_TEXT
        indent = NAMES if beside else INDENT
        lines = wrapped(Text(text), max(console.width - indent - 1, LEAST_TEXT))
        head = Text(f"{name:{NAMES}}" if beside else f"{name}\n{' ' * INDENT}").append(lines[0])
        console.print(head)
        for line in lines[1:]:
            console.print(Text(" " * indent).append(line))
