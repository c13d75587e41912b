"""`query.py eval`: a file of questions with known answers is asked, and the measures are shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.errors import UsageError
from ragscience.evaluation.questions import BadLine, KnownQuestion, read_known_questions
from ragscience.evaluation.report import EXPLAINED, Evaluation, as_json, as_markdown, shown
from ragscience.evaluation.running import Outcome, run
from ragscience.records import Answer, Filters
from ragscience.terminal.asking import console
from ragscience.terminal.door import say
from ragscience.terminal.filtering import described
from ragscience.terminal.json_output import SCHEMA_VERSION, dump
from ragscience.terminal.plain import plain
from ragscience.terminal.session import Session

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["evaluate", "evaluate_all"]

SOME_FAILED = 3
IN_THE_TABLE = ("any@4", "answer", "passages", "cited", "refused", "rightly refused")
"""What the table by type has room for; --json and --md have everything."""


def evaluate_all(
    session: Session, source: Path, *, filters: Filters, as_one_json: bool, markdown: Path | None, quiet: bool
) -> int:
    """Ask every question of `source` and show the measures; an exit code, SOME_FAILED for bad lines and failures.

    `markdown` gets the same as a page. Raises UsageError where there is no question at all, or no folder for the page.
    """
    if markdown is not None and not markdown.absolute().parent.is_dir():
        raise UsageError(f"{markdown.parent} is no folder.", "Name a file in a folder that is there.")
    lines = list(read_known_questions(source, session.settings.max_question_chars))
    bad = tuple(line for line in lines if isinstance(line, BadLine))
    for line in bad:
        say(f"{source.name}, line {line.number}, is left out: {line.reason}")
    questions = [line for line in lines if isinstance(line, KnownQuestion)]
    if not questions:
        raise UsageError(
            f"{source} has no question.",
            'Write one a line: {"question": "…", "must_contain": ["…"], "evidence": [{"file": "a.pdf", "page": 3}]}.',
        )
    evaluation = evaluate(session, questions, source=source.name, filters=filters, bad_lines=bad, quiet=quiet)
    if markdown is not None:
        markdown.write_text(as_markdown(evaluation), encoding="utf-8")
    if as_one_json:
        sys.stdout.write(dump({"schema": SCHEMA_VERSION, **as_json(evaluation)}) + "\n")
    else:
        _show(evaluation, console())
    return SOME_FAILED if bad or any(outcome.error for outcome in evaluation.outcomes) else 0


def evaluate(
    session: Session,
    questions: Sequence[KnownQuestion],
    *,
    source: str,
    filters: Filters,
    bad_lines: tuple[BadLine, ...],
    quiet: bool,
) -> Evaluation:
    """Ask the questions, each with its own history and none kept; failures are said on stderr as they come."""

    def ask(question: KnownQuestion) -> Answer:
        return session.answer(question.question, history=question.history, filters=filters)

    outcomes = []
    for outcome in _watched(run(questions, ask, clock=time.monotonic), len(questions), quiet):
        outcomes.append(outcome)
        if outcome.error:
            say(f"{outcome.question.question_id}: {outcome.error}")
    return Evaluation(source, tuple(outcomes), bad_lines, _conditions(session, outcomes, filters))


def _conditions(session: Session, outcomes: Sequence[Outcome], filters: Filters) -> dict[str, str]:
    library, answers = session.library, [outcome.answer for outcome in outcomes if outcome.answer]
    used = {name: answer.models.get(name) for answer in answers[:1] for name in ("embedder", "reranker")}
    llms = sorted({answer.models.get("llm") or "" for answer in answers} - {""})
    passages = max((len(answer.found.hits) for answer in answers), default=0)
    return {
        "papers": str(len(library.papers())),
        "passages": str(library.chunk_count),
        "profile": session.profile.name,
        "embedder": used.get("embedder") or "none",
        "reranker": used.get("reranker") or "none",
        "llm": ", ".join(llms) or "none (quotes)",
        "passages for an answer": str(passages),
        **({"filters": described(filters)} if filters != Filters() else {}),
    }


def _watched(outcomes: Iterable[Outcome], total: int, quiet: bool) -> Iterator[Outcome]:
    """The same outcomes, counted on stderr where a person watches."""
    if quiet or not sys.stderr.isatty():
        yield from outcomes
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(outcomes, description="questions", total=total, console=Console(stderr=True), transient=True)


def _show(evaluation: Evaluation, out: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    conditions = ", ".join(f"{name} {value}" for name, value in evaluation.conditions.items())
    out.print(Text(plain(f"{evaluation.source}: {len(evaluation.outcomes)} questions")), style="bold", soft_wrap=True)
    out.print(Text(plain(conditions)), style="dim", soft_wrap=True)
    measures = Table(box=None, pad_edge=False)
    for name in ("measure", "value (95 %)", "of", "meaning"):
        measures.add_column(name, no_wrap=name != "meaning")
    for name, found in evaluation.overall.items():
        measures.add_row(name, shown(found), str(found.questions), EXPLAINED[name])
    out.print(measures)
    out.print()
    kinds = Table(box=None, pad_edge=False)
    for name in ("type", "questions", *IN_THE_TABLE):
        kinds.add_column(name, justify="left" if name == "type" else "right")
    for kind, means in evaluation.by_kind.items():
        cells = (f"{means[name].mean:.2f}" if name in means else "–" for name in IN_THE_TABLE)
        kinds.add_row(Text(plain(kind)), str(means["seconds"].questions), *cells)
    out.print(kinds)
