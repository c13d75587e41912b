"""The nearest vectors of a library in LanceDB, and Lance's index of them: inverted lists of product codes.

The index chooses candidates, whose scores are computed from the vectors themselves. Vectors that were added since it
was made are compared one by one, until the tables are compacted, when the index takes them in.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ragscience.library.changes import Change
from ragscience.library.generations import Snapshot
from ragscience.library.index_config import code_parts
from ragscience.library.lance_tables import in_list, lance_errors
from ragscience.library.passage_spans import paper_spans
from ragscience.library.passage_vectors import read_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["exact_products", "has_index", "index_vectors", "nearest_among"]

_MORE = 32
"""Candidates beyond those asked for, whose exact scores may be the better ones: Lance computes in float32."""
_FEW = 2000
"""A filter that leaves at most this many passages is searched exactly, from the vectors of these."""
_ROUNDING = 1e-4
"""More than Lance's distances, of float32, are wrong by."""
_MOST_PAPERS = 5000
"""A filter that leaves passages of at most this many papers is a condition of Lance's own search."""
_PROBED_PART, _LEAST_PROBED = 32, 20
"""A search looks into one list of so many, and into so many lists at least. At 1,000,000 vectors (1024 lists) these
hold 0.995 of the 20 nearest to a question; 16 lists hold 0.979, and 64 hold 0.998 in twice the time."""
_MOST_MORE = 4
"""A filter that leaves a tenth is searched in more lists, but not in ten times as many."""
_REFINED = 2
"""For each candidate wanted so many are compared by their vectors: more found no more."""
_ITERATIONS, _SAMPLE_PER_LIST = 8, 48
"""Of training: Lance's own 50 and 256 take thirty times as long."""
_CODED_FROM = 10_000
"""Product codes need vectors to be trained on; fewer are kept as they are."""


def nearest_among(
    at: Snapshot, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(ids, vectors) of `k` or more passages of `allowed` (ascending; None: all), among them the `k` nearest."""
    from ragscience.library.top_scores import places

    if allowed is not None and allowed.size <= _FEW:
        return read_vectors(at, allowed)
    total, where = at.state.chunks, ""
    if allowed is not None and 2 * allowed.size < total:
        where, total = _papers_of(at, allowed)
    available = total if allowed is None else int(allowed.size)
    wanted = min(k, available)
    limit = int((wanted + _MORE) * total / available * 1.2)
    probed = max(_lists(at.state.chunks) // _PROBED_PART, _LEAST_PROBED)
    probed = int(probed * min(at.state.chunks / available, _MOST_MORE))
    while True:
        ids, distances = _nearest(at, vector, min(limit, total), probed, where)
        if allowed is not None:
            kept = places(allowed, ids)[1]
            ids, distances = ids[kept], distances[kept]
        if ids.size >= wanted or limit >= total:
            return _vectors_of_nearest(at, ids, distances, wanted)
        limit, probed = 4 * limit, 4 * probed


def _vectors_of_nearest(
    at: Snapshot, ids: NDArray[np.int64], distances: NDArray[np.float32], wanted: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(ids, vectors) of the `wanted` nearest and of all as near as these; of all where some of them are damaged."""
    import numpy as np

    if ids.size > wanted:
        near = distances <= np.partition(distances, wanted - 1)[wanted - 1] + _ROUNDING
        known, vectors = read_vectors(at, ids[near])
        if known.size >= wanted:
            return known, vectors
    return read_vectors(at, ids)


def _papers_of(at: Snapshot, ids: NDArray[np.int64]) -> tuple[str, int]:
    """(the condition for the papers of these passages, how many passages they have); all for too many papers."""
    import numpy as np

    firsts, sizes, papers = paper_spans(at)
    among = np.unique(np.searchsorted(firsts, ids, side="right") - 1)
    if among.size > _MOST_PAPERS:
        return "", at.state.chunks
    return in_list("paper_id", papers[among].tolist()), int(sizes[among].sum())


def _nearest(
    at: Snapshot, vector: NDArray[np.float32], limit: int, probed: int, where: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(ids, distances) of about `limit` of the nearest."""
    with lance_errors(at.uri):
        query = at.table("vectors").search(vector).distance_type("dot")
        query = query.where(where, prefilter=True) if where else query
        query = query.select(["chunk_id", "_distance"])
        found = query.nprobes(probed).limit(limit).refine_factor(_REFINED).to_arrow()
    return found["chunk_id"].to_numpy(), found["_distance"].to_numpy()


def exact_products(vectors: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float64]:
    """The inner products, float64, as the embedded store computes them."""
    import numpy as np

    products: NDArray[np.float64] = np.einsum("ij,j->i", vectors.astype(np.float64), vector.astype(np.float64))
    return products


def has_index(at: Snapshot) -> bool:
    """Whether the vectors have an index."""
    table = at.table("vectors")
    with lance_errors(at.uri):
        return table is not None and any("vector" in index.columns for index in table.list_indices())


def index_vectors(change: Change) -> None:
    """Make the index of the vectors, and those by which passages are looked up. Raises RagScienceError, LibraryBusy."""
    from lancedb.index import BTree, IvfFlat, IvfPq

    for role, columns in {"passages": ("chunk_id", "paper_id"), "vectors": ("chunk_id", "paper_id")}.items():
        for column in columns:
            change.make_index(role, column, BTree())
    change.make_index("tokens", "chunk_id", BTree())
    count, dimension = change.state.chunks, change.state.dimension
    training = {"num_partitions": _lists(count), "max_iterations": _ITERATIONS, "sample_rate": _SAMPLE_PER_LIST}
    if count < _CODED_FROM:
        change.make_index("vectors", "vector", IvfFlat(distance_type="dot", **training))
    else:
        codes = IvfPq(distance_type="dot", num_sub_vectors=code_parts(dimension), **training)
        change.make_index("vectors", "vector", codes)


def _lists(count: int) -> int:
    """From 0.6 to 1.2 √count, a power of two: 1024 for one to four million."""
    return int(2 ** round(math.log2(math.sqrt(max(count, 4))) - 0.3))
