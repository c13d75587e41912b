"""Late interaction: candidates are put in order by the token vectors that were kept at ingest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragscience.models.late_interaction import QuestionTokens
    from ragscience.models.protocols import TokenEmbedder
    from ragscience.records import KeptTokens
    from ragscience.store import Library

__all__ = ["MAX_LIVE_PASSAGES", "late_scores"]

FUSED_WEIGHT = 0.25
"""Beside MaxSim and span score, which weigh 1 each, not rescaled: the middle of a plateau (docs/benchmarks.md)."""
MAX_LIVE_PASSAGES = 8
"""How many candidates without stored token vectors are read by the model while the question waits."""


def late_scores(
    question: QuestionTokens, fused: Mapping[int, float], *, library: Library, tokens_from: TokenEmbedder
) -> dict[int, float]:
    """MaxSim + span score + a quarter of the fused score, for each candidate; higher is better.

    A candidate whose token vectors are nowhere has the lowest MaxSim and span score of all. Raises ModelProblem.
    """
    from ragscience.models.late_interaction import best_spans, maxsim

    ids = sorted(fused, key=lambda chunk_id: (-fused[chunk_id], chunk_id))
    kept = _token_vectors(ids, library, tokens_from)
    having = [chunk_id for chunk_id in ids if chunk_id in kept]
    matches = maxsim(question, [kept[chunk_id].tokens for chunk_id in having])
    spans = best_spans(question, [kept[chunk_id].spans for chunk_id in having])
    lowest = float(matches.min() + spans.min()) if having else 0.0
    late = dict.fromkeys(ids, lowest) | dict(zip(having, (matches + spans).tolist(), strict=True))
    return {chunk_id: late[chunk_id] + FUSED_WEIGHT * fused[chunk_id] for chunk_id in ids}


def _token_vectors(ids: list[int], library: Library, tokens_from: TokenEmbedder) -> dict[int, KeptTokens]:
    """By id: those that are stored, and the first few of the others made now."""
    from ragscience.models.late_interaction import compress

    kept = library.token_vectors(ids)
    missing = [chunk_id for chunk_id in ids if chunk_id not in kept][:MAX_LIVE_PASSAGES]
    if missing:
        chunks = library.chunks(missing)
        passes = tokens_from.embed_with_tokens([chunk.text for chunk in chunks])
        kept |= {chunk.chunk_id: compress(each) for chunk, each in zip(chunks, passes, strict=True)}
    return kept
