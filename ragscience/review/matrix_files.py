"""A literature matrix as JSON, CSV, Markdown and a page."""

import csv
import io
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from ragscience.core.errors import UsageError, missing_package
from ragscience.core.paper_records import has_pages, place_label
from ragscience.core.serialization import select
from ragscience.review.columns import Column
from ragscience.review.matrix import Matrix, MatrixCell, MatrixRow

_FORMULA = tuple("=+-@\t\r")
"""How text begins that a spreadsheet would compute."""
_LONGEST_CELL = 32_767
"""Characters that a cell of a workbook may have (ECMA-376)."""
_STYLE = (
    "body{font:15px system-ui,sans-serif;margin:1.5rem}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.4rem;text-align:left;vertical-align:top;max-width:24rem}"
    "th{background:#f2f2f2;position:sticky;top:0}summary{cursor:pointer}.none{color:#777}.differs{background:#ffe9c7}"
    "blockquote{margin:.4rem 0;padding-left:.6rem;border-left:3px solid #888;overflow-wrap:anywhere}"
)


def matrix_output(matrix: Matrix) -> dict[str, Any]:
    """What `table --json` prints; the cells of a row are in the order of the columns."""
    return select("schema columns rows differing asked", matrix, differing=matrix.differing())


def _rows(matrix: Matrix) -> Iterator[list[str]]:
    """A heading and a row for each paper: of each cell its value, its pages, its certainty and its quotes."""
    heads = [f"{column.name}{part}" for column in matrix.columns for part in ("", ": page", ": sure", ": quote")]
    yield ["paper", "title", *heads]
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
    writer.writerows([f"'{one}" if one.startswith(_FORMULA) else one for one in row] for row in _rows(matrix))
    return "\ufeff" + text.getvalue()


def as_workbook(matrix: Matrix) -> bytes:
    """The same rows as an XLSX workbook, all cells text. Raises UsageError where openpyxl is not installed."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
        from openpyxl.styles import Alignment, Font
    except ImportError as error:
        raise missing_package("A workbook", "openpyxl", "tables", UsageError) from error
    book, out = Workbook(), io.BytesIO()
    sheet = book.active
    for number, row in enumerate(_rows(matrix), start=1):
        for at, text in enumerate(row, start=1):
            cell = sheet.cell(number, at)
            cell.value, cell.data_type = ILLEGAL_CHARACTERS_RE.sub("", text)[:_LONGEST_CELL], "s"
            cell.alignment, cell.font = Alignment(wrap_text=True, vertical="top"), Font(bold=number == 1)
    sheet.freeze_panes = "B2"
    book.save(out)
    return out.getvalue()


def as_markdown(matrix: Matrix) -> str:
    """The table with the page of each value, and the quotes below it."""
    lines = ["| paper | " + " | ".join(_piped(column.name) for column in matrix.columns) + " |"]
    lines.append("|---" * (len(matrix.columns) + 1) + "|")
    quotes: list[str] = []
    for row in matrix.rows:
        cells = [_piped(row.file)]
        for column, cell in zip(matrix.columns, row.cells, strict=True):
            where = f" ({place_label(row.file, cell.values[0].page)})" if cell.values else ""
            cells.append(_piped(cell.shown(column) + where))
            quotes += [f"- **{row.file}, {column.name}**{where}: “{_four(cell, column)[-1]}”"] if where else []
        lines.append(f"| {' | '.join(cells)} |")
    differences = [f"\n{line}" for line in matrix.differences()]
    return "\n".join([*lines, *differences, "\n## Quotes\n", *quotes, ""])


def _piped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def as_page(matrix: Matrix) -> str:
    """One page without scripts: a click on a value shows its quote, with a link to the page of the paper."""
    heads = "".join(f'<th title="{escape(column.question)}">{escape(column.name)}</th>' for column in matrix.columns)
    rows = "".join(
        f"<tr><th>{escape(row.file)}</th>"
        + "".join(_cell(matrix, row, *pair) for pair in zip(row.cells, matrix.columns, strict=True))
        + "</tr>"
        for row in matrix.rows
    )
    differences = "".join(f"<p>{escape(line)}</p>" for line in matrix.differences())
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Table across papers</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style>'
        f"<table><thead><tr><th>paper</th>{heads}</tr></thead><tbody>{rows}</tbody></table>{differences}</html>\n"
    )


def _cell(matrix: Matrix, row: MatrixRow, cell: MatrixCell, column: Column) -> str:
    if not cell.values:
        return f'<td class="none">{cell.shown(column)}</td>'
    quotes = "".join(
        f"<p>{escape(value.text)} ({value.certainty:.2f})</p><blockquote>{escape(value.quote)}</blockquote>"
        f'<a href="{escape(Path(row.path).as_uri())}{f"#page={value.page}" * has_pages(row.path)}">'
        f"{place_label(row.file, value.page)}</a>"
        for value in cell.values
    )
    mark = ' class="differs"' if column.name in matrix.differing() else ""
    return f"<td{mark}><details><summary>{escape(cell.shown(column))}</summary>{quotes}</details></td>"
