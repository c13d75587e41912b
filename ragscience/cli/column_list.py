"""Records in columns: one line each; on a terminal under headings and cut to its width, in a pipe between tabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.cli.line_wrap import put
from ragscience.cli.links import can_encode
from ragscience.engine.printable import one_line

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Column", "list_records"]

_GAP = "  "
_LEAST = 8
"""Width that a text is cut to where the columns do not fit otherwise."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list."""

    name: str
    is_number: bool = False
    """Whether it stands to the right."""
    least: int = 0
    """The width that it may be cut to on a terminal; 0: it is not cut unless nothing else helps."""


def list_records(columns: Sequence[Column], records: Iterable[Sequence[str]], console: Console) -> None:
    """Print the records, each with a text for every column; nothing where there is no record."""
    rows = [[" ".join(one_line(cell).split()) for cell in record] for record in records]
    if not rows:
        return
    if not console.is_terminal:
        console.file.writelines("\t".join(row) + "\n" for row in rows)
        return
    from rich.cells import cell_len

    wanted = [max(map(cell_len, cells)) for cells in zip([column.name for column in columns], *rows, strict=True)]
    room = console.width - len(_GAP) * (len(columns) - 1)
    widths = _widths(columns, wanted, room)
    put(console, _line([column.name for column in columns], columns, widths, ""), style="bold")
    sign = "…" if can_encode("…", console.file) else "..."
    for row in rows:
        line = _line(row, columns, widths, sign)
        if sum(widths) > room:
            put(console, line)
        else:
            console.file.write(line + "\n")


def _widths(columns: Sequence[Column], wanted: Sequence[int], room: int) -> list[int]:
    """The width of each column: what it wants where all fit into `room`, else shared out among those that are cut."""
    widths = [min(column.least or width, width) for column, width in zip(columns, wanted, strict=True)]
    if sum(widths) > room:
        widths = [
            min(width, _LEAST) if not column.is_number else width for column, width in zip(columns, widths, strict=True)
        ]
    left = room - sum(widths)
    while left > 0 and widths != list(wanted):
        narrow = [at for at, width in enumerate(widths) if width < wanted[at]]
        share = max(left // len(narrow), 1)
        for at in narrow:
            more = min(share, wanted[at] - widths[at], left)
            widths[at] += more
            left -= more
    return widths


def _line(row: Sequence[str], columns: Sequence[Column], widths: Sequence[int], sign: str) -> str:
    from rich.cells import cell_len

    cells = []
    for cell, column, width in zip(row, columns, widths, strict=True):
        text = _cut(cell, width, sign)
        blank = " " * (width - cell_len(text))
        cells.append(blank + text if column.is_number else text + blank)
    return _GAP.join(cells).rstrip()


def _cut(text: str, width: int, sign: str) -> str:
    """The text, or as many of its first words as fit into `width` columns with `sign` behind them."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    room = width - cell_len(sign)
    part = set_cell_size(text, max(room, 0)).rstrip()
    words = part if text[len(part) : len(part) + 1] == " " else part.rpartition(" ")[0].rstrip(" ,;:–-")
    return (words or part) + sign
