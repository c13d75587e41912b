"""A question goes in, the passages that may answer it come out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ragscience.errors import ModelProblem
from ragscience.records import Filters, Found, Hit, Profile
from ragscience.retrieval.fusion import reciprocal_rank, weighted_sum
from ragscience.retrieval.late import late_scores
from ragscience.retrieval.reranking import rerank_within_budget

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.models.late_interaction import QuestionTokens
    from ragscience.models.protocols import Embedder, Reranker, TokenEmbedder
    from ragscience.store import Library

__all__ = ["search"]

RERANK_BATCH = 4
"""Passages that a cross-encoder reads between two looks at the clock."""


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
) -> Found:
    """The `profile.top_k` best passages that `filters` allow.

    Dense and keyword search each give their candidates, filtered inside the search, and the fused score orders them.
    With `tokens_from`, late interaction puts all candidates in a better order; with a `reranker` that reads question
    and passage together, the first `profile.rerank_depth` get their final order from it, or as many of them as
    `rerank_budget_ms` allows (None: all). Ties go to the passage that was ingested first. Raises NothingFound where a
    paper pattern fits no paper, ModelProblem where the embedder fails; a reranker that fails costs its ordering and a
    notice.
    """
    timings: dict[str, float] = {}
    notices: list[str] = []
    with _timed(timings, "retrieval_ms"):
        allowed = library.select(filters)
        with _timed(timings, "embed_ms"):
            vector, tokens = _embedded(question, embedder, tokens_from)
        with _timed(timings, "dense_ms"):
            by_dense = _as_scores(*library.search_dense(vector, profile.dense_candidates, allowed))
        with _timed(timings, "bm25_ms"):
            by_bm25 = _as_scores(*library.search_keywords(question, profile.bm25_candidates, allowed))
        dense, bm25 = _completed(question, vector, library, by_dense, by_bm25)
        fused = _fuse(profile, by_dense, by_bm25, dense, bm25)
    reranked: dict[int, float] = {}
    if tokens_from is not None and tokens is not None and fused and profile.rerank_depth:
        with _timed(timings, "late_ms"):
            reranked = late_scores(tokens, fused, library=library, tokens_from=tokens_from)
    order = sorted(fused, key=lambda chunk_id: (-reranked.get(chunk_id, 0.0), -fused[chunk_id], chunk_id))
    depth = max(profile.rerank_depth, profile.top_k) if reranker else profile.top_k
    chunks = {chunk.chunk_id: chunk for chunk in library.chunks(order[:depth])}
    order = [chunk_id for chunk_id in order[:depth] if chunk_id in chunks]
    if reranker and order and profile.rerank_depth:
        with _timed(timings, "rerank_ms"):
            first_pass = {chunk_id: reranked.get(chunk_id, fused[chunk_id]) for chunk_id in order}
            texts = [chunks[chunk_id].text for chunk_id in order]
            try:
                order, reranked = _read_again(question, first_pass, texts, reranker, rerank_budget_ms, profile, notices)
            except ModelProblem as problem:
                notices.append(f"The reranker failed, so the first pass's order stands: {problem}")
    hits = tuple(
        Hit(
            rank=rank,
            chunk=chunks[chunk_id],
            score=reranked.get(chunk_id, fused[chunk_id]),
            scores={
                "dense": dense[chunk_id],
                "bm25": bm25[chunk_id],
                "fused": fused[chunk_id],
                "rerank": reranked.get(chunk_id),
            },
            found_by=tuple(name for name, found in (("dense", by_dense), ("bm25", by_bm25)) if chunk_id in found),
        )
        for rank, chunk_id in enumerate(order[: profile.top_k], start=1)
    )
    return Found(question, profile.name, hits, tuple(notices), timings)


def _read_again(
    question: str,
    first_pass: dict[int, float],
    texts: list[str],
    reranker: Reranker,
    budget_ms: float | None,
    profile: Profile,
    notices: list[str],
) -> tuple[list[int], dict[int, float]]:
    """The ids of `first_pass` in the reranker's order, and the scores of those that it had the time to read."""
    ids = list(first_pass)
    read = rerank_within_budget(
        question,
        texts,
        list(first_pass.values()),
        reranker,
        budget_ms=budget_ms,
        top_k=profile.top_k,
        batch_size=RERANK_BATCH,
        clock=time.monotonic,
    )
    if not read.complete:
        notices.append(f"The reranker read {read.read} of {len(ids)} passages within its time.")
    scores = zip(ids, read.scores, strict=True)
    return [ids[number] for number in read.order], {key: score for key, score in scores if score is not None}


def _embedded(
    question: str, embedder: Embedder, tokens_from: TokenEmbedder | None
) -> tuple[NDArray[np.float32], QuestionTokens | None]:
    """The question's vector and, for late interaction, its token vectors: from one pass where one model makes both."""
    if tokens_from is None:
        return embedder.embed_query(question), None
    from ragscience.models.late_interaction import question_tokens

    (whole,) = tokens_from.embed_with_tokens([question])
    vector = whole.vector if tokens_from is embedder else embedder.embed_query(question)
    return vector, question_tokens(whole)


def _as_scores(ids: NDArray[np.int64], scores: NDArray[np.floating[Any]]) -> dict[int, float]:
    return dict(zip(ids.tolist(), scores.tolist(), strict=True))


def _completed(
    question: str,
    vector: NDArray[np.float32],
    library: Library,
    by_dense: dict[int, float],
    by_bm25: dict[int, float],
) -> tuple[dict[int, float], dict[int, float]]:
    """Both true scores of every candidate: one that fell off the end of a list does not score 0 there."""
    only_bm25 = sorted(by_bm25.keys() - by_dense.keys())
    only_dense = sorted(by_dense.keys() - by_bm25.keys())
    dense = zip(only_bm25, library.dense_scores(vector, only_bm25).tolist(), strict=True)
    bm25 = zip(only_dense, library.keyword_scores(question, only_dense).tolist(), strict=True)
    return by_dense | dict(dense), by_bm25 | dict(bm25)


def _fuse(
    profile: Profile,
    by_dense: dict[int, float],
    by_bm25: dict[int, float],
    dense: dict[int, float],
    bm25: dict[int, float],
) -> dict[int, float]:
    if profile.fusion == "rrf":
        return reciprocal_rank([(profile.dense_weight, list(by_dense)), (profile.bm25_weight, list(by_bm25))])
    return weighted_sum([(profile.dense_weight, dense), (profile.bm25_weight, bm25)])


@contextmanager
def _timed(timings: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    try:
        yield
    finally:
        timings[name] = round((time.perf_counter() - started) * 1000, 3)
