"""A question goes in, the passages that may answer it come out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.errors import ModelProblem
from ragscience.models.llm_reranker import LLMReranker
from ragscience.records import Filters, Found, Hit, Profile, StoredChunk
from ragscience.retrieval.deduplication import first_of_each
from ragscience.retrieval.first_pass import FirstPass, ScoreSource, first_pass
from ragscience.retrieval.late_interaction import late_scores, maxsim_scores
from ragscience.retrieval.reranking import InBatches, rerank_within_budget
from ragscience.retrieval.search_signals import signals
from ragscience.stage_timing import Timings, timed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.models.maxsim import QuestionTokens
    from ragscience.models.model_protocols import Embedder, Reranker, TokenEmbedder
    from ragscience.store import Library

__all__ = ["search"]

RERANK_BATCH = 4
"""Passages that a cross-encoder reads between two looks at the clock, where the profile names no other number."""


def search(
    question: str,
    *,
    library: Library,
    embedder: Embedder,
    tokens_from: TokenEmbedder | None,
    reranker: Reranker | None,
    rerank_budget_ms: float | None,
    profile: Profile,
    filters: Filters,
    also: Sequence[int] = (),
    more: Mapping[str, ScoreSource] | None = None,
) -> Found:
    """The `profile.top_k` best passages that `filters` allow.

    Dense and keyword search, and those of `more` that the profile gives a weight, name candidates, filtered inside the
    search, and the fused score orders them; of a profile with a `prefilter` only so many go on.
    With `tokens_from`, late interaction puts all candidates in a better order; with a `reranker` that reads question
    and passage together, the first `profile.rerank_depth` get their final order from it, or as many of them as
    `rerank_budget_ms` allows (None: all). Passages of `also` (ids) that the filters allow are candidates like the
    others. Ties go to the passage that was ingested first; of passages that say the same only the first is kept.
    `Found.signals` are those of retrieval/search_signals.py. Raises NothingFound where a filter fits no paper,
    ModelProblem where the embedder fails; a reranker that fails costs its ordering and a notice.
    """
    timings = Timings()
    notices: list[str] = []
    with timed(timings, "retrieval_ms"):
        allowed = library.select(filters)
        with timed(timings, "embed_ms"):
            vector, tokens = _embedded(question, embedder, tokens_from)
        first = first_pass(
            question,
            vector,
            library=library,
            allowed=allowed,
            profile=profile,
            also=also,
            more=more or {},
            timings=timings,
            notices=notices,
        )
    maxsims, late = _late(tokens, first, library, tokens_from if profile.rerank_depth else None, timings)
    candidates = sorted(first.fused, key=lambda chunk_id: (-late.get(chunk_id, 0.0), -first.fused[chunk_id], chunk_id))
    depth = max(profile.rerank_depth, profile.top_k) if reranker else profile.top_k
    chunks = _once(candidates, depth, library, notices)
    ranking = _Ranking(list(chunks), late, {})
    if reranker and chunks and profile.rerank_depth:
        with timed(timings, "rerank_ms"):
            ranking = _read_again(question, chunks, first.fused, late, reranker, rerank_budget_ms, profile, notices)
    with timed(timings, "signals_ms"):
        seen = signals(
            question,
            candidates,
            library=library,
            allowed=allowed,
            cosines=first.scores["dense"],
            maxsims=maxsims,
            rerank=None if isinstance(reranker, LLMReranker) else ranking.best,  # a grade of 0 to 10 is no log-odds
        )
    return Found(
        question,
        profile.name,
        _as_hits(ranking, profile.top_k, chunks, first),
        tuple(notices),
        dict(timings),
        seen,
        stages=tuple(timings.stages),
    )


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Passages in their final order, by id."""

    order: list[int]
    late: Mapping[int, float]
    """What late interaction gave them; empty where it is off."""
    by_reranker: Mapping[int, float]
    """What a reranker gave those that it read; empty where none did."""

    @property
    def best(self) -> float | None:
        return max(self.by_reranker.values(), default=None)


def _as_hits(ranking: _Ranking, top_k: int, chunks: Mapping[int, StoredChunk], first: FirstPass) -> tuple[Hit, ...]:
    reranked = ranking.by_reranker or ranking.late
    decided = {**first.fused, **ranking.late, **ranking.by_reranker}
    return tuple(
        Hit(
            rank=rank,
            chunk=chunks[chunk_id],
            score=decided[chunk_id],
            scores=first.scores_of(chunk_id) | {"rerank": reranked.get(chunk_id)},
            found_by=first.found_by(chunk_id),
        )
        for rank, chunk_id in enumerate(ranking.order[:top_k], start=1)
    )


def _late(
    tokens: QuestionTokens | None,
    first: FirstPass,
    library: Library,
    tokens_from: TokenEmbedder | None,
    timings: Timings,
) -> tuple[dict[int, float], dict[int, float]]:
    """(MaxSim of each candidate; what it gives together with the fused score); both empty without token vectors."""
    if tokens_from is None or tokens is None or not first.fused:
        return {}, {}
    with timed(timings, "late_ms"):
        maxsims = maxsim_scores(tokens, first.fused, library=library, tokens_from=tokens_from)
        return maxsims, late_scores(maxsims, first.fused)


def _once(candidates: Sequence[int], wanted: int, library: Library, notices: list[str]) -> dict[int, StoredChunk]:
    """The first `wanted` candidates by id, best first, each passage once though several papers hold it."""
    chunks, folded = first_of_each(candidates, wanted, library)
    if folded:
        said = "passage that repeats another one is" if folded == 1 else "passages that repeat others are"
        notices.append(f"{folded} {said} left out.")
    return {chunk.chunk_id: chunk for chunk in chunks}


def _read_again(
    question: str,
    chunks: Mapping[int, StoredChunk],
    first_pass: Mapping[int, float],
    late: Mapping[int, float],
    reranker: Reranker,
    budget_ms: float | None,
    profile: Profile,
    notices: list[str],
) -> _Ranking:
    """The passages in the reranker's order; in the one they have, and a notice, where it fails."""
    ids = list(chunks)
    try:
        read = rerank_within_budget(
            question,
            [chunk.searched for chunk in chunks.values()],
            [late.get(chunk_id, first_pass[chunk_id]) for chunk_id in ids],
            InBatches(reranker, profile.rerank_batch) if profile.rerank_batch else reranker,
            budget_ms=budget_ms,
            top_k=profile.top_k,
            batch_size=profile.rerank_batch or RERANK_BATCH,
            clock=time.monotonic,
        )
    except ModelProblem as problem:
        notices.append(f"The reranker failed, so the first pass's order stands: {problem}")
        return _Ranking(ids, late, {})
    if not read.complete:
        notices.append(f"The reranker read {read.read} of {len(ids)} passages within its time.")
    scores = {key: score for key, score in zip(ids, read.scores, strict=True) if score is not None}
    return _Ranking([ids[number] for number in read.order], late, scores)


def _embedded(
    question: str, embedder: Embedder, tokens_from: TokenEmbedder | None
) -> tuple[NDArray[np.float32], QuestionTokens | None]:
    """The question's vector and, for late interaction, its token vectors: from one pass where one model makes both."""
    if tokens_from is None:
        return embedder.embed_query(question), None
    from ragscience.models.maxsim import question_tokens

    (whole,) = tokens_from.embed_with_tokens([question])
    vector = whole.vector if tokens_from is embedder else embedder.embed_query(question)
    return vector, question_tokens(whole)
