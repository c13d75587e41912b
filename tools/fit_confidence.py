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

    asked = [each for file in files for each in ask_all(Path(home), Path(file).stem, Path(file))]
    near = [each for each in asked if each.name != "off_topic"]
    values = np.array([list(each.signs.values()) for each in near])
    weights = fit(values, np.array([each.holds for each in near], np.float64))
    for sign, weight in zip(("intercept", *near[0].signs), weights, strict=True):
        print(f"    {sign:15}{weight:8.2f}")
    before = np.array([[each.signs["share"], each.signs["maxsim"]] for each in asked])
    print("answerability:", fit(before, np.array([each.question.answerable for each in asked], np.float64)).round(2))
    for table in report(asked).tables:
        print(table.heading, table.note, sep="\n")
        for row in (table.columns, *table.rows):
            print("   ", "".join(f"{each:24}" for each in row))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
