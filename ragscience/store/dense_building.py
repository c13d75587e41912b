"""Dense indexes are made: exact ones from all vectors, approximate ones by training on a sample.

Vectors are read in batches, so that what a build needs of memory is the index, the sample (100,000 vectors for a
million) and one batch. An approximate index is told how many lists a search must read by measuring, on questions that
are as far from stored passages as questions are, how many of the truly nearest passages are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.store.dense_base import Base, VectorSource, faiss_package, write_base
from ragscience.store.forms import DenseIndexInfo, DenseSizes, factory
from ragscience.store.ranking import marked
from ragscience.store.rows import State

__all__ = ["RERANKED", "grow_index", "write_index"]

RERANKED = {"ivf-sq8": 4, "ivf-pq": 10}
"""For each form how many candidates a wanted passage get their exact score."""

_BATCH = 8192
_ITERATIONS = 8
_RECALL_AT = 20
_DISTANCE = 1.0
"""Of a question from its passage before scaling to length 1: a cosine of about 0.7."""
_NOISE = 1e-5


def write_index(path: Path, state: State, ids: NDArray[np.int64], source: VectorSource, sizes: DenseSizes) -> None:
    """Write the index of the chunks `ids` (ascending) anew, in the form that their number asks for. Raises OSError."""
    form = sizes.form(ids.size, state.dimension)
    if form == "flat":
        faiss = faiss_package()
        flat = faiss.IndexIDMap(faiss.IndexFlatIP(state.dimension))
        present = [_add(flat, *batch) for batch in _batches(ids, source)]
        kept = np.concatenate(present) if present else np.empty(0, np.int64)
        write_base(path, state, flat, kept, DenseIndexInfo(form, kept.size, None))
        return
    index, questions = _trained(form, ids, source, state.dimension, sizes)
    nearest = np.full((len(questions), _RECALL_AT), -np.inf, np.float32)
    present = []
    for numbers, vectors in _batches(ids, source):
        present.append(_add(index, numbers, vectors))
        both = np.concatenate([nearest, questions @ vectors.T], axis=1)
        nearest = np.partition(both, -_RECALL_AT, axis=1)[:, -_RECALL_AT:]
    kept = np.concatenate(present)
    nprobe, recall = _tuned(index, form, questions, nearest, source, sizes.recall)
    info = DenseIndexInfo(form, kept.size, recall, int(index.nlist), nprobe, kept.size)
    write_base(path, state, index, kept, info)


def grow_index(path: Path, state: State, base: Base, ids: NDArray[np.int64], source: VectorSource) -> None:
    """Write the trained index of `base`, which lies at `path`, for the chunks `ids` without training again.

    Raises OSError.
    """
    faiss = faiss_package()
    try:
        index = faiss.read_index(str(path))
    except RuntimeError as error:
        raise OSError(f"FAISS could not read it: {error}") from error
    gone = base.ids[~marked(base.ids, ids)]
    if gone.size:
        index.remove_ids(gone)
    stay = base.ids[marked(base.ids, ids)]
    added = [_add(index, *batch) for batch in _batches(ids[~marked(ids, base.ids)], source)]
    now = np.sort(np.concatenate([stay, *added]))
    write_base(path, state, index, now, replace(base.info, count=now.size))


def _add(index: Any, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    index.add_with_ids(vectors, ids)
    return ids


def _batches(ids: NDArray[np.int64], source: VectorSource) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    for first in range(0, ids.size, _BATCH):
        yield source(ids[first : first + _BATCH])


def _trained(
    form: str, ids: NDArray[np.int64], source: VectorSource, dimension: int, sizes: DenseSizes
) -> tuple[Any, NDArray[np.float32]]:
    """(an index with its lists and codes, and nothing in them; questions, unit rows)."""
    faiss = faiss_package()
    index = faiss.index_factory(dimension, factory(form, ids.size, dimension), faiss.METRIC_INNER_PRODUCT)
    rng = np.random.default_rng(ids.size)
    wanted = min(ids.size, index.nlist * sizes.sample_per_list)
    chosen = np.sort(rng.choice(ids, wanted, replace=False))
    sample = np.concatenate([vectors for _, vectors in _batches(chosen, source)])
    index.cp.niter = _ITERATIONS
    index.cp.spherical = True
    index.cp.min_points_per_centroid = 1
    if form == "ivf-pq":
        index.pq.cp.min_points_per_centroid = 1
    index.train(sample)
    rows = sample[rng.choice(len(sample), min(sizes.questions, len(sample)), replace=False)]
    noise = rng.standard_normal(rows.shape, np.float32) * np.float32(_DISTANCE / np.sqrt(dimension))
    questions = rows + noise
    return index, np.asarray(questions / np.linalg.norm(questions, axis=1, keepdims=True), np.float32)


def _tuned(
    index: Any,
    form: str,
    questions: NDArray[np.float32],
    nearest: NDArray[np.float32],
    source: VectorSource,
    wanted: float,
) -> tuple[int, float]:
    """(the fewest lists with which enough of the nearest are found, the recall at 20 that they give).

    `nearest` are the scores of the truly nearest, shape (len(questions), 20): a passage counts as one of them by its
    exact score, so that of equal passages any will do.
    """
    faiss = faiss_package()
    last = nearest.min(axis=1) - _NOISE
    nprobe, recall = 0, 0.0
    while nprobe < index.nlist and recall < wanted:
        nprobe = min(max(nprobe + 1, nprobe * 3 // 2), index.nlist)
        parameters = faiss.SearchParametersIVF(nprobe=nprobe)
        _, found = index.search(questions, RERANKED[form] * _RECALL_AT, params=parameters)
        known = np.unique(found[found >= 0])
        hits = np.zeros(len(questions), np.int64)
        for numbers, vectors in _batches(known, source):
            near = questions @ vectors.T >= last[:, np.newaxis]
            hits += (near & _has(found, numbers)).sum(axis=1)
        true = np.isfinite(nearest).sum(axis=1)
        recall = float(np.mean(np.minimum(hits, true) / true))
    return nprobe, recall


def _has(found: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of `numbers` (ascending) each row of `found` has, shape (rows, len(numbers))."""
    has = np.zeros((len(found), numbers.size), np.bool_)
    for row, ids in enumerate(found):
        has[row] = marked(numbers, ids[ids >= 0])
    return has
