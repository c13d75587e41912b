"""A table in Markdown as cells, the row that a question asks for, and what of a large table is shown."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.core.tokenizing import tokenize
from ragscience.engine.asked_words import asked_terms

__all__ = ["CellTable", "asked_columns", "asked_rows", "read_table", "shown_rows"]

_CELL_BORDER = re.compile(r"(?<!\\)\|")
_MOST_ASKED = 3
"""More rows than this with the same share of the question's terms are none that it asks for."""
_FIRST_ROWS = 2
"""Rows under the header that are always shown: often they go on with it."""


@dataclass(frozen=True, slots=True)
class CellTable:
    """A table; each row has as many cells as the header."""

    header: tuple[str, ...]
    """Empty texts where the table has no header."""
    rows: tuple[tuple[str, ...], ...]


def read_table(markdown: str) -> CellTable:
    """The cells of a Markdown table; rows without a line of dashes below the first have no header."""
    lines = [_cells(line) for line in markdown.split("\n") if line.strip()]
    width = max(map(len, lines), default=0)
    rows = [(*cells, *[""] * (width - len(cells))) for cells in lines]
    has_header = len(lines) > 1 and all(cell and not cell.strip("-:") for cell in lines[1])
    return CellTable(rows[0], tuple(rows[2:])) if has_header else CellTable(("",) * width, tuple(rows))


def asked_rows(question: str, table: CellTable) -> list[int]:
    """Numbers of the rows whose cells have the most of the question's terms, rare ones counting more; none if many."""
    asked = asked_terms(question)
    held = [asked.intersection(tokenize(" ".join(row))) for row in table.rows]
    frequency = Counter(term for terms in held for term in terms)
    weights = [sum(math.log(len(held) / frequency[term]) for term in sorted(terms)) for terms in held]
    best = max(weights, default=0.0)
    rows = [number for number, weight in enumerate(weights) if 0 < best <= weight + 1e-9]
    return rows if len(rows) <= _MOST_ASKED else []


def asked_columns(question: str, table: CellTable) -> list[int]:
    """Numbers of the columns whose header has a term of the question."""
    asked = asked_terms(question)
    return [number for number, name in enumerate(table.header) if not asked.isdisjoint(tokenize(name))]


def shown_rows(count: int, asked: Sequence[int], most: int) -> list[int]:
    """Numbers of the rows that are shown of `count`: all, or about `most`: the first ones and those round the asked.

    A single row is never left out.
    """
    if count <= most + 2:
        return list(range(count))
    chosen = set(range(_FIRST_ROWS if asked else most)) | set(asked)
    distance = 1
    while asked and len(chosen) < most:
        near = {row + step for row in asked for step in (-distance, distance)}
        chosen |= {row for row in near if 0 <= row < count}
        distance += 1
    return [row for row in range(count) if row in chosen or {row - 1, row + 1} <= chosen]


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    cells = [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(inner)]
    return cells[:-1] if cells and not cells[-1] and inner.endswith("|") else cells
