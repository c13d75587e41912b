"""The dense index: FAISS inner product over unit vectors, with the chunks' ids.

The index on disk (the base) is memory-mapped and may be some papers behind: newer vectors are in memory (the tail),
removed ones are masked, and the index is rebuilt only when there are many of either. Final scores are computed
from the library's own vectors, so they do not depend on the index form; an approximate base only
chooses the candidates.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import RagScienceError
from ragscience.library.dense_build import RERANKED, grow_index, write_index
from ragscience.library.dense_files import Base, Bits, VectorSource
from ragscience.library.index_config import DenseSizes
from ragscience.library.sealed_rows import State
from ragscience.library.top_scores import best_first, marked, nothing, shared

__all__ = ["DenseIndex", "exact_scores"]

_SPARE = 8
_NOISE = 1e-5
"""Upper bound of the difference between FAISS's float32 sums and ours."""
_GROWTH = 2
"""An index is trained again when the library has this many times the vectors it was trained on, or this fraction."""
_OF_MEMORY = 0.8


class DenseIndex:
    """The dense index at one version of the library; immutable, `at` gives another."""

    def __init__(self, state: State, base: Base | None, ids: NDArray[np.int64], sizes: DenseSizes) -> None:
        self.state = state
        self._base = base
        self._ids = ids
        self._sizes = sizes
        base_ids = base.ids if base else np.empty(0, np.int64)
        self._kept: NDArray[np.int64] | None = None
        self._new = np.empty(0, np.int64)
        self.drift = 0
        """How many chunks are in the library only or on disk only."""
        if not np.array_equal(base_ids, ids):
            kept = shared(base_ids, ids)
            self._new = ids[~marked(ids, base_ids)]
            self._kept = None if kept.size == base_ids.size else kept
            self.drift = int(self._new.size + base_ids.size - kept.size)
        self._last: _Within | None = None
        self._tail: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None

    @classmethod
    def load(cls, path: Path, state: State, ids: NDArray[np.int64], sizes: DenseSizes) -> DenseIndex:
        """The index of the chunks `ids` (ascending), using as much of it as is on disk."""
        return cls(state, Base.load(path, state), ids, sizes)

    def at(self, state: State, ids: NDArray[np.int64]) -> DenseIndex:
        """The index of the chunks `ids` on the same base, if its vectors are still valid."""
        same = (state.library_id, state.vectors_epoch) == (self.state.library_id, self.state.vectors_epoch)
        return DenseIndex(state, self._base if same else None, ids, self._sizes)

    @property
    def should_be_saved(self) -> bool:
        """Whether the index on disk is so far behind that a rebuild is worth its time."""
        return self.drift > self._sizes.may_lag(self._ids.size)

    @property
    def is_quickly_saved(self) -> bool:
        """Whether `save` takes only seconds: no training, and at most `DenseSizes.exact_values` to read."""
        return self._sizes.form(self._ids.size, self.state.dimension) == "flat"

    def save(self, path: Path, source: VectorSource) -> None:
        """Update the index on disk: a trained one grows as long as its training fits. Raises OSError."""
        base = self._base
        if base and not base.is_exact and self._fits(base):
            grow_index(path, self.state, base, self._ids, source, self._sizes)
        else:
            write_index(path, self.state, self._ids, source, self._sizes)

    def _fits(self, base: Base) -> bool:
        """Whether the training of `base` still suits the library's size and contents."""
        trained, now = base.info.trained_on, self._ids.size
        stayed = base.ids.size if self._kept is None else self._kept.size
        same_form = self._sizes.form(now, self.state.dimension) == base.info.form
        return same_form and now < _GROWTH * trained and _GROWTH * stayed > trained

    def search(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None, source: VectorSource
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(chunk ids, int64; inner products, float64) of the `k` best among `allowed` (ascending), best first.

        Of equal scores the lower id comes first. `source` gives the vectors that the scores are computed from; an
        id that it lacks is not found. Raises RagScienceError where an exact search needs more memory than
        is available.
        """
        query = np.ascontiguousarray(vector, np.float32)
        tail_ids, tail = self._tail_in_memory(source)
        base, within = self._base, self._within(allowed, tail_ids)
        usable = within.usable
        # Not `tail @ query`: BLAS would split this little work among threads, which wait for each other.
        close = tail_ids[within.tail], np.vecdot(tail, query)[within.tail]
        in_base = 0 if base is None else base.ids.size if usable is None else usable.size
        wanted = min(k, in_base + close[0].size)
        if wanted <= 0:
            return nothing()
        if base and in_base and base.is_exact:
            found = self._from_exact(base, query, min(k, in_base), within.bits(base), in_base)
            close = _joined(close, found)
        close = _no_worse(close, wanted)
        if base and in_base and not base.is_exact:
            close = _joined(close, self._from_lists(base, query, k, within, in_base))
        return best_first(*exact_scores(query, close[0], source), k)

    def _within(self, allowed: NDArray[np.int64] | None, tail_ids: NDArray[np.int64]) -> _Within:
        """The filter of `allowed`, cached for the latest array: most searches use the same one."""
        within = self._last
        if within is None or within.allowed is not allowed:
            usable = self._kept
            if allowed is not None and self._base:
                usable = shared(allowed, self._base.ids if usable is None else usable)
            inside = np.ones(tail_ids.size, np.bool_) if allowed is None else marked(tail_ids, allowed)
            within = self._last = _Within(allowed, usable, inside)
        return within

    def _tail_in_memory(self, source: VectorSource) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The chunks that the base lacks, with their vectors; read once, at the first search."""
        if self._tail is None:
            mapped = self._base.size_bytes if self._base and self._base.is_exact else 0
            self._require_memory(mapped + self._new.size * self.state.dimension * 4)
            empty = np.empty((0, self.state.dimension), np.float32)
            self._tail = source(self._new) if self._new.size else (self._new, empty)
        return self._tail

    def _require_memory(self, needed: int) -> None:
        if needed <= self._sizes.exact_values:  # less than a quarter of the limit of an exact index
            return
        memory = self._sizes.memory()
        if memory is not None and needed > _OF_MEMORY * memory:
            raise RagScienceError(
                f"An exact search of {self._ids.size:,} passages needs {needed / 1e9:.2g} GB of memory; "
                f"{memory / 1e9:.2g} GB are free.",
                "`python ingest.py rebuild --indexes` builds the index that such a library needs.",
            )

    def _from_lists(
        self, base: Base, query: NDArray[np.float32], k: int, within: _Within, available: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Candidates from an approximate base, more than `k`; all ids of a small filter, which is exact and cheap."""
        if within.usable is not None and available <= max(self._sizes.filter_exactly, k):
            return within.usable, np.zeros(available, np.float32)
        fetched = min(max(RERANKED[base.info.form] * k, k + _SPARE), available)
        return base.nearest(query, fetched, within.bits(base), available)

    @staticmethod
    def _from_exact(
        base: Base, query: NDArray[np.float32], wanted: int, usable: Bits | None, available: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The best of an exact base, enough to include every tie with the last of them."""
        fetched = min(wanted + _SPARE, available)
        while True:
            ids, scores = base.nearest(query, fetched, usable, available)
            if fetched >= available or scores[-1] < scores[wanted - 1] - _NOISE:
                return ids, scores
            fetched = min(2 * fetched, available)


class _Within:
    """What a filter leaves of an index."""

    def __init__(
        self, allowed: NDArray[np.int64] | None, usable: NDArray[np.int64] | None, tail: NDArray[np.bool_]
    ) -> None:
        self.allowed = allowed
        self.usable = usable
        """Ids of the base, ascending; None: all of them."""
        self.tail = tail
        """Indices of rows of the tail."""
        self._bits: Bits | None = None

    def bits(self, base: Base) -> Bits | None:
        """`usable` as FAISS expects it."""
        if self._bits is None and self.usable is not None:
            self._bits = base.bits(self.usable)
        return self._bits


def exact_scores(
    query: NDArray[np.float32], ids: NDArray[np.int64], source: VectorSource
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """(those of `ids` that `source` has, ascending; their inner products with `query`, float64)."""
    known, vectors = source(ids)
    return known, np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))


_Scored = tuple[NDArray[np.int64], NDArray[np.float32]]


def _joined(one: _Scored, other: _Scored) -> _Scored:
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])


def _no_worse(scored: _Scored, wanted: int) -> _Scored:
    """Those that may be among the `wanted` best by exact score."""
    ids, scores = scored
    if scores.size <= wanted:
        return scored
    close = scores >= np.partition(scores, scores.size - wanted)[scores.size - wanted] - _NOISE
    return ids[close], scores[close]
