"""The cross-encoder within a budget of time: it reads the passages that may matter, and stops.

Reading question and passage together costs about a tenth of a second a passage, more than all the rest of a search. So
passages are read in the order that the first pass gave them, a batch at a time, until

- all are read,
- no unread passage can plausibly enter the first `top_k`, or
- the time is up.

**Plausibly**: what was read tells how the reader's score goes with the first pass's. A line is fitted to those pairs by
least squares, its slope not below 0, and an unread passage may reach the upper end of the interval for a new
observation, `a + b x + z s sqrt(1 + 1/n + (x - mean x)² / sum (x - mean x)²)` (Draper and Smith, Applied Regression
Analysis, 3rd edition, section 3.1), s being the standard deviation of the residuals. Reading stops when the `top_k`-th
best score is above all of these ends. Where the first pass says nothing about the reader's score the interval is as
wide as the scores are spread, and reading goes on.

A passage that the reader read and gave no score (NaN: an LLM whose reply could not be used, damaged weights) keeps the
place that the first pass gave it, and those with a score share the other places among them: scores of two scales are
never held against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.models.model_protocols import Reranker

__all__ = ["MIN_READ", "InBatches", "Reranked", "rerank_within_budget"]

MIN_READ = 8
"""Passages that are read before the line through their scores is believed."""
DEVIATIONS = 2.0
"""z, in standard deviations: chosen in docs/choices.md."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What the reader said of each passage, in the order in which they were given."""

    scores: tuple[float | None, ...]
    """Higher is better; None for a passage that was not read, or got no score."""
    read: int
    """How many were read: the first `read` of them."""
    complete: bool
    """Whether the first `top_k` are settled; False where the time was up before."""

    @property
    def order(self) -> list[int]:
        """Numbers of the passages, best first; see the top of this file for those without a score.

        Those not read follow in the order of the first pass.
        """
        told = [number for number, score in enumerate(self.scores) if score is not None]
        told.sort(key=lambda number: -(self.scores[number] or 0.0))
        best = iter(told)
        read = [number if self.scores[number] is None else next(best) for number in range(self.read)]
        return read + list(range(self.read, len(self.scores)))


@dataclass(frozen=True, slots=True)
class InBatches:
    """A reranker that gets no more than `size` passages at a time."""

    reranker: Reranker
    size: int

    @property
    def name(self) -> str:
        """The reranker's own."""
        return self.reranker.name

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """The reranker's scores, shape (len(passages),), float32. Raises ModelProblem."""
        scores = np.empty(len(passages), np.float32)
        for start in range(0, len(passages), self.size):
            batch = passages[start : start + self.size]
            scores[start : start + len(batch)] = self.reranker.score(question, batch)
        return scores


def rerank_within_budget(
    question: str,
    passages: Sequence[str],
    first_pass: Sequence[float],
    reranker: Reranker,
    *,
    budget_ms: float | None,
    top_k: int,
    batch_size: int,
    clock: Callable[[], float],
) -> Reranked:
    """Read the passages, best of the first pass first, as far as they matter and the time allows.

    `first_pass` are the first pass's scores, falling; `budget_ms` None reads all, and in one call. The first batch of
    `batch_size` is read whatever it costs, another one only if at the pace of the last one it would end in time.
    `clock` gives seconds that never go back, such as time.monotonic. Raises ModelProblem where the reranker does.
    """
    if budget_ms is None or not passages:
        return _reranked(_scores(reranker, question, passages), len(passages), complete=True)
    started = before = clock()
    scores: list[float] = []
    pace = 0.0  # seconds a character, in the last batch
    while len(scores) < len(passages):
        batch = passages[len(scores) : len(scores) + batch_size]
        characters = sum(map(len, batch)) + len(batch) * len(question)
        if scores:
            if _settled(first_pass, scores, top_k):
                return _reranked(scores, len(passages), complete=True)
            if (before - started + pace * characters) * 1000 > budget_ms:
                return _reranked(scores, len(passages), complete=False)
        scores += _scores(reranker, question, batch)
        now = clock()
        pace, before = (now - before) / max(characters, 1), now
    return _reranked(scores, len(passages), complete=True)


def _scores(reranker: Reranker, question: str, passages: Sequence[str]) -> list[float]:
    scores: list[float] = reranker.score(question, passages).tolist()
    return scores


def _reranked(scores: Sequence[float], passages: int, *, complete: bool) -> Reranked:
    told = [None if np.isnan(score) else score for score in scores]
    return Reranked((*told, *[None] * (passages - len(scores))), len(scores), complete)


def _settled(first_pass: Sequence[float], scores: Sequence[float], top_k: int) -> bool:
    """Whether no unread passage can plausibly be among the `top_k` best."""
    if len(scores) < max(MIN_READ, top_k) or not np.isfinite(scores).all():
        return False
    weakest = sorted(scores, reverse=True)[top_k - 1]
    read, unread = np.array(first_pass[: len(scores)]), np.array(first_pass[len(scores) :])
    return bool((reachable(read, np.array(scores), unread) < weakest).all())


def reachable(
    first_pass: NDArray[np.float64], scores: NDArray[np.float64], unread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How high each unread passage may plausibly score, shape (len(unread),); see the top of this file.

    `first_pass` and `scores`, both shape (n,), n >= 3, are of the passages that were read; `unread`, the first pass's
    scores of those that were not.
    """
    n = len(scores)
    apart = first_pass - first_pass.mean()
    spread = float(apart @ apart)
    slope = max(0.0, float(apart @ scores) / spread) if spread > 0 else 0.0
    residuals = scores - scores.mean() - slope * apart
    deviation = float(np.sqrt(residuals @ residuals / (n - 2)))
    distance = unread - first_pass.mean()
    width = np.sqrt(1 + 1 / n + (distance**2 / spread if spread > 0 else 0.0))
    ends: NDArray[np.float64] = scores.mean() + slope * distance + DEVIATIONS * deviation * width
    return ends
