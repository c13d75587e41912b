"""The cross-encoder within a budget of time.

Reading question and passage together costs about a tenth of a second a passage, more than all the rest of a search. So
passages are read in the order that the first pass gave them, a batch at a time, until all are read or the time is up.

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

__all__ = ["InBatches", "Reranked", "rerank_within_budget"]


@dataclass(frozen=True, slots=True)
class Reranked:
    """What the reader said of each passage, in the order in which they were given."""

    scores: tuple[float | None, ...]
    """Higher is better; None for a passage that was not read, or got no score."""
    read: int
    """How many were read: the first `read` of them."""
    complete: bool
    """False where the time was up before all were read."""

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
    reranker: Reranker,
    *,
    budget_ms: float | None,
    batch_size: int,
    clock: Callable[[], float],
) -> Reranked:
    """Read the passages, best of the first pass first, as far as the time allows.

    `budget_ms` None reads all, and in one call. The first batch of
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
        if scores and (before - started + pace * characters) * 1000 > budget_ms:
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
