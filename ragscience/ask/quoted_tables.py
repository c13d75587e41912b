"""Rows of a table that are quoted, as a table: with its header, and with what of it is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, takewhile

from ragscience.ask.quote_candidates import Unit
from ragscience.core.tokenizing import joined_lines

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
    return one.hit.chunk.chunk_id == other.hit.chunk.chunk_id and table_span(one)[0] == table_span(other)[0]


def table_with(units: Sequence[Unit]) -> str:
    """The rows of `units`, which are of one table, in Markdown, under its header, in the table's order.

    A short table is whole; where more than a few rows of another are left out, a row says how many.
    """
    start, end = table_span(units[0])
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


def column_names(unit: Unit) -> list[str]:
    """The names of the columns of the unit's table, those of rows that go on with the header joined; or none."""
    start, end = table_span(unit)
    lines = unit.hit.chunk.text[start:end].split("\n")
    has_header = len(lines) > 2 and not lines[1].strip("|-: ")
    header = lines[:1] if has_header else [line for line in unit.hit.chunk.header.split("\n") if line[:1] == "|"][:1]
    if not header:
        return []
    names = cells_of(header[0])
    if _has_figures(header[0]) and not all(name.isdigit() for name in names[1:]):  # a row of a table without a header
        return [""] * len(names)
    levels = [names, *map(cells_of, header_rows(header + (lines[2:] if has_header else [])))]
    levels = [level for level in levels if len(level) == len(names)]
    for level in levels[:-1]:  # a name over several columns is in the first of them
        for at in range(1, len(level)):
            level[at] = level[at] or level[at - 1]
    return [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*levels, strict=True)]


def header_rows(lines: Sequence[str]) -> list[str]:
    """Of a header and the rows under it: those of the first rows that go on with it.

    They have no figures, more than one name, and none of a row where each column of the header has one.
    """
    is_full = all(cells_of(lines[0]))

    def goes_on(row: str) -> bool:
        first, *others = cells_of(row)
        return any(others) and not _has_figures(row) and not (is_full and first)

    return list(takewhile(goes_on, lines[1:][:_HEADER_ROWS]))


def cells_of(row: str) -> list[str]:
    """The cells of a row in Markdown."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _has_figures(row: str) -> bool:
    """Whether any cell behind the first is a value: it has a digit and no letter."""
    cells = _CELL.findall(row.strip().strip("|"))[1:]
    return any(any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell)) for cell in cells)


def left_out(count: int, row: str) -> str:
    """A row with as many cells as `row` that says how many rows are left out at its place."""
    cells = max(len(re.findall(r"(?<!\\)\|", row)) - 2, 0)
    return f"| … {count} {'row' if count == 1 else 'rows'} left out {'| ' * cells}|"


def table_span(unit: Unit) -> tuple[int, int]:
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
