"""Builds dense indexes: exact ones from all vectors, approximate ones by training on a sample.

Vectors are read in batches, so a build needs memory for the index, the sample (100,000 vectors for a
million) and one batch. The number of lists that a search probes is measured: synthetic questions, as far from stored
passages as real ones, give the recall of the truly nearest passages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.library.dense_files import Base, VectorSource, faiss_package, write_base
from ragscience.library.index_config import DenseIndexInfo, DenseSizes, factory
from ragscience.library.sealed_rows import State
from ragscience.library.top_scores import marked

__all__ = ["RERANKED", "grow_index", "write_index"]

RERANKED = {"ivf-sq8": 4, "ivf-pq": 10}
"""For each form: how many candidates are rescored exactly for each passage wanted."""

_BATCH = 8192
_RECALL_AT = 20
_LEAST_PART = 128
"""A search probes at least this share of the lists, about a millisecond: real questions stray further than these."""
_ASKED_AGAIN = 64
"""Questions after an index has grown: each scans all lists."""
_DISTANCE = 1.0
"""Distance of a question from its passage before scaling to length 1: a cosine of about 0.7."""
_NOISE = 1e-5


def write_index(path: Path, state: State, ids: NDArray[np.int64], source: VectorSource, sizes: DenseSizes) -> None:
    """Rebuild the index of the chunks `ids` (ascending) in the form that suits their number. Raises OSError."""
    form = sizes.form(ids.size, state.dimension)
    if form == "flat":
        faiss = faiss_package()
        flat = faiss.IndexIDMap(faiss.IndexFlatIP(state.dimension))
        present = [_add(flat, *batch) for batch in _batches(ids, source)]
        kept = np.concatenate(present) if present else np.empty(0, np.int64)
        write_base(path, state, flat, kept, DenseIndexInfo(form, kept.size, None))
        return
    rng = np.random.default_rng(ids.size)
    index, sample = _trained(form, ids, source, state.dimension, sizes, rng)
    questions = _questions(sample[rng.choice(len(sample), min(sizes.questions, len(sample)), replace=False)], rng)
    nearest = np.full((len(questions), _RECALL_AT), -np.inf, np.float32)
    present = []
    for numbers, vectors in _batches(ids, source):
        present.append(_add(index, numbers, vectors))
        both = np.concatenate([nearest, questions @ vectors.T], axis=1)
        nearest = np.partition(both, -_RECALL_AT, axis=1)[:, -_RECALL_AT:]
    kept = np.concatenate(present)
    trial = _Trial(form, questions, nearest, sizes.recall)
    nprobe, recall = _tuned(index, index.nlist // _LEAST_PART, trial, source)
    info = DenseIndexInfo(form, kept.size, recall, int(index.nlist), nprobe, kept.size)
    write_base(path, state, index, kept, info)


def grow_index(
    path: Path, state: State, base: Base, ids: NDArray[np.int64], source: VectorSource, sizes: DenseSizes
) -> None:
    """Write the trained index of `base`, stored at `path`, for the chunks `ids` without training again.

    New passages may be about other topics than the lists were trained on, so recall is measured again, against a search
    of all lists, and `nprobe` grows if recall fell. Raises OSError.
    """
    faiss = faiss_package()
    try:
        index = faiss.read_index(str(path))
    except RuntimeError as error:
        raise OSError(f"FAISS could not read it: {error}") from error
    stays = marked(base.ids, ids)
    if not stays.all():
        index.remove_ids(base.ids[~stays])
    added = [_add(index, *batch) for batch in _batches(ids[~marked(ids, base.ids)], source)]
    now = np.sort(np.concatenate([base.ids[stays], *added]))
    form, lists = base.info.form, base.info.nlist
    rng = np.random.default_rng(now.size)
    sample_size = min(_ASKED_AGAIN, now.size, sizes.questions)
    questions = _questions(source(np.sort(rng.choice(now, sample_size, replace=False)))[1], rng)
    _, found = index.search(questions, RERANKED[form] * _RECALL_AT, params=faiss.SearchParametersIVF(nprobe=lists))
    nearest = -np.sort(-_scores(found, questions, source), axis=1)[:, :_RECALL_AT]
    trial = _Trial(form, questions, nearest, sizes.recall)
    nprobe, recall = _tuned(index, base.info.nprobe, trial, source)
    write_base(path, state, index, now, replace(base.info, count=now.size, nprobe=nprobe, recall_at_20=recall))


def _add(index: Any, ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    index.add_with_ids(vectors, ids)
    return ids


def _batches(ids: NDArray[np.int64], source: VectorSource) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    for first in range(0, ids.size, _BATCH):
        yield source(ids[first : first + _BATCH])


def _trained(
    form: str,
    ids: NDArray[np.int64],
    source: VectorSource,
    dimension: int,
    sizes: DenseSizes,
    rng: np.random.Generator,
) -> tuple[Any, NDArray[np.float32]]:
    """(the trained index with empty lists; the vectors that it was trained on)."""
    faiss = faiss_package()
    index = faiss.index_factory(dimension, factory(form, ids.size, dimension), faiss.METRIC_INNER_PRODUCT)
    wanted = min(ids.size, index.nlist * sizes.sample_per_list)
    chosen = np.sort(rng.choice(ids, wanted, replace=False))
    sample = np.concatenate([vectors for _, vectors in _batches(chosen, source)])
    index.cp.min_points_per_centroid = 1
    if form == "ivf-pq":
        index.pq.cp.min_points_per_centroid = 1
        index.do_polysemous_training = False  # it orders codes for a filter by Hamming distance, which is not used
    index.train(sample)
    return index, sample


def _questions(rows: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Unit rows as far from `rows` as questions are from the passages that answer them."""
    noise = rng.standard_normal(rows.shape, np.float32) * np.float32(_DISTANCE / np.sqrt(rows.shape[1]))
    questions = rows + noise
    return np.asarray(questions / np.linalg.norm(questions, axis=1, keepdims=True), np.float32)


@dataclass(frozen=True, slots=True)
class _Trial:
    """The questions and true scores that recall is measured with."""

    form: str
    questions: NDArray[np.float32]
    nearest: NDArray[np.float32]
    """Scores of the truly nearest, shape (len(questions), 20); of equal passages any counts."""
    wanted: float


def _tuned(index: Any, nprobe: int, trial: _Trial, source: VectorSource) -> tuple[int, float]:
    """(the smallest `nprobe`, at least the given one, with enough recall; the recall at 20 that it gives)."""
    faiss = faiss_package()
    last = trial.nearest.min(axis=1, keepdims=True) - _NOISE
    nprobe = max(nprobe, 1)
    while True:
        parameters = faiss.SearchParametersIVF(nprobe=nprobe)
        _, found = index.search(trial.questions, RERANKED[trial.form] * _RECALL_AT, params=parameters)
        hits = (_scores(found, trial.questions, source) >= last).sum(axis=1)
        recall = float(np.mean(np.minimum(hits, trial.nearest.shape[1]) / trial.nearest.shape[1]))
        if recall >= trial.wanted or nprobe >= index.nlist:
            return nprobe, recall
        nprobe = min(max(nprobe + 1, nprobe * 3 // 2), index.nlist)


def _scores(found: NDArray[np.int64], questions: NDArray[np.float32], source: VectorSource) -> NDArray[np.float32]:
    """The exact score of each candidate for the question of its row, shape of `found`; -inf where `found` is -1."""
    scores = np.full(found.shape, -np.inf, np.float32)
    for numbers, vectors in _batches(np.unique(found[found >= 0]), source):
        place = np.minimum(np.searchsorted(numbers, found), numbers.size - 1)
        here = numbers[place] == found
        scores[here] = np.take_along_axis(questions @ vectors.T, place, axis=1)[here]
    return scores
