"""The dense index: FAISS inner product over unit vectors, with the chunks' ids.

The index on disk (the base) is memory-mapped and may be some papers behind: newer vectors are in memory (the tail),
removed ones are masked, and the index is rebuilt only when there are many of either. Final scores are computed
from the library's own vectors, so they do not depend on the index form; an approximate base only
chooses the candidates.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ragscience.library.atomic_files import file_signature, read_checked_json, write_atomically, write_checked_json
from ragscience.library.sealed_rows import DenseIndexInfo, DenseSizes, State

Ids = NDArray[np.int64]
"""Numbers of passages."""
Matrix = NDArray[np.float32]
"""A vector, or vectors as rows."""
Scores = NDArray[np.float64]
Codes = NDArray[np.uint8]
"""Codes of token vectors, or bits."""
Ranked = tuple[Ids, Scores]
"""Numbers of passages and a score for each."""
Stored = tuple[Ids, Matrix]
"""Numbers of passages and a vector for each."""

VectorSource = Callable[[Sequence[int] | Ids], Stored]
"""Gives (existing ids, ascending; their vectors, one row each) for the requested ids."""

_FORMAT = 5
_BATCH = 8192
_SPARE = 8
_NOISE = 1e-5
"""Upper bound of the difference between FAISS's float32 sums and ours."""
_RERANKED = 4
"""Candidates of an approximate index that are rescored exactly for each passage wanted."""
_PROBED = 16
"""A search probes one list of so many: recall at 20 is at least 0.98, and a million vectors take some 15 ms."""
_LEAST_LISTS = 16
_GROWTH = 1.25
"""An index is trained again when the library has this many times the vectors it was trained on, or half of them went:
new passages may be about other topics than the lists were made for."""


@dataclass(frozen=True, slots=True)
class _Base:
    """The memory-mapped index on disk and its ids, ascending."""

    index: Any
    ids: Ids
    info: DenseIndexInfo

    @classmethod
    def load(cls, path: Path, state: State) -> Self | None:
        """None if there is no index, it belongs to another library, its vectors were replaced, or it is damaged."""
        sidecar = read_sidecar(path, state)
        if sidecar is None:
            return None
        info, ids, signature, modified_ns = sidecar
        # A search reads all of an exact index; of a larger one it reads little, and all only where something else has
        # written the file since, or by `doctor`.
        is_touched = modified_ns != path.stat().st_mtime_ns
        if (info.form == "flat" or is_touched) and signature != file_signature(path):
            return None
        faiss = _faiss()
        try:
            index = faiss.read_index(os.fspath(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError:
            return None
        if (index.d, index.ntotal, ids.size) != (state.dimension, info.count, info.count):
            return None
        return cls(index, ids, info)


@dataclass(slots=True)
class _Within:
    """What a filter leaves of an index."""

    allowed: Ids | None
    usable: Ids
    """Ids of the base, ascending."""
    bits: Codes | None
    """These as a bitmap of ids from 0, little-endian; None: all of them."""
    tail: NDArray[np.bool_]
    """Which rows of the tail."""


class DenseIndex:
    """The dense index at one version of the library; immutable, `at` gives another."""

    def __init__(self, state: State, base: _Base | None, ids: Ids, sizes: DenseSizes) -> None:
        self.state = state
        self._base, self._ids, self._sizes = base, ids, sizes
        self._base_ids = base.ids if base else np.empty(0, np.int64)
        self._kept = shared(self._base_ids, ids)
        self._new = ids[~marked(ids, self._base_ids)]
        self.drift = int(self._new.size + self._base_ids.size - self._kept.size)
        """How many chunks are in the library only or on disk only."""
        self._last: _Within | None = None
        self._tail: Stored | None = None

    @classmethod
    def load(cls, path: Path, state: State, ids: Ids, sizes: DenseSizes) -> Self:
        """The index of the chunks `ids` (ascending), using as much of it as is on disk."""
        return cls(state, _Base.load(path, state), ids, sizes)

    def at(self, state: State, ids: Ids) -> Self:
        """The index of the chunks `ids` on the same base, if its vectors are still valid."""
        same = (state.library_id, state.vectors_epoch) == (self.state.library_id, self.state.vectors_epoch)
        return type(self)(state, self._base if same else None, ids, self._sizes)

    @property
    def should_be_saved(self) -> bool:
        """Whether the index on disk is so far behind that a rebuild is worth its time."""
        return self.drift > self._sizes.may_lag(self._ids.size)

    def save(self, path: Path, source: VectorSource) -> None:
        """Write the index: a trained one grows as long as its training fits. Raises OSError."""
        form, base, faiss = self._sizes.form(self._ids.size, self.state.dimension), self._base, _faiss()
        if base and form == base.info.form == "ivf-sq8" and self._is_trained_for(base):
            try:
                index = faiss.read_index(os.fspath(path))
            except RuntimeError as error:
                raise OSError(f"FAISS could not read it: {error}") from error
            index.remove_ids(self._base_ids[~marked(self._base_ids, self._kept)])
            ids, trained, present = self._new, base.info.trained_on, [self._kept]
        elif form == "flat":
            index = faiss.IndexIDMap(faiss.IndexFlatIP(self.state.dimension))
            ids, trained, present = self._ids, 0, list[Ids]()
        else:
            index = self._trained(source)
            ids, trained, present = self._ids, self._ids.size, []
        for numbers, vectors in _batches(ids, source):
            index.add_with_ids(vectors, numbers)
            present.append(numbers)
        kept = np.sort(np.concatenate([np.empty(0, np.int64), *present]))
        _write_base(path, self.state, index, kept, DenseIndexInfo(form, kept.size, getattr(index, "nlist", 0), trained))

    def _is_trained_for(self, base: _Base) -> bool:
        return self._ids.size < _GROWTH * base.info.trained_on and 2 * self._kept.size > base.info.trained_on

    def _trained(self, source: VectorSource) -> Any:
        """An index with empty lists, about 2 √count of them, a power of two; trained on a sample."""
        faiss, count, dimension = _faiss(), self._ids.size, self.state.dimension
        lists = 2 ** round(math.log2(2 * math.sqrt(count)))
        index = faiss.index_factory(dimension, f"IVF{lists},SQ8", faiss.METRIC_INNER_PRODUCT)
        wanted = min(count, lists * self._sizes.sample_per_list)
        chosen = np.sort(np.random.default_rng(count).choice(self._ids, wanted, replace=False))
        index.cp.min_points_per_centroid = 1
        index.train(np.concatenate([vectors for _, vectors in _batches(chosen, source)]))
        return index

    def search(self, vector: Matrix, k: int, allowed: Ids | None, source: VectorSource) -> Ranked:
        """(chunk ids, int64; inner products, float64) of the `k` best among `allowed` (ascending), best first.

        Of equal scores the lower id comes first. `source` gives the vectors that the scores are computed from; an
        id that it lacks is not found.
        """
        if k <= 0 or not self._ids.size:
            return nothing()
        query = np.ascontiguousarray(vector, np.float32)
        tail_ids, tail = self._tail_in_memory(source)
        within = self._within(allowed, tail_ids)
        ids = tail_ids[within.tail]
        if ids.size > k:
            # Not `tail @ query`: BLAS would split this little work among threads, which wait for each other.
            scores = np.vecdot(tail, query)[within.tail]
            ids = ids[scores >= np.partition(scores, scores.size - k)[scores.size - k] - _NOISE]
        if within.usable.size:
            ids = np.concatenate([ids, self._of_base(query, k, within)])
        return best_first(*exact_scores(query, ids, source), k)

    def _of_base(self, query: Matrix, k: int, within: _Within) -> Ids:
        """The `k` best of the base at least, with every tie of an exact one.

        With inverted lists, a filter that leaves a tenth probes ten times as many lists, so that as many vectors are
        compared; more lists follow if those had too few.
        """
        if self._base is None:
            return np.empty(0, np.int64)
        info, available = self._base.info, within.usable.size
        is_exact = info.form == "flat"
        if not is_exact and within.bits is not None and available <= max(self._sizes.filter_exactly, k):
            return within.usable
        fetched = k + _SPARE if is_exact else max(_RERANKED * k, k + _SPARE)
        probed = -(-max(info.nlist // _PROBED, _LEAST_LISTS) * info.count // available)
        while True:
            probed = min(probed, info.nlist)
            ids, scores = self._faiss_search(query, min(fetched, available), within.bits, probed)
            if is_exact:
                is_enough = fetched >= available or scores[-1] < scores[k - 1] - _NOISE
            else:
                is_enough = ids.size >= min(k, available) or probed >= info.nlist
            if is_enough:
                return ids
            fetched, probed = 2 * fetched, 4 * probed

    def _faiss_search(self, query: Matrix, k: int, bits: Codes | None, probed: int) -> Stored:
        faiss, base = _faiss(), self._base
        given: dict[str, Any] = {} if bits is None else {"sel": faiss.IDSelectorBitmap(bits)}
        if probed:
            given["nprobe"] = probed
        kind = faiss.SearchParametersIVF if probed else faiss.SearchParameters
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # one search is bound by memory, and threads wait for each other
        try:
            scores, ids = base.index.search(query[np.newaxis], k, params=kind(**given) if given else None)  # type: ignore[union-attr]
        finally:
            faiss.omp_set_num_threads(threads)
        found = ids[0] >= 0
        return ids[0][found], scores[0][found]

    def _within(self, allowed: Ids | None, tail_ids: Ids) -> _Within:
        """The filter of `allowed`, cached for the latest array: most searches use the same one."""
        within = self._last
        if within is None or within.allowed is not allowed:
            usable = self._kept if allowed is None else shared(allowed, self._kept)
            bits = None
            if usable.size < self._base_ids.size:
                marks = np.zeros(int(self._base_ids[-1]) + 1, np.bool_)
                marks[usable] = True
                bits = np.packbits(marks, bitorder="little")
            inside = np.ones(tail_ids.size, np.bool_) if allowed is None else marked(tail_ids, allowed)
            within = self._last = _Within(allowed, usable, bits, inside)
        return within

    def _tail_in_memory(self, source: VectorSource) -> Stored:
        """The chunks that the base lacks, with their vectors; read once, at the first search."""
        if self._tail is None:
            empty = np.empty((0, self.state.dimension), np.float32)
            self._tail = source(self._new) if self._new.size else (self._new, empty)
        return self._tail


def exact_scores(query: Matrix, ids: Ids, source: VectorSource) -> Ranked:
    """(those of `ids` that `source` has, ascending; their inner products with `query`, float64)."""
    known, vectors = source(ids)
    return known, np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))


def _batches(ids: Ids, source: VectorSource) -> Iterator[Stored]:
    for first in range(0, ids.size, _BATCH):
        yield source(ids[first : first + _BATCH])


def _write_base(path: Path, state: State, index: Any, ids: Ids, info: DenseIndexInfo) -> None:
    """Write an index of `ids` (ascending), then its sidecar. Raises OSError."""
    # Not by FAISS's own writer, which only prints that a disk is full.
    write_atomically(path, _faiss().serialize_index(index).data)
    # Ascending ids as [first, count] of each run without a gap: few runs, because papers are rarely removed.
    runs = np.split(ids, np.flatnonzero(np.diff(ids) != 1) + 1) if ids.size else []
    sidecar = {
        "made_from": _made_from(state) | {"version": state.version},
        "index": asdict(info),
        "signature": file_signature(path) | {"modified_ns": path.stat().st_mtime_ns},
        "ids": [[int(run[0]), run.size] for run in runs],
    }
    write_checked_json(path.with_suffix(".json"), sidecar)


def read_sidecar(path: Path, state: State) -> tuple[DenseIndexInfo, Ids, dict[str, Any], int] | None:
    """(what the index on disk is, its ids, size and checksum, when it was written); None for another library's."""
    sidecar = read_checked_json(path.with_suffix(".json"))
    try:
        info, signature = DenseIndexInfo(**sidecar["index"]), dict(sidecar["signature"])
        modified_ns = signature.pop("modified_ns", 0)
        is_there = path.stat().st_size == signature["size"]
        made_from = dict(sidecar["made_from"])
        if made_from.pop("version") > state.version or made_from != _made_from(state) or not is_there:
            return None
        runs = [np.arange(first, first + count, dtype=np.int64) for first, count in sidecar["ids"]]
        return info, np.concatenate([np.empty(0, np.int64), *runs]), signature, modified_ns
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _made_from(state: State) -> dict[str, object]:
    """What must match for the index to be used; its version may be older, because its ids are compared."""
    library = {"library": state.library_id, "vectors_epoch": state.vectors_epoch, "dimension": state.dimension}
    return {"format": _FORMAT, **library}


def _faiss() -> Any:
    """The faiss module, untyped: its stubs lack what its Python layer adds to the classes."""
    import faiss

    return faiss


def best_first(ids: Ids, scores: Scores, k: int) -> Ranked:
    """The `k` best, higher scores first; ties by lower id, also at the cut.

    Both arrays have shape (n,), in any order; the results have shape (min(k, n),).
    """
    if scores.size > k:
        cut = np.partition(scores, scores.size - k)[scores.size - k]
        above = np.flatnonzero(scores > cut)
        level = np.flatnonzero(scores == cut)
        level = level[np.argsort(ids[level], kind="stable")[: k - above.size]]
        kept = np.concatenate([above, level])
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]


def nothing() -> Ranked:
    """No ids and no scores."""
    return np.empty(0, np.int64), np.empty(0, np.float64)


def places(ids: Ids, wanted: Ids) -> tuple[Ids, NDArray[np.bool_]]:
    """(positions in `ids`, ascending, of the members of `wanted`; which of `wanted` those are, bool)."""
    if ids.size and int(ids[-1]) - int(ids[0]) == ids.size - 1:  # no gaps: no search needed
        place = wanted - ids[0]
        inside = (place >= 0) & (place < ids.size)
        return place[inside], inside
    place = np.searchsorted(ids, wanted)
    inside = place < ids.size
    inside[inside] = ids[place[inside]] == wanted[inside]
    return place[inside], inside


def marked(ids: Ids, wanted: Ids) -> NDArray[np.bool_]:
    """Which of `ids` (ascending) are in `wanted`, shape of `ids`; fast for few wanted ones among many ids."""
    marks = np.zeros(ids.size, np.bool_)
    marks[places(ids, wanted)[0]] = True
    return marks


def shared(one: Ids, other: Ids) -> Ids:
    """The intersection of two ascending arrays, ascending."""
    few, many = (one, other) if one.size <= other.size else (other, one)
    return many[marked(many, few)]
