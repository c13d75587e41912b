"""`python tools/fit_aspects.py HOME LABELS`: fit ragscience/ask/aspects.npz to sentences that were labelled by reading.

HOME is a library that has the papers, LABELS a folder with a file for each, NAME.json for NAME.md: of each aspect the
numbers of the sentences that answer it, with 2 where one does by itself and 1 where it says a part of it.

The labels in use were made by reading 42 papers: 29 on machine learning of SciREX (Jain and others 2020, Apache 2.0),
13 of PLOS (CC BY). The figures are of a sixth of the papers at a time, by a model of the others.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from ragscience import Engine
from ragscience.ask.paper_text import PaperText
from ragscience.ask.said_of_paper import ASPECTS, WEIGHTS, features_of

LABEL_NAMES = {"question": "problem"}
"""Where a label's name is another one."""
IN_PAPERS, PAIRS_IN_PAPERS = 3, 4
"""Papers that a word, and a pair of words, must be in."""
DECAY, PARTLY, FOLDS = 0.3, 0.6, 6
Paper = tuple[list[frozenset[str]], NDArray[np.float64]]
"""The features of each sentence, and its labels, [sentences, aspects]: 0, 1 or 2."""


def papers_of(home: Path, labels: Path) -> list[Paper]:
    """The labelled papers of the library."""
    found = list[Paper]()
    with Engine.open(home) as engine:
        library = engine.library
        for paper in library.papers():
            file = labels / f"{Path(paper.file).stem}.json"
            if not file.exists():
                continue
            given = json.loads(file.read_text(encoding="utf-8"))
            sentences = PaperText(library, paper).sentences
            marks = np.zeros((len(sentences), len(ASPECTS)))
            for column, name in enumerate(ASPECTS):
                for number, mark in given.get(LABEL_NAMES.get(name, name), []):
                    marks[number, column] = mark
            features = [features_of(one, at / len(sentences)) for at, one in enumerate(sentences)]
            found.append((features, marks))
    return found


def names_of(papers: Sequence[Paper]) -> list[str]:
    """The features that enough papers have."""
    having = Counter(name for features, _ in papers for name in frozenset().union(*features))
    return sorted(name for name, n in having.items() if n >= (PAIRS_IN_PAPERS if " " in name else IN_PAPERS))


def matrix(papers: Sequence[Paper], names: Sequence[str]) -> csr_matrix:
    """[sentences, names + 1]: each row of length 1, and a column of ones."""
    rows = {name: row for row, name in enumerate(names)}
    known = [[rows[one] for one in each if one in rows] for features, _ in papers for each in features]
    values = [value for each in known for value in [*[1 / math.sqrt(len(each) or 1)] * len(each), 1.0]]
    columns = [column for each in known for column in [*each, len(names)]]
    ends = np.cumsum([0, *(len(each) + 1 for each in known)])
    return csr_matrix((values, columns, ends), shape=(len(known), len(names) + 1))


def fit(papers: Sequence[Paper], names: Sequence[str]) -> NDArray[np.float64]:
    """[names + 1, aspects]: a logistic regression for each aspect, its weights kept small but for the constant."""
    rows, marks = matrix(papers, names), np.concatenate([marks for _, marks in papers])
    decay = np.append(np.full(len(names), DECAY), 0.0)
    start = np.zeros(rows.shape[1])
    columns = [minimize(_loss, start, (rows, given, decay), "L-BFGS-B", jac=True).x for given in marks.T]
    return np.stack(columns, axis=1)


def _loss(
    weights: NDArray[np.float64], rows: csr_matrix, given: NDArray[np.float64], decay: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The loss and its slope."""
    scores, wanted, worth = rows @ weights, given > 0, np.where(given == 1, PARTLY, 1.0)
    value = (worth * (np.logaddexp(0, scores) - wanted * scores)).sum() + (decay * weights**2).sum() / 2
    return float(value), rows.T @ (worth * (1 / (1 + np.exp(-scores)) - wanted)) + decay * weights


def main(home: str, labels: str) -> int:
    """Fit, and print how often the best sentence, and the best three, of a paper that was left out are labelled."""
    papers = papers_of(Path(home), Path(labels))
    right = {name: list[tuple[float, float, float]]() for name in ASPECTS}
    for fold in range(FOLDS):
        others = [paper for at, paper in enumerate(papers) if at % FOLDS != fold]
        names = names_of(others)
        weights = fit(others, names)
        for features, marks in papers[fold::FOLDS]:
            scores = matrix([(features, marks)], names) @ weights
            for column, name in enumerate(ASPECTS):
                if (marks[:, column] > 0).any():
                    order = np.argsort(-scores[:, column], kind="stable")
                    held = marks[order, column] > 0
                    precision = (np.cumsum(held) / np.arange(1, len(held) + 1))[held].mean()
                    right[name].append((held[0], held[:3].mean(), precision))
    for name, each in right.items():
        first, three, precision = np.mean(each, axis=0)
        print(f"{name:<16}{len(each):>4} papers  first {first:.2f}  three {three:.2f}  mean precision {precision:.2f}")
    names = names_of(papers)
    weights = fit(papers, names).astype(np.float16)
    np.savez_compressed(WEIGHTS, features=np.frombuffer("\n".join(names).encode(), np.uint8), weights=weights)
    print(f"{len(papers)} papers, {sum(len(marks) for _, marks in papers)} sentences, {len(names)} features")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
