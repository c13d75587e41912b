"""A literature matrix: each paper is asked each column's question, and what is done stays done."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ragscience.core.errors import NothingFound
from ragscience.core.records import PASSAGES, Answer, Paper
from ragscience.core.serialization import from_json
from ragscience.core.settings import changed_settings
from ragscience.engine.asking import ask
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.events import OnEvent, Progressed, unheard
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import AskRequest, check_filters, check_question, filters_by_name
from ragscience.engine.shared_parts import SharedParts
from ragscience.library.atomic_files import disk_errors, read_checked_json, write_checked_json
from ragscience.library.filter_selection import papers_allowed
from ragscience.review.columns import Column
from ragscience.review.matrix import Matrix, MatrixCell, MatrixRow
from ragscience.review.values import STATED, Value, dates_on, read_values, routed_values, worded_values

VERSION = 2
"""Of what a cell is made by: cells of another version are asked again."""
PASSAGES_READ = 24
"""Passages of a paper that are looked at for a cell where no language model reads them."""
FAILED = "failed"
"""The mode of a cell that a language model was to word and did not: it is asked again the next time."""
_KEPT = 500
"""Cells of a paper that are kept, the newest."""


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
    every = shared.library.papers()
    allowed = papers_allowed(every, filters)
    papers = [paper for paper in every if allowed is None or paper.paper_id in allowed]
    if not papers:
        raise NothingFound("There are no papers to ask.", "`python ingest.py` reads those in papers/.")
    passages = request.top_k or (None if shared.models.llm(shared.settings) else PASSAGES_READ)
    rows, asked, done = list[MatrixRow](), 0, 0
    for paper in papers:
        path, cells = shared.home.cells / f"{paper.md5}.json", list[MatrixCell]()
        within = replace(filters, papers=(), paper_ids=(paper.paper_id,))
        kept: dict[str, Any] = read_checked_json(path) or {}
        for column in columns:
            on_event(Progressed(f"{paper.file}: {column.name}", done, len(papers) * len(columns)))
            done += 1
            own = replace(request, question=column.question, filters=within, top_k=passages)
            run = QuestionRun(shared, own, on_event=on_event, cancel=None)
            key = _key(run, paper, column)
            if fresh or key not in kept:
                asked += 1
                kept[key] = asdict(_asked(run, own, paper, column))
                _keep(path, kept)
            cells.append(from_json(MatrixCell, kept[key]))
        rows.append(MatrixRow(paper.file, paper.path, paper.title, tuple(cells)))
    return Matrix(tuple(columns), tuple(rows), asked)


def _keep(path: Path, cells: dict[str, Any]) -> None:
    """Write the cells, so that not even a kill loses them. Raises DiskProblem."""
    done = {key: cell for key, cell in [*cells.items()][-_KEPT:] if cell["mode"] != FAILED}
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_checked_json(path, done)


def _key(run: QuestionRun, paper: Paper, column: Column) -> str:
    """A digest of all that the cell depends on."""
    library, llm, filters = run.library.about, run.llm, asdict(run.request.filters)
    parts = [
        VERSION, paper.md5, paper.added_at, library.chunker, library.vectors_epoch, asdict(column),
        asdict(library.embedder) if library.embedder else None, run.settings.deciding_values(),
        [llm.name, llm.digest] if llm else None, run.request.top_k, {**filters, "paper_ids": ()},
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _asked(run: QuestionRun, request: AskRequest, paper: Paper, column: Column) -> MatrixCell:
    """The cell, from the answer to its question."""
    readers, values, answer = run.answer_context.readers, list[Value](), _answer(run, request)
    if answer.route != PASSAGES:
        values = routed_values(column, answer) or list(_dated(run, paper, column, answer))
        answer = answer if values else _answer(run, replace(request, plain=True))
    if not values and answer.mode == "llm":
        values = worded_values(column, answer, readers)
    elif not values:
        values = read_values(column, answer.found.hits, readers)
    stated = tuple(each for each in values if each.certainty >= STATED)
    failed = run.llm is not None and answer.mode != "llm" and answer.route == PASSAGES and not answer.refused
    return MatrixCell(stated, None if stated or not values else values[0], FAILED if failed else answer.mode)


def _answer(run: QuestionRun, request: AskRequest) -> Answer:
    unkept = changed_settings(run.settings, {"history": False})
    silent = Dialogue(run.shared.home, unkept, name=None, continue_last=False)
    return ask(run.shared, request, dialogue=silent, on_event=run.publish)


def _dated(run: QuestionRun, paper: Paper, column: Column, answer: Answer) -> Iterator[Value]:
    """A date that is known of the paper, where a running head, a stamp or a line of its first page has its year."""
    if column.kind == "date":
        contents = run.library.contents(paper.paper_id)
        for text in (contents.page(1).furniture, contents.text(1)):
            yield from dates_on(column, answer, text)
