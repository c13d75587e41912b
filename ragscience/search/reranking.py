"""Reranking within a time budget.

A cross-encoder takes about a tenth of a second per passage, more than the rest of a search together. So
passages are scored in first-stage order, a batch at a time, until all are scored or the time is up.

A passage that the reranker read without a score (NaN: an LLM with an unusable reply, damaged weights) keeps its
first-stage rank, and those with a score share the other ranks among them: scores of two scales are
never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragscience.search.fusion import weighted_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.library.store import Store
    from ragscience.models.maxsim import QuestionTokens
    from ragscience.models.model_protocols import Reranker, Scale, TokenEmbedder

__all__ = ["MAX_LIVE_PASSAGES", "InBatches", "Reranked", "late_scores", "maxsim_scores", "rerank_within_budget"]


@dataclass(frozen=True, slots=True)
class Reranked:
    """The reranker's scores of the passages, in the order in which they were given."""

    scores: tuple[float | None, ...]
    """Higher is better; None for a passage that was not read, or got no score."""
    read: int
    """How many were read: the first `read` of them."""
    complete: bool
    """False if the time was up before all were read."""

    @property
    def order(self) -> list[int]:
        """Indices of the passages, best first; see the module's docstring for those without a score.

        Unread ones follow in first-stage order.
        """
        scored = [number for number, score in enumerate(self.scores) if score is not None]
        scored.sort(key=lambda number: -(self.scores[number] or 0.0))
        best = iter(scored)
        read = [number if self.scores[number] is None else next(best) for number in range(self.read)]
        return read + list(range(self.read, len(self.scores)))


@dataclass(frozen=True, slots=True)
class InBatches:
    """A reranker that receives at most `size` passages at a time."""

    reranker: Reranker
    size: int

    @property
    def name(self) -> str:
        """The reranker's own."""
        return self.reranker.name

    @property
    def scale(self) -> Scale:
        """The reranker's own."""
        return self.reranker.scale

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
    """Score the passages, in first-stage order, as far as the time allows.

    `budget_ms` None scores all, in one call. The first batch of
    `batch_size` is always scored, another one only if at the pace of the last one it would finish in time.
    `clock` gives monotonic seconds, such as time.monotonic. Raises ModelProblem where the reranker does.
    """
    if budget_ms is None or not passages:
        return _reranked(_scores(reranker, question, passages), len(passages), complete=True)
    started = before = clock()
    scores: list[float] = []
    pace = 0.0  # seconds per character, in the last batch
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
    scored = [None if np.isnan(score) else score for score in scores]
    return Reranked((*scored, *[None] * (passages - len(scores))), len(scores), complete)


MAXSIM_WEIGHT, FUSED_WEIGHT = 0.5, 0.5
"""Chosen in docs/choices.md; each score is min-max scaled over the candidates before the sum."""
MAX_LIVE_PASSAGES = 8
"""How many candidates without stored token vectors the model embeds at query time."""


def maxsim_scores(
    question: QuestionTokens, fused: Mapping[int, float], *, library: Store, tokens_from: TokenEmbedder
) -> dict[int, float]:
    """MaxSim, -1 to 1, of each candidate with stored token vectors, and of the first few of the others.

    Raises ModelProblem.
    """
    from ragscience.models.maxsim import maxsim

    ids = sorted(fused, key=lambda chunk_id: (-fused[chunk_id], chunk_id))
    kept = _token_vectors(ids, library, tokens_from)
    having = [chunk_id for chunk_id in ids if chunk_id in kept]
    return dict(zip(having, maxsim(question, [kept[chunk_id] for chunk_id in having]).tolist(), strict=True))


def late_scores(maxsims: Mapping[int, float], fused: Mapping[int, float]) -> dict[int, float]:
    """A score of 0-1 for each candidate of `fused`: a weighted sum of MaxSim and fused score.

    A candidate without token vectors gets the lowest MaxSim of all.
    """
    lowest = min(maxsims.values(), default=0.0)
    return weighted_sum([(MAXSIM_WEIGHT, dict.fromkeys(fused, lowest) | dict(maxsims)), (FUSED_WEIGHT, fused)])


def _token_vectors(ids: list[int], library: Store, tokens_from: TokenEmbedder) -> dict[int, NDArray[np.uint8]]:
    """Codes, shape (tokens, 28), by id: the stored ones, and those of the first few others, made now."""
    from ragscience.models.maxsim import compress

    kept = library.token_vectors(ids)
    missing = [chunk_id for chunk_id in ids if chunk_id not in kept][:MAX_LIVE_PASSAGES]
    if missing:
        chunks = library.chunks(missing)
        passes = tokens_from.embed_with_tokens([chunk.searched for chunk in chunks])
        kept |= {chunk.chunk_id: compress(each) for chunk, each in zip(chunks, passes, strict=True)}
    return kept
