"""Late interaction: orders candidates by the token vectors stored at ingest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ragscience.search.fusion import weighted_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.library.store import Store
    from ragscience.models.maxsim import QuestionTokens
    from ragscience.models.model_protocols import TokenEmbedder

__all__ = ["MAX_LIVE_PASSAGES", "late_scores", "maxsim_scores"]

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
