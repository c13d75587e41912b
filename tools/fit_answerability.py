"""Fits the coefficients of ragscience/ask/confidence.py, and says what they are worth.

python tools/fit_answerability.py HOME QUESTIONS.jsonl

HOME is the home of a library of all papers, made with the embedded embedder; QUESTIONS.jsonl has an object a line with
`id`, `question`, `answerable`, `evidence` and `alternatives` (lists of objects with `file`), and maybe `history`.
Nothing is written. The figures are of questions whose papers a fit has not seen: for each set of papers that answers a
question, the model is fitted to the questions that share none of them.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from benchmarks.refusal_metrics import Judged, Probe


def main(home: str, questions: str) -> None:
    """Search, fit, and print."""
    from benchmarks.calibration import fit
    from benchmarks.refusal_metrics import judge
    from ragscience import Engine, SearchRequest
    from ragscience.ask.confidence import SIGNALS_OF
    from ragscience.core.settings import load_settings
    from ragscience.engine.question_run import ANSWERABLE, QuestionRun
    from ragscience.engine.searches import searched

    settings = load_settings(home=Path(home), embedder="embedded", rerank="late-interaction", offline=True)
    with Engine.open(home, settings) as engine:
        files = [paper.file for paper in engine.papers.list()]
        run = QuestionRun(engine, SearchRequest("fit"))
        judged = judge([_probe(json.loads(line)) for line in _lines(questions)], files, partial(searched, run))
    judged = [each for each in judged if "keyword_match" in each.found.signals]
    answerable = np.array([each.answerable for each in judged], np.float64)
    for name, signals in SIGNALS_OF.items():
        values = np.array([[each.found.signals[signal] for signal in signals] for each in judged])
        weights = fit(values, answerable)
        print(name)
        for signal, weight in zip(("intercept", *signals), weights, strict=True):
            print(f"    {signal:15}{weight:8.2f}")
        _report(judged, unseen(values, answerable, judged), ANSWERABLE)


def unseen(values: NDArray[np.float64], answerable: NDArray[np.float64], judged: list[Judged]) -> NDArray[np.float64]:
    """Each search's answerability, shape (len(judged),), by a fit without the questions that share a paper with it."""
    from benchmarks.calibration import fit

    papers = [_papers(each) for each in judged]
    scores = np.zeros(len(judged))
    for group in set(papers):
        held_out = np.array([group == other for other in papers])
        rest = np.array([not group & other for other in papers])
        weights = fit(values[rest], answerable[rest])
        scores[held_out] = 1 / (1 + np.exp(-(weights[0] + values[held_out] @ weights[1:])))
    return scores


def _papers(each: Judged) -> frozenset[str]:
    """Those that answer it; of a question without an answer the one that it seems to be about."""
    return each.probe.papers or frozenset(hit.chunk.file for hit in each.found.hits[:1])


def _report(judged: list[Judged], scores: NDArray[np.float64], threshold: float) -> None:
    from benchmarks.refusal_metrics import rates

    never_answered = [number for number, each in enumerate(judged) if each.answerable or not each.probe.papers]
    for label, numbers in (("all", range(len(judged))), ("without those asked of fewer papers", never_answered)):
        part = [judged[number] for number in numbers]
        figures = rates(part, [float(scores[number]) for number in numbers], threshold)
        print(f"  {label}: {figures.answerable} answerable, {figures.unanswerable} not")
        print(f"    AUC {figures.auc:.3f} {_interval(figures.auc_interval)}")
        print(f"    refused below {threshold:g}: {figures.wrongly_refused:.3f} of the answerable", end=" ")
        print(f"{_interval(figures.wrongly_refused_interval)}, {figures.rightly_refused:.3f} of the others", end=" ")
        print(_interval(figures.rightly_refused_interval))


def _interval(ends: tuple[float, float]) -> str:
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]"


def _probe(item: dict[str, Any]) -> Probe:
    from benchmarks.refusal_metrics import Probe

    places = [*item.get("evidence", ()), *item.get("alternatives", ())] if item["answerable"] else []
    return Probe(item["id"], item["question"], frozenset(place["file"] for place in places))


def _lines(questions: str) -> list[str]:
    return [line for line in Path(questions).read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
