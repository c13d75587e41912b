"""A conversation as Markdown, and text files that are written wholly or not at all."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragscience.core.errors import RagScienceError
from ragscience.core.records import UNCITED, Answer, Citation, Sentence
from ragscience.core.sentences import formulas_named
from ragscience.core.tokenizing import tokenize
from ragscience.engine.places import Source, sources_of
from ragscience.engine.printable import asked_terms, plain
from ragscience.library.atomic_files import disk_errors, write_atomically
from ragscience.library.history import KeptAnswer

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


MARKS = {"supported": "✓", "weak": "~", "unsupported": "✗"}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\](?=[(\[:])")
"""Where a link's text ends, and its address begins."""


def as_markdown(title: str, turns: Sequence[KeptAnswer]) -> str:
    """Questions, answers with the mark of each checked sentence, and under each answer its pages with their quotes.

    The text of papers and models is made inert: no HTML, no links, no pictures that a viewer would fetch.
    """
    parts = [f"# {_line(title)}\n"]
    for number, kept in enumerate(turns, start=1):
        answer = kept.answer
        parts.append(f"## {number}. {_line(answer.question)}\n")
        marked_text = _marked(answer.text, answer.sentences) if answer.citations else answer.text
        parts.append(_inert(formulas_named(marked_text)) + "\n")  # an answer that an older version kept
        if answer.citations:
            parts.append("Sources:\n")
            marked = not _is_quotes(answer)
            parts += [_source(source, marked=marked) for source in sources_of(answer)]
            parts.append("")
        if answer.sentences:
            parts.append(f"{_summary(answer)}\n")
        day, _, clock = kept.created_at.partition("T")
        parts.append(f"*{day} {clock[:5]} UTC, answer {_line(answer.answer_id)}*\n")
    return "\n".join(parts)


def write_out(target: Path, text: str) -> None:
    """Write the file, wholly or not at all. Raises RagScienceError where it cannot be."""
    path, content = target.expanduser().resolve(), text.encode("utf-8", "replace")
    if path.is_dir() or not path.parent.is_dir():
        what = f"{target} is a folder" if path.is_dir() else f"There is no folder {path.parent}"
        raise RagScienceError(f"{what}.", "Name a file, in a folder that is there.")
    with disk_errors(path):
        if path.exists() and not path.is_file():  # a pipe or a device is written to, never replaced
            path.write_bytes(content)
        else:
            write_atomically(path, content)


def _marked(text: str, sentences: Sequence[Sentence]) -> str:
    """The answer with a mark behind each sentence that was checked; one that is not found in it stays unmarked."""
    done, rest = "", text
    for sentence in sentences:
        mark = MARKS.get(sentence.verdict)
        before, found, after = rest.partition(sentence.text) if sentence.text else (rest, "", "")
        if mark and found:
            done, rest = f"{done}{before}{found} {mark}", after
    return done + rest


def _summary(answer: Answer) -> str:
    if not answer.citations:
        return UNCITED
    claims = [sentence.verdict for sentence in answer.sentences if sentence.verdict in MARKS]
    if _is_quotes(answer):
        sure = f" Confidence: {answer.confidence}." if answer.confidence else ""
        return " ".join([f"Quotes, word for word.{sure}", *map(_line, answer.missing)])
    counts = ", ".join(
        f"{claims.count(verdict)} {verdict} ({mark})" for verdict, mark in MARKS.items() if verdict in claims
    )
    return f"Checked: {counts}." if counts else "Checked: nothing in it could be checked."


def _is_quotes(answer: Answer) -> bool:
    """Whether there are quotes and nothing that a model worded."""
    verdicts = {sentence.verdict for sentence in answer.sentences}
    return "quote" in verdicts and not verdicts & MARKS.keys()


def _source(source: Source, *, marked: bool) -> str:
    """`1. file.pdf, p.3: “quote” ✓ “another quote” ✓`, with the number that it has under the answer."""
    quotes = " ".join(_quote(citation, marked=marked) for citation in dict.fromkeys(source.citations)).strip()
    says = f": {quotes}" if "“" in quotes else f" {quotes}" if quotes else ""
    return f"{source.number}. {_line(source.file)}, p.{source.page}{says}"


def _quote(citation: Citation, *, marked: bool) -> str:
    quote = formulas_named(" ".join(citation.quote.split()), citation.page)
    said = f"“{_inert(quote)}”" if quote else ""
    mark = MARKS["supported" if citation.supported else "unsupported"] if marked else ""
    return f"{said} {mark}".strip()


def _inert(text: str) -> str:
    return _LINK.sub(r"\\]", _TAG.sub("&lt;", plain(text)).replace("![", r"!\["))


def _line(text: str) -> str:
    return " ".join(_inert(text).split())
