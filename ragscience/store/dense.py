"""The dense index: FAISS inner product over unit vectors, with the chunks' ids.

The index on disk (the base) is memory-mapped and may be some papers behind: what is newer is held beside it (the tail),
what has left is masked, and the index is written anew only when that has become much. The scores that decide are worked
out from the library's own vectors, so that they are the same however the index is made up.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.store.files import Signature, put_in_place, write_atomically
from ragscience.store.ranking import best_first, marked, nothing, shared
from ragscience.store.rows import State

__all__ = ["DenseIndex", "VectorSource", "write_index"]

VectorSource = Callable[[Sequence[int] | NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.float32]]]
"""Gives (ids that exist, ascending; their vectors, a row each) for the ids that it is asked for."""

_FORMAT = 1
_SPARE = 8
_NOISE = 1e-5
"""More than FAISS's float32 sums may differ from ours."""
_SMALL = 20_000
_TAIL_SHARE = 0.05


class _Base:
    """The index on disk, memory-mapped, and the ids that are in it, ascending."""

    def __init__(self, index: Any, ids: NDArray[np.int64]) -> None:
        self.index = index
        self.ids = ids

    @classmethod
    def load(cls, path: Path, state: State) -> _Base | None:
        """None where there is none, or another library's, or of replaced vectors, or anything is damaged."""
        try:
            told = json.loads(_sidecar(path).read_bytes())
            signature = Signature(**told["signature"])
            if told["index"] != _description(state, int(told["count"])) or told["generation"] > state.generation:
                return None
            if not signature.fits(path):
                return None
        except (OSError, ValueError, TypeError, KeyError):
            return None
        faiss = _faiss()
        try:
            index = faiss.read_index(os.fspath(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError:
            return None
        return cls(index, faiss.vector_to_array(index.id_map))

    def nearest(
        self, vector: NDArray[np.float32], k: int, usable: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, approximate scores) of the `k` best among `usable`, best first."""
        faiss = _faiss()
        parameters = None
        if usable is not None:
            bits = np.zeros(int(self.ids[-1]) + 1, np.bool_)
            bits[usable] = True
            parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little")))
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # one question waits for memory; on a busy machine threads wait for each other too
        try:
            scores, ids = self.index.search(vector[np.newaxis], k, params=parameters)
        finally:
            faiss.omp_set_num_threads(threads)
        found = ids[0] >= 0
        return ids[0][found], scores[0][found]


class DenseIndex:
    """The dense index at one generation of the library; it never changes, `at` gives another."""

    def __init__(self, state: State, base: _Base | None, ids: NDArray[np.int64], source: VectorSource) -> None:
        self.state = state
        self._base = base
        self._ids = ids
        base_ids = base.ids if base else np.empty(0, np.int64)
        if np.array_equal(base_ids, ids):
            self._kept: NDArray[np.int64] | None = None
            new = np.empty(0, np.int64)
            self._drift = 0
        else:
            kept = shared(base_ids, ids)
            new = ids[~marked(ids, base_ids)]
            self._kept = None if kept.size == base_ids.size else kept
            self._drift = int(new.size + base_ids.size - kept.size)
        self._tail_ids, self._tail = source(new) if new.size else (new, np.empty((0, state.dimension), np.float32))

    @classmethod
    def load(cls, path: Path, state: State, ids: NDArray[np.int64], source: VectorSource) -> DenseIndex:
        """The index of the chunks `ids` (ascending), from what of it is on disk and the library's vectors."""
        return cls(state, _Base.load(path, state), ids, source)

    def at(self, state: State, ids: NDArray[np.int64], source: VectorSource) -> DenseIndex:
        """The index of the chunks `ids` on the same base, if its vectors still hold."""
        same = (state.library_id, state.vectors_epoch) == (self.state.library_id, self.state.vectors_epoch)
        return DenseIndex(state, self._base if same else None, ids, source)

    @property
    def should_be_saved(self) -> bool:
        """Whether the index on disk is so far behind that writing it anew is worth its time."""
        return self._drift > (0 if self._ids.size <= _SMALL else self._ids.size * _TAIL_SHARE)

    def search(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None, source: VectorSource
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(chunk ids, int64; inner products, float64) of the `k` best among `allowed` (ascending), best first.

        Of equal scores the lower id comes first. `source` gives the vectors that the scores are worked out from; an
        id that it does not know is not found.
        """
        query = np.ascontiguousarray(vector, np.float32)
        base_ids = self._kept
        if allowed is not None and self._base:
            base_ids = shared(allowed, self._base.ids if base_ids is None else base_ids)
        in_base = 0 if self._base is None else self._base.ids.size if base_ids is None else base_ids.size
        tail_ids, tail = self._tail_ids, self._tail
        if allowed is not None:
            inside = marked(tail_ids, allowed)
            tail_ids, tail = tail_ids[inside], tail[inside]
        wanted = min(k, in_base + tail_ids.size)
        if wanted <= 0:
            return nothing()
        ids, scores = tail_ids, tail @ query
        if self._base and in_base:
            found, near = self._from_base(self._base, query, min(k, in_base), in_base, base_ids)
            ids, scores = np.concatenate([ids, found]), np.concatenate([scores, near])
        close = scores >= np.partition(scores, scores.size - wanted)[scores.size - wanted] - _NOISE
        known, vectors = source(ids[close])
        exact = np.einsum("ij,j->i", vectors.astype(np.float64), query.astype(np.float64))
        return best_first(known, exact, k)

    @staticmethod
    def _from_base(
        base: _Base, query: NDArray[np.float32], wanted: int, available: int, usable: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The best of the base, as many as it takes to have all that may tie with the last of them."""
        fetched = min(wanted + _SPARE, available)
        while True:
            ids, scores = base.nearest(query, fetched, usable)
            if fetched >= available or scores[-1] < scores[wanted - 1] - _NOISE:
                return ids, scores
            fetched = min(2 * fetched, available)


def write_index(path: Path, state: State, batches: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]]) -> None:
    """Write the index of all chunks, given in ascending order of their ids, and what it was made from beside it.

    Raises OSError. The one place that decides which FAISS index a library gets.
    """
    faiss = _faiss()
    index = faiss.IndexIDMap(faiss.IndexFlatIP(state.dimension))
    for ids, vectors in batches:
        index.add_with_ids(vectors, ids)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        faiss.write_index(index, os.fspath(temporary))
        put_in_place(temporary, path)
    except RuntimeError as error:
        raise OSError(f"FAISS could not write it: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    told = {
        "index": _description(state, index.ntotal),
        "count": index.ntotal,
        "generation": state.generation,
        "signature": asdict(Signature.of(path)),
    }
    write_atomically(_sidecar(path), (json.dumps(told, indent=1) + "\n").encode())


def _faiss() -> Any:
    """The package, untyped: its stubs know nothing of what its Python layer adds to the classes."""
    import faiss

    return faiss


def _sidecar(path: Path) -> Path:
    return path.with_suffix(".json")


def _description(state: State, count: int) -> dict[str, object]:
    """What must be the same for the index to be used; its generation may be older, because its ids are compared."""
    return {
        "format": _FORMAT,
        "kind": "flat",
        "library": state.library_id,
        "vectors_epoch": state.vectors_epoch,
        "dimension": state.dimension,
        "count": count,
    }
