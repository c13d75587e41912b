"""Fits the weights of ragscience/ask/confidence.py, and says what they are worth.

python tools/fit_confidence.py HOME QUESTIONS.jsonl …

HOME is the home of a library of all papers, made with the embedded embedder; the files are question sets as `query.py
eval` reads them, with questions that the papers answer and that they nearly answer. Nothing is written. The figures
are of questions whose paper a fit has not seen (benchmarks/calibration.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def main(home: str, *files: str) -> None:
    """Ask, fit, and print."""
    from benchmarks.calibration import ask_all, fit, report
    from ragscience.ask.confidence import ANSWERABILITY, MODEL

    asked = [each for file in files for each in ask_all(Path(home), Path(file).stem, Path(file))]
    near = [each for each in asked if each.name != "off_topic"]
    for name, model, questions, wanted in (
        ("answerability", ANSWERABILITY, asked, [each.question.answerable for each in asked]),
        ("confidence", MODEL, near, [each.holds for each in near]),
    ):
        signs = [*model][1:]
        values = np.array([[each.signs[sign] for sign in signs] for each in questions])
        weights = fit(values, np.array(wanted, np.float64)).round(2).tolist()
        print(name, *zip(("intercept", *signs), weights, strict=True))
    for table in report(asked).tables:
        print(table.heading, table.note, sep="\n")
        for row in (table.columns, *table.rows):
            print("   ", "".join(f"{each:24}" for each in row))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
