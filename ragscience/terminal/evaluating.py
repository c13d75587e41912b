"""`query.py eval`: a file of questions with known answers is asked, in one way or two, and the measures are shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from ragscience.engine.filter_words import described
from ragscience.errors import UsageError
from ragscience.evaluation.eval_report import Evaluation, Paired, as_markdown, eval_output
from ragscience.evaluation.eval_run import Meter, Outcome, judged, run
from ragscience.evaluation.question_file import BadLine, KnownQuestion, as_listed, read_known_questions
from ragscience.json_output import print_json
from ragscience.records import Answer, Filters
from ragscience.terminal.cli import say
from ragscience.terminal.modes import ASK, Mode, asker
from ragscience.terminal.screen import console
from ragscience.terminal.session import Session

__all__ = ["evaluate", "evaluate_all"]

SOME_FAILED = 3

Judge = Callable[[str, Answer], Mapping[str, float]]


def evaluate_all(
    opened: Callable[[Mode], Session],
    source: Path,
    *,
    modes: Sequence[Mode],
    filters: Filters,
    as_one_json: bool,
    markdown: Path | None,
    judge: bool,
    quiet: bool,
) -> int:
    """Ask every question of `source` in each of `modes`, one or two, and show the measures; an exit code.

    It is SOME_FAILED for bad lines and failures. `opened` gives a session for a mode. `markdown` gets the same as a
    page. Raises UsageError where there is no question at all, no folder for the page, or no model that could `judge`.
    """
    if markdown is not None and not markdown.absolute().parent.is_dir():
        raise UsageError(f"{markdown.parent} is no folder.", "Name a file in a folder that is there.")
    evaluations: list[Evaluation] = []
    questions: list[KnownQuestion] = []
    bad: tuple[BadLine, ...] = ()
    for mode in modes:
        with opened(mode) as session:
            if not evaluations:
                questions, bad = _read(source, session.settings.max_question_chars)
                questions = as_listed(questions, {paper.path: paper.file for paper in session.library.papers()})
            judge_of = _judge(session) if judge else None
            evaluations.append(
                evaluate(
                    session,
                    questions,
                    source=source.name,
                    filters=filters,
                    bad_lines=bad,
                    quiet=quiet,
                    mode=mode,
                    judge=judge_of,
                )
            )
    first, second = evaluations[0], evaluations[1] if len(evaluations) > 1 else None
    if markdown is not None:
        markdown.write_text(as_markdown(first, second), encoding="utf-8")
    if as_one_json:
        print_json(eval_output(first, second))
    else:
        _show(first, second)
    return SOME_FAILED if bad or any(o.error for each in evaluations for o in each.outcomes) else 0


def evaluate(
    session: Session,
    questions: Sequence[KnownQuestion],
    *,
    source: str,
    filters: Filters,
    bad_lines: tuple[BadLine, ...],
    quiet: bool,
    mode: Mode = ASK,
    judge: Judge | None = None,
) -> Evaluation:
    """Ask the questions, each with its own history and none kept; failures are said on stderr as they come."""
    meter = Meter(time.monotonic)
    outcomes: list[Outcome] = []
    with _counting(session, meter):
        asked = run(questions, asker(session, mode, filters), meter=meter)
        for outcome in _watched(asked if judge is None else judged(asked, judge), len(questions), mode.name, quiet):
            outcomes.append(outcome)
            if outcome.error:
                say(f"{outcome.question.question_id}: {outcome.error}")
    return Evaluation(source, tuple(outcomes), bad_lines, _conditions(session, mode, outcomes, filters))


def _read(source: Path, max_chars: int) -> tuple[list[KnownQuestion], tuple[BadLine, ...]]:
    lines = list(read_known_questions(source, max_chars))
    bad = tuple(line for line in lines if isinstance(line, BadLine))
    for line in bad:
        say(f"{source.name}, line {line.number}, is left out: {line.reason}")
    questions = [line for line in lines if isinstance(line, KnownQuestion)]
    if not questions:
        raise UsageError(
            f"{source} has no question.",
            'Write one a line: {"question": "…", "must_contain": ["…"], "evidence": [{"file": "a.pdf", "page": 3}]}, '
            "or let `query.py eval --make 20 --out FILE` draft some.",
        )
    return questions, bad


@contextmanager
def _counting(session: Session, meter: Meter) -> Iterator[None]:
    """Within it the meter counts the session's searches and all calls of language models, whoever makes them."""

    def counted() -> None:
        meter.searches += 1

    session.on_search = counted
    try:
        with meter.watching() if session.llm is not None else nullcontext():
            yield
    finally:
        session.on_search = None


def _judge(session: Session) -> Judge:
    from ragscience.evaluation.llm_judge import RagasJudge

    llm = session.llm
    if llm is None:
        raise UsageError(
            "--judge needs a language model, and there is none.",
            "Start Ollama and run `python query.py models pull`.",
        )
    return RagasJudge(llm, session.embedder, max_tokens=llm.num_predict, warning=session.warning)


def _conditions(session: Session, mode: Mode, outcomes: Sequence[Outcome], filters: Filters) -> dict[str, str]:
    library, answers = session.library, [outcome.answer for outcome in outcomes if outcome.answer]
    used = {name: answer.models.get(name) for answer in answers[:1] for name in ("embedder", "reranker")}
    llms = sorted({answer.models.get("llm") or "" for answer in answers} - {""})
    passages = max((len(answer.found.hits) for answer in answers), default=0)
    drafts = sum(outcome.question.draft for outcome in outcomes)
    return {
        "mode": mode.name,
        "papers": str(len(library.papers())),
        "passages": str(library.chunk_count),
        "profile": session.profile.name,
        "embedder": used.get("embedder") or "none",
        "reranker": used.get("reranker") or "none",
        "llm": ", ".join(llms) or "none (quotes)",
        "passages for an answer": str(passages),
        **({"filters": described(filters)} if filters != Filters() else {}),
        **({"drafts among the questions": str(drafts)} if drafts else {}),
    }


def _watched(outcomes: Iterable[Outcome], total: int, what: str, quiet: bool) -> Iterator[Outcome]:
    """The same outcomes, counted on stderr where a person watches."""
    if quiet or not sys.stderr.isatty():
        yield from outcomes
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(outcomes, description=what, total=total, console=Console(stderr=True), transient=True)


def _show(first: Evaluation, second: Evaluation | None) -> None:
    from ragscience.terminal.evaluation_view import show_evaluation, show_paired

    if second is None:
        show_evaluation(first, console())
    else:
        show_paired(Paired(first, second), console())
