"""Rows of a table that are quoted, as a table: with its header, and with what of it is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, takewhile
from typing import TYPE_CHECKING

from ragscience.ask.quote_candidates import Unit
from ragscience.core.tokenizing import joined_lines, terms

if TYPE_CHECKING:
    from ragscience.ask.unit_scores import Asked, Piece

__all__ = ["caption_of", "is_table", "left_out", "row_line", "same_table", "table_with", "without_headings"]

_HEADER_ROWS = 2
"""Rows under the header that may go on with it: they have no figures."""
_SHORT_GAP = 3
"""As many rows between quoted ones, or at an end, are given, too."""
_SHORT_TABLE = 10
"""A table of no more rows is given whole: a reader who is shown two rows of seven has to open the PDF."""
_CELL = re.compile(r"[^|]++")


def is_table(unit: Unit) -> bool:
    """Whether the unit is rows of a Markdown table."""
    return unit.text.lstrip().startswith("|")


def caption_of(unit: Unit) -> str:
    """The caption of the table that the unit's rows are in, on one line; empty without one."""
    return unit.lead.partition("|")[0].strip().removesuffix("…").strip()


def same_table(one: Unit, other: Unit) -> bool:
    """Whether both are rows of one table in one passage."""
    return one.hit.chunk.chunk_id == other.hit.chunk.chunk_id and _span(one)[0] == _span(other)[0]


def table_with(units: Sequence[Unit]) -> str:
    """The rows of `units`, which are of one table, in Markdown, under its header, in the table's order.

    A short table is whole; where more than a few rows of another are left out, a row says how many.
    """
    start, end = _span(units[0])
    lines = units[0].hit.chunk.text[start:end].split("\n")
    quoted = {line.strip() for unit in units for line in unit.text.split("\n")}
    has_header = len(lines) > 1 and not lines[1].strip("|-: ")
    header = lines[:2] if has_header else [line for line in units[0].hit.chunk.header.split("\n") if line[:1] == "|"]
    rows = lines[2:] if has_header else lines
    wanted = [row.strip() in quoted for row in rows]
    goes_on = list(takewhile(lambda row: has_header and not _has_figures(row), rows[:_HEADER_ROWS]))
    wanted[: len(goes_on)] = [True] * len(goes_on)
    made = list(header)
    for is_wanted, run in groupby(zip(wanted, rows, strict=True), lambda pair: pair[0]):
        part = [row for _, row in run]
        made += (
            part
            if is_wanted or len(part) <= _SHORT_GAP or len(rows) <= _SHORT_TABLE
            else [left_out(len(part), part[0])]
        )
    return "\n".join(made)


def row_line(asked: Asked, run: Sequence[Piece]) -> tuple[str, str] | None:
    """(`name: column value; column value`, the value asked for or "") of a row in a table with a header; else None.

    Columns are those whose names have terms of the question, else all; the value is sure where it is a single one.
    """
    unit = run[0].unit
    start, end = _span(unit)
    lines = unit.hit.chunk.text[start:end].split("\n")
    names = _cells(lines[0]) if len(lines) > 2 and not lines[1].strip("|-: ") else []
    names = names or next((_cells(line) for line in unit.hit.chunk.header.split("\n") if line[:1] == "|"), [])
    name, *cells = _cells(unit.text.split("\n")[0])
    if len(names) != len(cells) + 1:
        return None
    held = frozenset(terms(name))
    weights = [
        sum(asked.weights.get(term, 0.0) for term in frozenset(terms(column)) - held) if cell else 0.0
        for column, cell in zip(names[1:], cells, strict=True)
    ]
    best = max(weights, default=0.0)
    pairs = [
        (column, cell)
        for column, cell, weight in zip(names[1:], cells, weights, strict=True)
        if cell and (weight == best or not best)
    ]
    line = f"{name}: {'; '.join(f'{column} {cell}'.strip() for column, cell in pairs)}"
    return line, pairs[0][1] if len(pairs) == 1 else ""


def _cells(row: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _has_figures(row: str) -> bool:
    """Whether any cell behind the first is a value: it has a digit and no letter."""
    cells = _CELL.findall(row.strip().strip("|"))[1:]
    return any(any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell)) for cell in cells)


def left_out(count: int, row: str) -> str:
    """A row with as many cells as `row` that says how many rows are left out at its place."""
    cells = max(len(re.findall(r"(?<!\\)\|", row)) - 2, 0)
    return f"| … {count} {'row' if count == 1 else 'rows'} left out {'| ' * cells}|"


def _span(unit: Unit) -> tuple[int, int]:
    """(start, end) in the passage of the table that the unit begins in: neighbouring lines that begin with a bar."""
    text = unit.hit.chunk.text
    start = end = text.rfind("\n", 0, unit.start) + 1
    while start > 0 and text[text.rfind("\n", 0, start - 1) + 1] == "|":
        start = text.rfind("\n", 0, start - 1) + 1
    while end < len(text) and text[end] == "|":
        following = text.find("\n", end)
        end = following + 1 if following >= 0 else len(text)
    return start, len(text[:end].rstrip())


_LONGEST = 120
"""Characters of a heading; a longer paragraph is text."""
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*+\.?|[A-Z](?:\.\d{1,2})++\.?)\s++[A-Z][^=≤≥<>]*+(?<![.,;:])")


def without_headings(text: str, section: str) -> tuple[str, str]:
    """(the headings that `text` begins with, its words behind them), each on one line.

    `section` has the names of headings near the text, "3 Model › 3.2 Attention". A heading is a paragraph that is one
    of them, or that begins with a number of a section and ends without a stop. A text of headings alone stays whole.
    """
    names = {joined_lines(name).casefold() for name in section.split(" › ")}
    headings: list[str] = []
    rest = text.strip()
    while True:
        paragraph, _, behind = rest.partition("\n\n")
        heading = joined_lines(paragraph)
        is_named = heading.casefold() in names
        if len(heading) > _LONGEST or not behind.strip() or not (is_named or _NUMBERED.fullmatch(heading)):
            return " › ".join(headings), joined_lines(rest)
        headings.append(heading)
        rest = behind.strip()
