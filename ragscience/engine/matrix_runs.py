"""A literature matrix: each paper is asked each column's question, and what is done stays done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ragscience.ask.extractive import Readers
from ragscience.core.errors import NothingFound
from ragscience.core.records import PASSAGES, Answer, Paper
from ragscience.core.serialization import from_json
from ragscience.core.settings import changed_settings
from ragscience.engine.asking import ask
from ragscience.engine.events import OnEvent, Progressed, unheard
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import AskRequest, check_filters, check_question, filters_by_name
from ragscience.engine.shared_parts import SharedParts
from ragscience.library.atomic_files import disk_errors, read_checked_json, write_checked_json
from ragscience.library.filter_selection import papers_allowed
from ragscience.review.columns import Column
from ragscience.review.matrix import Matrix, MatrixCell, MatrixRow
from ragscience.review.values import (
    ROUTED,
    STATED,
    Value,
    read_values,
    routed_values,
    typed,
    worded_values,
)

VERSION = 1
"""Of what a cell is made by: cells of another version are asked again."""
PASSAGES_READ = 24
"""Passages of a paper that are looked at for a cell where no language model reads them."""
FAILED = "failed"
"""The mode of a cell that a language model was to word and did not: it is asked again the next time."""
_KEPT = 500
"""Cells of a paper that are kept, the newest."""


@dataclass(frozen=True, slots=True)
class _PaperCells:
    """The cells of one paper on disk, by what they were asked by."""

    path: Path
    cells: dict[str, Any]

    @classmethod
    def of(cls, folder: Path, paper: Paper) -> _PaperCells:
        path, cells = folder / f"{paper.md5}.json", {}
        with suppress(OSError, ValueError, KeyError, TypeError):
            cells = dict(read_checked_json(path))
        return cls(path, cells)

    def cell(self, key: str) -> MatrixCell | None:
        with suppress(ValueError):
            return from_json(MatrixCell, self.cells[key]) if key in self.cells else None
        return None

    def keep(self, key: str, cell: MatrixCell) -> None:
        """Write it to the disk, so that not even a kill loses it. Raises DiskProblem."""
        self.cells[key] = asdict(cell)
        for old in [*self.cells][:-_KEPT]:
            del self.cells[old]
        with disk_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_checked_json(self.path, self.cells)


def fill(
    shared: SharedParts,
    columns: Sequence[Column],
    request: AskRequest,
    *,
    fresh: bool = False,
    on_event: OnEvent = unheard,
) -> Matrix:
    """The matrix of the papers that the request's filters leave; `fresh` asks also what was asked before.

    Each finished cell is on disk: only cells of changed questions, papers, settings and models are asked again. Raises
    NothingFound where a filter fits no paper, and as `asking.ask`.
    """
    for column in columns:
        check_question(column.question)
    filters = filters_by_name(shared.library, request.filters)
    check_filters(shared.library, filters)
    papers = shared.library.papers()
    allowed = papers_allowed(papers, filters)
    papers = [paper for paper in papers if allowed is None or paper.paper_id in allowed]
    if not papers:
        raise NothingFound("There are no papers to ask.", "`python ingest.py` reads those in papers/.")
    passages = None if shared.models.llm(shared.settings) else PASSAGES_READ
    total, rows, asked = len(papers) * len(columns), list[MatrixRow](), 0
    for paper in papers:
        kept, cells = _PaperCells.of(shared.home.cells, paper), list[MatrixCell]()
        within = replace(filters, papers=(), paper_ids=(paper.paper_id,))
        own = replace(request, filters=within, top_k=request.top_k or passages)
        for column in columns:
            done = len(rows) * len(columns) + len(cells)
            on_event(Progressed(f"{paper.file}: {column.name}", done, total))
            run = QuestionRun(shared, replace(own, question=column.question), on_event=on_event, cancel=None)
            key = _key(run, paper, column)
            cell = None if fresh else kept.cell(key)
            if cell is None:
                cell, asked = _asked(run, paper, column, on_event), asked + 1
                if cell.mode != FAILED:
                    kept.keep(key, cell)
            cells.append(cell)
        rows.append(MatrixRow(paper.file, paper.path, paper.title, tuple(cells)))
    return Matrix(tuple(columns), tuple(rows), asked)


def _key(run: QuestionRun, paper: Paper, column: Column) -> str:
    """A digest of all that the cell depends on."""
    library, llm, filters = run.library.about, run.llm, asdict(run.request.filters)
    parts = [
        VERSION, paper.md5, paper.added_at, library.chunker, library.vectors_epoch, asdict(column),
        asdict(library.embedder) if library.embedder else None, run.settings.deciding_values(),
        [llm.name, llm.digest] if llm else None, {**filters, "paper_ids": ()},
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _asked(run: QuestionRun, paper: Paper, column: Column, on_event: OnEvent) -> MatrixCell:
    """The cell, from the answer to its question."""
    answer = _answer(run, on_event)
    values: list[Value] = []
    if answer.route != PASSAGES:
        values = routed_values(column, answer) or list(_dated(run, paper, column, answer))
        answer = answer if values else _answer(run, on_event, plain=True)
    context = run.answer_context
    readers = Readers(context.matcher, context.spans)
    if not values and answer.mode == "llm":
        values = worded_values(column, answer, readers)
    elif not values:
        values = read_values(column, answer.found.hits, readers)
    stated = tuple(each for each in values if each.certainty >= STATED)
    failed = run.llm is not None and answer.mode != "llm" and answer.route == PASSAGES and not answer.refused
    return MatrixCell(stated, None if stated or not values else values[0], FAILED if failed else answer.mode)


def _answer(run: QuestionRun, on_event: OnEvent, *, plain: bool = False) -> Answer:
    from ragscience.engine.dialogue import Dialogue

    request = replace(run.request, plain=plain) if isinstance(run.request, AskRequest) else AskRequest(run.question)
    unkept = changed_settings(run.settings, {"history": False})
    silent = Dialogue(run.shared.home, unkept, name=None, continue_last=False)
    return ask(run.shared, request, dialogue=silent, on_event=on_event)


def _dated(run: QuestionRun, paper: Paper, column: Column, answer: Answer) -> Iterator[Value]:
    """A date that is known of the paper, where a running head or stamp of its first page has its year."""
    known = {text[-4:] for block in answer.blocks for text in typed(column, block.text, 0, len(block.text))}
    head = run.library.contents(paper.paper_id).page(1).furniture if column.kind == "date" else ""
    for line in head.splitlines():
        for text in typed(column, line, 0, len(line)):
            if known & {text[-4:], text[:4]}:
                yield Value(text, 1, line, ROUTED.get(answer.confidence or "", 0.0))
