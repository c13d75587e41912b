"""A question goes in, the passages that may answer it come out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ragscience.errors import ModelProblem
from ragscience.records import Filters, Found, Hit, Profile, StoredChunk
from ragscience.retrieval.folding import first_of_each
from ragscience.retrieval.fusion import reciprocal_rank, weighted_sum
from ragscience.retrieval.late import late_scores, maxsim_scores
from ragscience.retrieval.reranking import rerank_within_budget
from ragscience.retrieval.signals import signals

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
    also: Sequence[int] = (),
) -> Found:
    """The `profile.top_k` best passages that `filters` allow.

    Dense and keyword search each give their candidates, filtered inside the search, and the fused score orders them.
    With `tokens_from`, late interaction puts all candidates in a better order; with a `reranker` that reads question
    and passage together, the first `profile.rerank_depth` get their final order from it, or as many of them as
    `rerank_budget_ms` allows (None: all). Passages of `also` (ids) that the filters allow are candidates too, whether
    the searches find them or not, and are scored like the others. Ties go to the passage that was ingested first.
    Of passages that say the same only the first is kept, and the next candidate has the place of the other.
    `Found.signals` are those of retrieval/signals.py. Raises NothingFound where a filter fits no paper,
    ModelProblem where the embedder fails; a reranker that fails costs its ordering and a notice.
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
        again = _present(also, library, allowed)
        dense, bm25 = _completed(question, vector, library, by_dense, by_bm25, again)
        fused = dict.fromkeys(again, 0.0) | _fuse(profile, by_dense, by_bm25, dense, bm25)
    reranked: dict[int, float] = {}
    maxsims: dict[int, float] = {}
    if tokens_from is not None and tokens is not None and fused and profile.rerank_depth:
        with _timed(timings, "late_ms"):
            maxsims = maxsim_scores(tokens, fused, library=library, tokens_from=tokens_from)
            reranked = late_scores(maxsims, fused)
    candidates = sorted(fused, key=lambda chunk_id: (-reranked.get(chunk_id, 0.0), -fused[chunk_id], chunk_id))
    depth = max(profile.rerank_depth, profile.top_k) if reranker else profile.top_k
    once, folded = first_of_each(candidates, depth, library)
    chunks = {chunk.chunk_id: chunk for chunk in once}
    order = list(chunks)
    if folded:
        said = "passage that repeats another one is" if folded == 1 else "passages that repeat others are"
        notices.append(f"{folded} {said} left out.")
    read_by_reranker = False
    if reranker and order and profile.rerank_depth:
        with _timed(timings, "rerank_ms"):
            first_pass = {chunk_id: reranked.get(chunk_id, fused[chunk_id]) for chunk_id in order}
            texts = [chunks[chunk_id].searched for chunk_id in order]
            try:
                order, reranked = _read_again(question, first_pass, texts, reranker, rerank_budget_ms, profile, notices)
                read_by_reranker = True
            except ModelProblem as problem:
                notices.append(f"The reranker failed, so the first pass's order stands: {problem}")
    hits = _as_hits(order[: profile.top_k], chunks, dense, bm25, fused, reranked, by_dense, by_bm25)
    with _timed(timings, "signals_ms"):
        seen = signals(
            question,
            candidates,
            library=library,
            allowed=allowed,
            cosines=dense,
            maxsims=maxsims,
            rerank=reranked[order[0]] if read_by_reranker else None,
        )
    return Found(question, profile.name, hits, tuple(notices), timings, seen)


def _as_hits(
    order: Sequence[int],
    chunks: Mapping[int, StoredChunk],
    dense: Mapping[int, float],
    bm25: Mapping[int, float],
    fused: Mapping[int, float],
    reranked: Mapping[int, float],
    by_dense: Mapping[int, float],
    by_bm25: Mapping[int, float],
) -> tuple[Hit, ...]:
    return tuple(
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
        for rank, chunk_id in enumerate(order, start=1)
    )


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
    also: Sequence[int],
) -> tuple[dict[int, float], dict[int, float]]:
    """Both true scores of every candidate: one that fell off the end of a list does not score 0 there."""
    candidates = {*by_dense, *by_bm25, *also}
    not_by_dense = sorted(candidates - by_dense.keys())
    not_by_bm25 = sorted(candidates - by_bm25.keys())
    dense = zip(not_by_dense, library.dense_scores(vector, not_by_dense).tolist(), strict=True)
    bm25 = zip(not_by_bm25, library.keyword_scores(question, not_by_bm25).tolist(), strict=True)
    return by_dense | dict(dense), by_bm25 | dict(bm25)


def _present(also: Sequence[int], library: Library, allowed: NDArray[np.int64] | None) -> list[int]:
    """Those of `also` that the library has and the filters allow."""
    if not also:
        return []
    permitted = None if allowed is None else set(allowed.tolist())
    present = [chunk.chunk_id for chunk in library.chunks(also)]
    return [chunk_id for chunk_id in dict.fromkeys(present) if permitted is None or chunk_id in permitted]


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
