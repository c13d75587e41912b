"""Fits the weights of ragscience/ask/confidence.py, and says what they are worth.

python tools/fit_confidence.py HOME QUESTIONS.jsonl …

HOME is the home of a library of all papers, made with the embedded embedder; the files are question sets as `query.py
eval` reads them, with questions that the papers answer, that they nearly answer and that are off the topic: they give
the weights of whether to answer at all. How sure an answer is comes from the questions and turns of
benchmarks/asking.py that passages answer, or should not, but for comparisons, and from those off the topic. Nothing is
written. The figures are of questions whose paper, and of turns whose series, a fit has not seen
(benchmarks/calibration.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def main(home: str, *files: str) -> None:
    """Ask, fit, and print."""
    from benchmarks.calibration import ask_all, fit, report
    from ragscience.ask.confidence import ANSWERABILITY, HIGH, MODEL

    asked = [each for file in files for each in ask_all(Path(home), Path(file).stem, Path(file))]
    turns = [*_turns(), *(("off_topic", each.signs, False) for each in asked if each.name == "off_topic")]
    series, seen, right = zip(*turns, strict=True)
    for name, model, rows, wanted in (
        ("answerability", ANSWERABILITY, [each.signs for each in asked], [each.question.answerable for each in asked]),
        ("confidence", MODEL, seen, right),
    ):
        signs = [*model][1:]
        values, wants = np.array([[row[sign] for sign in signs] for row in rows]), np.array(wanted, np.float64)
        print(name, *zip(("intercept", *signs), fit(values, wants).round(2).tolist(), strict=True))
    likely, of_series = np.zeros(len(wants)), np.array(series)
    for one in set(series):
        weights = fit(values[of_series != one], wants[of_series != one])
        likely[of_series == one] = 1 / (1 + np.exp(-weights[0] - values[of_series == one] @ weights[1:]))
    sure = likely >= HIGH
    print(f"{len(wants)} questions and turns; from {HIGH} on {sure.sum()}, right {wants[sure].sum():.0f}")
    for table in report(asked).tables:
        print(table.heading, table.note, sep="\n")
        for row in (table.columns, *table.rows):
            print("   ", "".join(f"{each:24}" for each in row))


def _turns() -> Iterator[tuple[str, dict[str, float], bool]]:
    """The series, the signs, and whether what is shown is right."""
    from benchmarks import asking
    from benchmarks.contract import ENVIRONMENT
    from benchmarks.corpora import data_folder
    from ragscience.ask.confidence import answerability, signs

    os.environ |= ENVIRONMENT | asking.SILENT
    data, seen = data_folder(), list[dict[str, float]]()
    assert data is not None

    def kept(found: Any, looked: Any, best: Any) -> float:
        seen.extend([] if found.parts or best is None else [signs(found, looked, best)])
        return answerability(found, looked, best)

    with patch("ragscience.ask.answers.answerability", kept):
        for series in asking.SERIES:
            for outcome in asking.outcomes(series, data):
                if not outcome["refused"] or outcome["set"] == "near":
                    yield from ((series, last, bool(outcome["shown"])) for last in seen[-1:])
                seen.clear()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
