"""How far answers can be trusted, by what `query.py eval` measures: answers without an LLM, their passages and pages.

The development questions are asked of the library of all papers as query.py asks them, with the embedded embedder and
no LLM, so that anyone can repeat it to the digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.corpora import data_folder
from benchmarks.libraries import papers_home
from benchmarks.report import Report, Table, cell
from benchmarks.running import Options
from ragscience.evaluation.answer_metrics import MEASURES, Estimate
from ragscience.evaluation.eval_report import Evaluation, shown
from ragscience.evaluation.question_file import KnownQuestion, read_known_questions

TITLE = "Trust: answers without an LLM"
LONGEST_QUESTION = 8000
PASSAGES = (4, 6, 8, 12)
IN_THE_TYPES = ("any@4", "answer", "passages", "cited", "cited share", "refused", "rightly refused")


def run(options: Options) -> Report:
    """All measures with their intervals, by type of question, and by how many passages an answer is made from."""
    del options
    data = data_folder()
    if data is None:
        return Report("trust", TITLE, [])
    lines = read_known_questions(data / "qa" / "dev.jsonl", LONGEST_QUESTION)
    return report(papers_home(), [line for line in lines if isinstance(line, KnownQuestion)])


def report(home: Path, questions: Sequence[KnownQuestion]) -> Report:
    """The same for any home and questions."""
    default = _evaluated(home, questions, wanted=None)
    unrefused = _evaluated(home, questions, wanted=None, refuse=False)
    by_passages = {k: _evaluated(home, questions, wanted=k, refuse=False) for k in PASSAGES}
    whole, open_ = default.overall, unrefused.overall
    tables = [
        Table(
            f"{len(questions)} questions, {default.conditions['passages for an answer']} passages for an answer",
            ["measure", "default", "nothing refused", "questions", "meaning"],
            [
                [name, shown(found), _shown(open_.get(name)), str(found.questions), MEASURES[name]]
                for name, found in whole.items()
            ],
            note="In brackets: 95 % bootstrap interval over the questions. The first quote has up to 600 characters, "
            "the later ones 250; there are 8 at most.",
        ),
        Table(
            "By type of question, default",
            ["type", "questions", *IN_THE_TYPES],
            [
                [kind, str(found["seconds"].questions), *(_mean(found.get(name)) for name in IN_THE_TYPES)]
                for kind, found in default.by_kind.items()
            ],
            detail=True,
        ),
        Table(
            "By the passages that an answer is made from, nothing refused",
            ["passages", "passages hold the answer", "quotes hold it", "a citation on a right page"],
            [
                [str(k), *(shown(found.overall[name]) for name in ("passages", "answer", "cited"))]
                for k, found in by_passages.items()
            ],
        ),
    ]
    figures: dict[str, Any] = {"default": _means(whole), "nothing refused": _means(open_)}
    figures |= {f"{k} passages": _means(found.overall) for k, found in by_passages.items()}
    return Report("trust", TITLE, tables, figures)


def _evaluated(
    home: Path, questions: Sequence[KnownQuestion], *, wanted: int | None, refuse: bool = True
) -> Evaluation:
    from ragscience.core.settings import load_settings
    from ragscience.engine import Engine, question_run
    from ragscience.engine.eval_runs import EvalRequest

    chosen = load_settings(home=home, offline=True, embedder="embedded", answerer="extractive")
    threshold = question_run.ANSWERABLE if refuse else 0.0
    with patch.object(question_run, "ANSWERABLE", threshold), Engine.open(home, chosen) as engine:
        return engine.evaluate(EvalRequest(questions, "dev.jsonl", top_k=wanted))


def _shown(found: Estimate | None) -> str:
    """With its interval; a dash where no question could tell, as of refusals where nothing is refused."""
    return cell(None) if found is None else shown(found)


def _mean(found: Estimate | None) -> str:
    return cell(None if found is None else found.mean, 2)


def _means(measures: dict[str, Estimate]) -> dict[str, float]:
    return {name: round(found.mean, 4) for name, found in measures.items()}
