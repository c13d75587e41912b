"""Rows of a table that are quoted, as a table: with its header, and with what of it is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from ragscience.ask.quote_candidates import Unit
from ragscience.core.tokenizing import joined_lines, terms

__all__ = [
    "asked_row",
    "caption_of",
    "column_names",
    "header_rows",
    "is_table",
    "left_out",
    "same_table",
    "table_with",
    "without_headings",
]

_HEADER_ROWS = 2
"""Rows under the header that may go on with it: they have no figures."""
_SHORT_GAP = 3
"""As many rows between quoted ones, or at an end, are given, too."""
_SHORT_TABLE = 10
"""A table of no more rows is given whole: a reader who is shown two rows of seven has to open the PDF."""
_SHORTEST_PART = 4
"""Letters of a term that is looked for inside the words of a row's name."""
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
    goes_on = header_rows([lines[0], *rows]) if has_header else []
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


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A row of a table as it answers a question."""

    line: str
    """`name: column value; column value`: the columns that have words of the question, else all."""
    value: str
    """The cell that is asked for, where it is sure which; else empty."""
    held: float
    """0 to 1: the share of the question that the row's cells and the column of its value hold;"""
    fit: float
    """the same, but 0 where one of them has none of it, and it is not sure which value is asked for."""


def asked_row(unit: Unit, weights: Mapping[str, float]) -> AskedRow | None:
    """The row that the unit is, by the weight of each term of a question; None in a table without a header.

    A name holds a term also as a part of a word of its own ("bert large": BERTLARGE); another cell that holds one is
    no value that is asked for.
    """
    names = column_names(unit)
    name, *cells = _cells(unit.text.split("\n")[0])
    if len(names) != len(cells) + 1:
        return None
    name = name or _name_above(unit)
    own, letters = frozenset(terms(name)), "".join(filter(str.isalnum, name.casefold()))
    held = {term for term in weights if term in own or (len(term) >= _SHORTEST_PART and term in letters)}
    inside = [frozenset(terms(cell)) - held if len(cell) > 1 else frozenset[str]() for cell in cells]
    given = [each if each and each <= weights.keys() else frozenset[str]() for each in inside]
    held = held.union(*given)
    columns = [
        0.0 if not cell or has else sum(weights.get(term, 0.0) for term in frozenset(terms(column)) - held)
        for column, cell, has in zip(names[1:], cells, given, strict=True)
    ]
    best = max(columns, default=0.0)
    pairs = [
        (column, cell)
        for column, cell, weight in zip(names[1:], cells, columns, strict=True)
        if cell and (weight >= best - 1e-9 or not best)
    ]
    values = [pair for pair, has in zip(zip(names[1:], cells, strict=True), given, strict=True) if not has]
    figures = [pair for pair in values if any(map(str.isdigit, pair[1]))]
    if not best and len(figures) == 1:
        pairs = figures
    of_row = sum(weights[term] for term in held)
    said = [cell for cell, has in zip(cells, given, strict=True) if has]
    line = f"{', '.join([name, *said])}: {'; '.join(f'{column} {cell}'.strip() for column, cell in pairs)}"
    is_sure = len(pairs) == 1 and any(map(str.isdigit, pairs[0][1]))
    fit = of_row + best if of_row and (best or is_sure) else 0.0
    return AskedRow(line if name else "", pairs[0][1] if is_sure else "", of_row + best, fit)


def _name_above(unit: Unit) -> str:
    """The name of the rows that the unit's row goes on with."""
    start, _ = _span(unit)
    above = unit.hit.chunk.text[start : unit.start].split("\n")
    return next((name for line in reversed(above) if line and (name := _cells(line)[0]).strip("-: ")), "")


def column_names(unit: Unit) -> list[str]:
    """The names of the columns of the unit's table, those of rows that go on with the header joined; or none."""
    start, end = _span(unit)
    lines = unit.hit.chunk.text[start:end].split("\n")
    has_header = len(lines) > 2 and not lines[1].strip("|-: ")
    header = lines[:1] if has_header else [line for line in unit.hit.chunk.header.split("\n") if line[:1] == "|"][:1]
    if not header:
        return []
    names = _cells(header[0])
    if _has_figures(header[0]):  # a row of a table without a header
        return [""] * len(names)
    for row in header_rows(header + (lines[2:] if has_header else [])):
        more, above = _cells(row), ""
        if len(more) != len(names):
            break
        for column, name in enumerate(names):
            above = name or above  # a name over several columns is in the first of them
            names[column] = f"{above if column else name} {more[column]}".strip()
    return names


def header_rows(lines: Sequence[str]) -> list[str]:
    """Of a header and the rows under it: those of the first rows that go on with it.

    They have no figures, and no name where each column of the header has one.
    """
    is_full = all(_cells(lines[0]))
    return list(
        takewhile(lambda row: not (_has_figures(row) or (is_full and _cells(row)[0])), lines[1:][:_HEADER_ROWS])
    )


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
