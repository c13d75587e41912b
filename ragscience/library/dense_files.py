"""The dense index on disk: a memory-mapped FAISS file and a JSON sidecar that describes its source."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.library.atomic_files import Signature, put_in_place, read_checked_json, write_checked_json
from ragscience.library.index_config import DenseIndexInfo
from ragscience.library.sealed_rows import State

__all__ = ["Base", "Bits", "VectorSource", "describe", "faiss_package", "is_whole", "write_base"]

VectorSource = Callable[[Sequence[int] | NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.float32]]]
"""Gives (existing ids, ascending; their vectors, one row each) for the requested ids."""

Bits = NDArray[np.uint8]
"""A bitmap of ids from 0, little-endian: those that a search may find."""

_FORMAT = 4


class Base:
    """The memory-mapped index on disk and its ids, ascending."""

    def __init__(self, index: Any, ids: NDArray[np.int64], info: DenseIndexInfo, size_bytes: int) -> None:
        self.index = index
        self.ids = ids
        self.info = info
        self.size_bytes = size_bytes

    @property
    def is_exact(self) -> bool:
        """Whether the index holds the vectors themselves."""
        return self.info.form == "flat"

    @classmethod
    def load(cls, path: Path, state: State) -> Base | None:
        """None if there is no index, it belongs to another library, its vectors were replaced, or it is damaged."""
        sidecar = _read_sidecar(path, state)
        if sidecar is None:
            return None
        faiss = faiss_package()
        info, ids, signature = sidecar
        # A search reads all of an exact index; of a larger one it reads little, and `doctor` reads all.
        if info.form == "flat" and not signature.is_of(path):
            return None
        try:
            index = faiss.read_index(os.fspath(path), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError:
            return None
        if (index.d, index.ntotal, ids.size) != (state.dimension, info.count, info.count):
            return None
        return cls(index, ids, info, signature.size)

    def bits(self, usable: NDArray[np.int64]) -> Bits:
        """The filter for `nearest`: only these ids may be found."""
        bits = np.zeros(int(self.ids[-1]) + 1, np.bool_)
        bits[usable] = True
        return np.packbits(bits, bitorder="little")

    def nearest(
        self, vector: NDArray[np.float32], k: int, usable: Bits | None, available: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, approximate scores) of the `k` best of the `available` ids of `usable` (None: all), best first.

        With inverted lists, a filter that leaves a tenth probes ten times as many lists, so that as many vectors are
        compared; more lists follow if those had too few.
        """
        lists, probed = max(self.info.nlist, 1), max(self.info.nprobe, 1)
        probed = min(lists, -(-probed * self.info.count // max(available, 1)))
        while True:
            ids, scores = self._search(vector, k, usable, probed)
            if ids.size >= min(k, available) or probed >= lists:
                return ids, scores
            probed = min(4 * probed, lists)

    def _search(
        self, vector: NDArray[np.float32], k: int, usable: Bits | None, probed: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        faiss = faiss_package()
        given: dict[str, Any] = {} if usable is None else {"sel": faiss.IDSelectorBitmap(usable)}
        if self.is_exact:
            parameters = faiss.SearchParameters(**given) if given else None
        else:
            parameters = faiss.SearchParametersIVF(nprobe=probed, **given)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # one search is bound by memory, and threads wait for each other
        try:
            scores, ids = self.index.search(vector[np.newaxis], k, params=parameters)
        finally:
            faiss.omp_set_num_threads(threads)
        found = ids[0] >= 0
        return ids[0][found], scores[0][found]


def describe(path: Path, state: State) -> DenseIndexInfo | None:
    """The info of the index on disk, without loading it; None where `Base.load` would reject it."""
    sidecar = _read_sidecar(path, state)
    return sidecar[0] if sidecar else None


def is_whole(path: Path, state: State) -> bool:
    """Whether the index on disk holds what was written, if there is one that belongs to the library; reads all."""
    sidecar = _read_sidecar(path, state)
    return sidecar is None or sidecar[2].is_of(path)


def _write(index: Any, path: Path) -> None:
    """Write an index through a file of Python's; FAISS's own only prints that a disk is full. Raises OSError."""
    faiss, failed = faiss_package(), list[OSError]()
    with path.open("wb") as file:

        def write(content: bytes) -> None:
            try:
                if not failed:
                    file.write(content)
            except OSError as error:  # not through FAISS, which would tell of it in its own words
                failed.append(error)

        faiss.write_index(index, faiss.PyCallbackIOWriter(write))
    if failed:
        raise failed[0]


def write_base(path: Path, state: State, index: Any, ids: NDArray[np.int64], info: DenseIndexInfo) -> None:
    """Write an index of `ids` (ascending), then its sidecar. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        _write(index, temporary)
        put_in_place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sidecar = {
        "made_from": _made_from(state) | {"version": state.version},
        "index": asdict(info),
        "signature": asdict(Signature.of(path)),
        "ids": _runs(ids),
    }
    write_checked_json(_sidecar(path), sidecar)


def faiss_package() -> Any:
    """The faiss module, untyped: its stubs lack what its Python layer adds to the classes."""
    import faiss

    return faiss


def _read_sidecar(path: Path, state: State) -> tuple[DenseIndexInfo, NDArray[np.int64], Signature] | None:
    try:
        sidecar = read_checked_json(_sidecar(path))
        info, signature = DenseIndexInfo(**sidecar["index"]), Signature(**sidecar["signature"])
        made_from = dict(sidecar["made_from"])
        if made_from.pop("version") > state.version or made_from != _made_from(state):
            return None
        if not signature.fits(path):
            return None
        return info, _unfolded(sidecar["ids"]), signature
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _made_from(state: State) -> dict[str, object]:
    """What must match for the index to be used; its version may be older, because its ids are compared."""
    return {
        "format": _FORMAT,
        "library": state.library_id,
        "vectors_epoch": state.vectors_epoch,
        "dimension": state.dimension,
    }


def _runs(ids: NDArray[np.int64]) -> list[list[int]]:
    """Ascending ids as [first, count] of each run without a gap: few runs, because papers are rarely removed."""
    if not ids.size:
        return []
    breaks = np.flatnonzero(np.diff(ids) != 1) + 1
    starts = np.concatenate([[0], breaks])
    sizes = np.diff(np.concatenate([starts, [ids.size]]))
    return [[first, size] for first, size in zip(ids[starts].tolist(), sizes.tolist(), strict=True)]


def _unfolded(runs: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """The ids of `_runs`. Raises ValueError or TypeError for invalid input."""
    table = np.array(runs, np.int64).reshape(-1, 2)
    first, size = table[:, 0], table[:, 1]
    before = np.cumsum(size) - size
    ids = np.repeat(first - before, size) + np.arange(int(size.sum()), dtype=np.int64)
    return np.asarray(ids, np.int64)


def _sidecar(path: Path) -> Path:
    return path.with_suffix(".json")
