"""A table of an answer on a terminal: the row that was asked for marked, and what does not fit said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from ragscience.cli.line_wrap import wrapped
from ragscience.engine.markdown_tables import CellTable, asked_columns, asked_rows, shown_rows
from ragscience.engine.printable import counted

__all__ = ["table_lines"]

_GAP = 2
"""Columns of the terminal between two of the table."""
_UNBROKEN = 14
"""A cell of at most this width is not wrapped;"""
_WIDEST_WORD = 24
"""a word of at most this width is not broken."""
_MOST_ROWS = 10
"""Rows that are shown of a large table round those that were asked for."""


def table_lines(table: CellTable, question: str, *, room: int, marks: tuple[str, str], whole: bool) -> Iterator[Text]:
    """The lines of the table, at most `room` columns wide.

    `marks` are the sign before a row that was asked for and the character of the line under the header. All rows are
    given where no row was asked for, or for `whole`.
    """
    asked = asked_rows(question, table)
    rows = shown_rows(len(table.rows), asked, len(table.rows) if whole or not asked else _MOST_ROWS)
    sign = f"{marks[0]} " if asked else ""
    room -= len(sign)
    columns = _fitting(table, asked_columns(question, table), room)
    widths = _widths(table, columns, room)
    if any(table.header):
        yield from _row([table.header[column] for column in columns], widths, " " * len(sign), bold=True)
        yield Text(" " * len(sign) + marks[1] * (sum(widths) + _GAP * (len(widths) - 1)), "dim")
    before = -1
    for row in (*rows, len(table.rows)):
        if row - before > 1:
            yield Text(f"{' ' * len(sign)}… {counted(row - before - 1, 'row')} left out", "dim")
        if row < len(table.rows) and _is_gap(table.rows[row]):
            yield Text(f"{' ' * len(sign)}{table.rows[row][0]}", "dim")
        elif row < len(table.rows):
            is_asked = row in asked
            cells = [table.rows[row][column] for column in columns]
            yield from _row(cells, widths, sign if is_asked else " " * len(sign), bold=is_asked)
        before = row
    gone = [table.header[column] for column in range(len(table.header)) if column not in columns]
    if gone:
        names = ", ".join(filter(None, gone))
        left_out = f"{counted(len(gone), 'column')} left out, too wide for this terminal{': ' * bool(names)}{names}"
        yield from wrapped(Text(left_out, "dim"), room)


def _row(cells: Sequence[str], widths: Sequence[int], sign: str, *, bold: bool) -> Iterator[Text]:
    columns = [wrapped(Text(cell), width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, columns))):
        line = Text(sign if number == 0 else " " * len(sign), Style(bold=bold or None))
        for lines, width in zip(columns, widths, strict=True):
            part = lines[number] if number < len(lines) else Text()
            line.append(part.plain + " " * (width - cell_len(part.plain) + _GAP))
        line.rstrip()
        yield line


def _fitting(table: CellTable, asked: Sequence[int], room: int) -> list[int]:
    """Numbers of the columns that fit into `room`: the first, then those `asked`, then the others from the left."""
    count = len(table.header)
    chosen: list[int] = []
    left = room + _GAP
    for column in dict.fromkeys((0, *asked, *range(count))):
        least = _least(table, column) + _GAP
        if not chosen or left >= least:
            chosen.append(column)
            left -= least
    return sorted(chosen)


def _widths(table: CellTable, columns: Sequence[int], room: int) -> list[int]:
    """The width of each of `columns`: as wide as its widest cell where all fit into `room`, else shared out."""
    wanted = [max(1, *map(cell_len, _cells(table, column))) for column in columns]
    widths = [min(_least(table, column), room) for column in columns]
    left = room - sum(widths) - _GAP * (len(columns) - 1)
    while left > 0 and widths != wanted:
        narrow = [number for number, width in enumerate(widths) if width < wanted[number]]
        share = max(left // len(narrow), 1)
        for number in narrow:
            more = min(share, wanted[number] - widths[number], left)
            widths[number] += more
            left -= more
    return widths


def _least(table: CellTable, column: int) -> int:
    """The least width that breaks neither a short cell nor a word."""
    cells = _cells(table, column)
    words = [min(cell_len(word), _WIDEST_WORD) for cell in cells for word in cell.split()]
    return max([1, *words, *(cell_len(cell) for cell in cells if cell_len(cell) <= _UNBROKEN)])


def _cells(table: CellTable, column: int) -> list[str]:
    return [table.header[column], *(row[column] for row in table.rows if not _is_gap(row))]


def _is_gap(row: Sequence[str]) -> bool:
    """Whether it stands for rows that the answer leaves out, "… 3 rows left out"."""
    return row[0].startswith("… ") and not any(row[1:])
