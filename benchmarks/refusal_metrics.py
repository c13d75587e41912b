"""How well answers are refused that the papers cannot give, measured where it is hard.

A question about something far away is easily refused. So each question that has an answer is asked twice: of all
papers, and of all but those that answer it, which are about the same field and use the same words.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragscience.core.records import Filters, Found

__all__ = ["Judged", "Probe", "Rates", "auc", "everything_but", "judge", "rates"]

RESAMPLES = 2000
SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class Probe:
    """A question of a question set."""

    question_id: str
    question: str
    """As it is searched: a follow-up made whole."""
    papers: frozenset[str]
    """Files of all papers that answer it; empty where none does."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found for a question, and whether it could be answered."""

    probe: Probe
    answerable: bool
    """Whether the papers that were searched answer it."""
    found: Found


@dataclass(frozen=True, slots=True)
class Rates:
    """What a score and its threshold are worth; each with a 95 % interval, (low, high)."""

    answerable: int
    """How many searches had an answer to find."""
    unanswerable: int
    auc: float
    """How often a search with an answer scores above one without."""
    auc_interval: tuple[float, float]
    wrongly_refused: float
    """Share of the answerable ones below the threshold."""
    wrongly_refused_interval: tuple[float, float]
    rightly_refused: float
    """Share of the others below it."""
    rightly_refused_interval: tuple[float, float]


def judge(probes: Sequence[Probe], files: Sequence[str], search: Callable[[str, Filters], Found]) -> list[Judged]:
    """Ask each probe of all papers, and each that has an answer also of all `files` but those that answer it.

    `files` are those of the whole library, as `Paper.file` has them. A probe that all of them answer is asked once.
    """
    judged = []
    for probe in probes:
        judged.append(Judged(probe, bool(probe.papers), search(probe.question, Filters())))
        rest = everything_but(probe.papers, files)
        if probe.papers and rest.papers:
            judged.append(Judged(probe, False, search(probe.question, rest)))
    return judged


def everything_but(left_out: Collection[str], files: Sequence[str]) -> Filters:
    """What finds all of `files` but `left_out`, by whole names; empty where nothing is left."""
    return Filters(papers=tuple(_whole(file) for file in files if file not in left_out))


def _whole(file: str) -> str:
    """A pattern that fits this name and no longer one: with a letter in brackets it is a shell pattern only."""
    place = next((place for place, letter in enumerate(file) if letter.isascii() and letter.isalnum()), None)
    if place is None:
        return glob.escape(file)
    return f"{glob.escape(file[:place])}[{file[place]}]{glob.escape(file[place + 1 :])}"


def auc(with_answer: Sequence[float], without: Sequence[float]) -> float:
    """How often a score of `with_answer` is above one of `without`, a tie counting half; 0.5 where either is empty.

    By ranks: U / (m n), Mann and Whitney 1947, "On a test of whether one of two random variables is stochastically
    larger than the other".
    """
    if not with_answer or not without:
        return 0.5
    scores = np.array([*with_answer, *without])
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    first = len(with_answer)
    above = float(ranks[:first].sum()) - first * (first + 1) / 2
    return above / (first * len(without))


def rates(judged: Sequence[Judged], scores: Sequence[float], threshold: float) -> Rates:
    """AUC of `scores`, one for each of `judged`, and what is refused below `threshold`.

    The intervals are percentiles of 2000 bootstrap samples of questions: the searches of one question stay together.
    """
    values, answerable = np.array(scores, np.float64), np.array([each.answerable for each in judged], np.bool_)
    by_question: dict[str, list[int]] = {}
    for row, each in enumerate(judged):
        by_question.setdefault(each.probe.question_id, []).append(row)
    groups = list(by_question.values())
    draw = np.random.default_rng(SEED)
    samples = []
    for _ in range(RESAMPLES if groups else 0):
        drawn = np.array([row for group in draw.integers(0, len(groups), len(groups)) for row in groups[group]])
        samples.append(_figures(values[drawn], answerable[drawn], threshold))
    figures = _figures(values, answerable, threshold)
    ends = np.nanpercentile(np.array(samples), [2.5, 97.5], axis=0) if samples else np.array([figures, figures])
    low, high = ends.tolist()
    return Rates(
        answerable=int(answerable.sum()),
        unanswerable=int((~answerable).sum()),
        auc=figures[0],
        auc_interval=(low[0], high[0]),
        wrongly_refused=figures[1],
        wrongly_refused_interval=(low[1], high[1]),
        rightly_refused=figures[2],
        rightly_refused_interval=(low[2], high[2]),
    )


def _figures(
    values: NDArray[np.float64], answerable: NDArray[np.bool_], threshold: float
) -> tuple[float, float, float]:
    """(AUC, share of the answerable below the threshold, share of the others below it); no items give a share of 0."""
    yes, no = values[answerable], values[~answerable]
    refused = [float((part < threshold).mean()) if part.size else 0.0 for part in (yes, no)]
    return auc(yes.tolist(), no.tolist()), refused[0], refused[1]
