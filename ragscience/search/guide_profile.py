"""The profile `guide`: the design card to the letter, as the baseline that the other profiles are compared with.

FAISS (flat) over the library's vectors and `rank_bm25`'s BM25Okapi over `lower().split()` tokens give 20 passages each;
each list is min-max scaled, and a passage scores 0.7 and 0.3 of what it has in them; the cross-encoder, where its files
are on the machine, orders these again. Nothing else takes part: no late interaction, names of papers or repetitions.
Both indexes are built for each search, which takes a moment in a large library.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ragscience.core.answer_records import Timings, timed
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Filters, Found, Hit, Profile
from ragscience.library.store import Store
from ragscience.models.model_protocols import Embedder, Reranker
from ragscience.search.first_pass import weighted_sum
from ragscience.search.reranking import ranked, rerank

NO_RERANKER = "Profile guide has no cross-encoder on this machine: its passages are in the order of the two searches."


def nearest(index: Any, vector: ArrayLike, ids: Sequence[int], count: int) -> dict[int, float]:
    """The inner products of the `count` nearest rows of a FAISS index, by the rows' ids."""
    scores, rows = index.search(np.asarray(vector, np.float32)[np.newaxis], min(count, len(ids)))
    return {ids[row]: float(score) for row, score in zip(rows[0], scores[0], strict=True)}


def by_words(keywords: Any, question: str, ids: Sequence[int], count: int) -> dict[int, float]:
    """The scores of BM25Okapi of the `count` best rows, by the rows' ids."""
    scores = keywords.get_scores(question.lower().split())
    return {ids[row]: float(scores[row]) for row in np.argsort(-scores, kind="stable")[:count]}


def guide_search(
    question: str, *, library: Store, embedder: Embedder, reranker: Reranker | None, profile: Profile, filters: Filters
) -> Found:
    """The `profile.top_k` best passages that the filters allow. Raises ModelProblem where the embedder fails."""
    import faiss
    from rank_bm25 import BM25Okapi

    timings, warnings, given = Timings(), list[str](), dict[int, float]()
    with library.snapshot():
        with timed(timings, "retrieval_ms"):
            ids, vectors = library.vectors.of()
            allowed = library.select(filters)
            if allowed is not None:
                rows = np.isin(ids, allowed)
                ids, vectors = ids[rows], vectors[rows]
            chunks = {chunk.chunk_id: chunk for chunk in library.chunks(ids.tolist())}
            rows = np.isin(ids, list(chunks))
            ids, vectors = ids[rows], vectors[rows]
        if not chunks:
            return Found(question, profile.name, (), tuple(warnings), dict(timings))
        with timed(timings, "dense_ms"):
            index = faiss.IndexFlatIP(vectors.shape[1])
            index.add(np.ascontiguousarray(vectors, np.float32))
            dense = nearest(index, embedder.embed_query(question), ids.tolist(), profile.dense_candidates)
        with timed(timings, "bm25_ms"):
            keywords = BM25Okapi([chunks[one].text.lower().split() or [""] for one in ids.tolist()])
            bm25 = by_words(keywords, question, ids.tolist(), profile.bm25_candidates)
    fused = weighted_sum([(profile.dense_weight, dense), (profile.bm25_weight, bm25)])
    order = sorted(fused, key=lambda one: (-fused[one], one))
    read = order[: profile.rerank_depth]
    if reranker is None:
        warnings.append(NO_RERANKER)
    else:
        try:
            with timed(timings, "rerank_ms"):
                given = rerank(question, {one: chunks[one].text for one in read}, reranker)
            order = ranked(read, given)
        except ModelProblem as problem:
            warnings.append(f"The passages are not reranked: {problem}")
    hits = []
    for rank, one in enumerate(order[: profile.top_k], start=1):
        score = given.get(one)
        found_by = tuple(name for name, listed in (("dense", dense), ("bm25", bm25)) if one in listed)
        each = {"dense": dense.get(one), "bm25": bm25.get(one), "fused": fused[one], "rerank": score}
        hits.append(Hit(rank, chunks[one], fused[one] if score is None else score, each, found_by))
    stages = tuple(timings.stages)
    return Found(question, profile.name, tuple(hits), tuple(warnings), dict(timings), stages=stages)
