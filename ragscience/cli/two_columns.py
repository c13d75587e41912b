"""Names and what is said of them, in two columns that fit the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console

from ragscience.cli.line_wrap import put

__all__ = ["two_columns"]

NAMES = 26
"""Columns of the names; a longer one has its text below it."""
LEAST_TEXT = 24
INDENT = 6


def two_columns(rows: Sequence[tuple[str, str]], console: Console) -> None:
    """Each row's text beside its name, wrapped at words on a terminal; below it where there is no room."""
    for name, text in rows:
        beside = cell_len(name) < NAMES - 1 and console.width - NAMES >= LEAST_TEXT
        if beside or not console.is_terminal:
            put(console, text, f"{name:{NAMES}}")
        else:
            put(console, name)
            put(console, text, " " * INDENT)
