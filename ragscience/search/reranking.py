"""Reranking: the order of the passages by what a reranker, or late interaction, makes of them.

A passage without a score (NaN: an LLM with an unusable reply, damaged weights) keeps its first-stage rank, and those
with a score share the other ranks among them: scores of two scales are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ragscience.search.first_pass import weighted_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.library.store import Store
    from ragscience.models.model_protocols import Reranker, Scale, TokenEmbedder


@dataclass(frozen=True, slots=True)
class Reranked:
    """The reranker's scores of the passages, in the order in which they were given."""

    scores: tuple[float | None, ...]
    """Higher is better; None for a passage that got no score."""

    @property
    def order(self) -> list[int]:
        """Indices of the passages, best first; see the module's docstring for those without a score."""
        scored = [number for number, score in enumerate(self.scores) if score is not None]
        best = iter(sorted(scored, key=lambda number: -(self.scores[number] or 0.0)))
        return [number if score is None else next(best) for number, score in enumerate(self.scores)]


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


def rerank(question: str, passages: Sequence[str], reranker: Reranker) -> Reranked:
    """The reranker's scores of the passages. Raises ModelProblem where the reranker does."""
    scores = reranker.score(question, passages).tolist() if passages else []
    return Reranked(tuple(None if np.isnan(score) else score for score in scores))


MAXSIM_WEIGHT, FUSED_WEIGHT = 0.5, 0.5
"""Chosen in docs/choices.md; each score is min-max scaled over the candidates before the sum."""
RERANK_WEIGHT = 0.5
"""Of a cross-encoder, as late interaction has it; the profile `guide` and a language model let theirs decide."""
MAX_LIVE_PASSAGES = 8
"""How many candidates without stored token vectors the model embeds at query time."""


def maxsim_scores(
    question: NDArray[np.float32], fused: Mapping[int, float], *, library: Store, tokens_from: TokenEmbedder
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


def mixed_scores(read: Mapping[int, float], before: Mapping[int, float]) -> dict[int, float]:
    """A score of 0-1 for each passage that a cross-encoder `read`: a weighted sum of its score and the one `before`."""
    known = {chunk_id: before.get(chunk_id, 0.0) for chunk_id in read}
    return weighted_sum([(RERANK_WEIGHT, read), (1 - RERANK_WEIGHT, known)])


def _token_vectors(ids: list[int], library: Store, tokens_from: TokenEmbedder) -> dict[int, NDArray[np.uint8]]:
    """Codes, shape (tokens, 28), by id: the stored ones, and those of the first few others, made now."""
    from ragscience.models.maxsim import compress

    kept = library.tokens.of(ids)
    missing = [chunk_id for chunk_id in ids if chunk_id not in kept][:MAX_LIVE_PASSAGES]
    if missing:
        chunks = library.chunks(missing)
        passes = tokens_from.embed_with_tokens([chunk.searched for chunk in chunks])
        kept |= {chunk.chunk_id: compress(each) for chunk, each in zip(chunks, passes, strict=True)}
    return kept
