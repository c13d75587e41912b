"""A literature matrix as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ragscience.core.paper_records import place_label
from ragscience.core.serialization import select
from ragscience.review.columns import Column
from ragscience.review.matrix import Matrix, MatrixCell

_FORMULA = tuple("=+-@\t\r")
"""How text begins that a spreadsheet would compute."""


def matrix_output(matrix: Matrix) -> dict[str, Any]:
    """What `table --json` prints."""
    rows = [
        {
            "file": row.file,
            "title": row.title,
            "cells": {
                column.name: {"value": cell.shown(column), "certainty": cell.certainty, **asdict(cell)}
                for column, cell in zip(matrix.columns, row.cells, strict=True)
            },
        }
        for row in matrix.rows
    ]
    differing = {
        name: [{"file": file, **asdict(value)} for file, value in given] for name, given in matrix.differing().items()
    }
    columns = [asdict(column) for column in matrix.columns]
    return select("schema columns rows differing asked", matrix, columns=columns, rows=rows, differing=differing)


def table_rows(matrix: Matrix) -> Iterator[list[str]]:
    """A heading and a row for each paper: of each cell its value, its pages, its certainty and its quotes."""
    heads = [
        (name, f"{name}: page", f"{name}: sure", f"{name}: quote") for name in (one.name for one in matrix.columns)
    ]
    yield ["paper", "title", *(head for four in heads for head in four)]
    for row in matrix.rows:
        cells = (_four(*pair) for pair in zip(row.cells, matrix.columns, strict=True))
        yield [row.file, row.title, *(text for four in cells for text in four)]


def _four(cell: MatrixCell, column: Column) -> tuple[str, str, str, str]:
    values = cell.values if column.kind == "list" else cell.values[:1]
    pages = dict.fromkeys(str(value.page) for value in values)
    quotes = dict.fromkeys(value.quote for value in values)
    return cell.shown(column), "; ".join(pages), cell.certainty, " […] ".join(quotes)


def as_csv(matrix: Matrix) -> str:
    """In UTF-8 with a mark that spreadsheets know it by; what they would compute has an apostrophe before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([f"'{one}" if one.startswith(_FORMULA) else one for one in row] for row in table_rows(matrix))
    return "\ufeff" + text.getvalue()


def as_markdown(matrix: Matrix) -> str:
    """The table with the page of each value, and the quotes below it."""
    lines = ["| paper | " + " | ".join(_piped(column.name) for column in matrix.columns) + " |"]
    lines.append("|---" * (len(matrix.columns) + 1) + "|")
    quotes: list[str] = []
    for row in matrix.rows:
        cells = [_piped(row.file)]
        for column, cell in zip(matrix.columns, row.cells, strict=True):
            quote = _four(cell, column)[-1]
            label = place_label(row.file, cell.values[0].page) if cell.values else ""
            cells.append(_piped(f"{cell.shown(column)} ({label})" if label else cell.shown(column)))
            quotes += [f"- **{row.file}, {column.name}** ({label}): “{quote}”"] if label else []
        lines.append(f"| {' | '.join(cells)} |")
    for name, given in matrix.differing().items():
        said = "; ".join(f"{value.text} ({file}, {place_label(file, value.page)})" for file, value in given)
        lines += ["", f"Papers differ on **{name}**: {said}"]
    return "\n".join([*lines, "", "## Quotes", "", *quotes, ""])


def _piped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
