"""Dense search of a library: keeps its FAISS index up to date with the database, before each search."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import RLock

import numpy as np

from ragscience.core.errors import LibraryUnavailable
from ragscience.library import dense_index
from ragscience.library.atomic_files import Home, disk_errors, file_signature
from ragscience.library.changes import SqlDatabase
from ragscience.library.dense_index import DenseIndex, Ids, Matrix, Ranked, Scores
from ragscience.library.sealed_rows import DenseIndexInfo, DenseSizes, State
from ragscience.library.snapshots import Database, Snapshot

_KEPT = 3
"""Versions whose indexes stay in memory: threads that began before a change still search the older one."""


class DenseSearch(ABC):
    """Scores of given passages, from their own vectors; the part of a dense search that is the same everywhere."""

    def __init__(self, database: Database) -> None:
        self._read = database

    @abstractmethod
    def search(self, vector: Matrix, k: int, allowed: Ids | None) -> Ranked:
        """(ids, int64; inner products, float64) of the `k` nearest passages, best first; ties by lower id.

        `allowed` are ids, ascending; None: all. Raises LibraryUnavailable for a vector of another dimension.
        """

    def scores(self, vector: Matrix, ids: Sequence[int] | Ids) -> Scores:
        """The inner product of `vector` with each passage of `ids`, shape (len(ids),); 0 for an unknown id.

        Raises LibraryUnavailable for a vector of another dimension.
        """
        wanted = np.asarray(ids, np.int64)
        scores = np.zeros(wanted.size, np.float64)
        with self._read.now() as at:
            if not at.state.dimension or not wanted.size:
                return scores
            require_dimension(at.state, vector)
            known, exact = dense_index.exact_scores(vector, np.unique(wanted), at.vectors)
        rows, inside = dense_index.places(known, wanted)
        scores[inside] = exact[rows]
        return scores


class Dense(DenseSearch):
    """Searches by vectors, for many threads; an index in memory is immutable."""

    def __init__(self, home: Home, database: SqlDatabase, sizes: DenseSizes) -> None:
        super().__init__(database)
        self._home = home
        self._sizes = sizes
        self._making = RLock()
        """Held by the thread that builds or saves an index; searches in others continue."""
        self._made: dict[State, DenseIndex] = {}

    def search(self, vector: Matrix, k: int, allowed: Ids | None) -> Ranked:
        """(ids, int64; inner products, float64) of the `k` nearest passages, best first; ties by lower id.

        `allowed` are ids, ascending; None: all. Raises LibraryUnavailable for a vector of another dimension.
        """
        with self._read.now() as at:
            if not at.state.dimension:
                return dense_index.nothing()
            require_dimension(at.state, vector)
            return self._index(at).search(vector, k, allowed, at.vectors)

    def refresh(self, *, anew: bool = False) -> None:
        """Update the index on disk if it is far enough behind, or make it anew. Raises RagScienceError.

        Of a library in which damage was seen nothing is saved.
        """
        with self._read.now() as at, disk_errors(self._home.vectorstore):
            if not at.state.dimension or at.damage.loses_passages:
                return
            index = DenseIndex(at.state, None, at.listing.chunk_ids, self._sizes) if anew else self._index(at)
            if anew or index.should_be_saved:
                index.save(self._home.faiss, at.vectors)
                self._made = {}

    def is_stale(self) -> bool:
        """Whether the index on disk is missing, well behind the library or not what was written; reads all of it."""
        with self._read.now() as at:
            if not at.state.chunks:
                return False
            index = DenseIndex.load(self._home.faiss, at.state, at.listing.chunk_ids, self._sizes)
            kept = dense_index.read_sidecar(self._home.faiss, at.state)
            return index.should_be_saved or (kept is not None and kept[2] != file_signature(self._home.faiss))

    def info(self) -> DenseIndexInfo | None:
        """The record of the index on disk; None if there is no usable one."""
        with self._read.now() as at:
            kept = dense_index.read_sidecar(self._home.faiss, at.state)
            return kept[0] if kept else None

    def _index(self, at: Snapshot) -> DenseIndex:
        """The index of exactly the passages of the snapshot."""
        found = self._made.get(at.state)
        if found is not None:
            return found
        with self._making:
            found = self._made.get(at.state)
            if found is None:
                ids, last = at.listing.chunk_ids, next(reversed(self._made.values()), None)
                found = last.at(at.state, ids) if last else None
                if found is None or found.should_be_saved:  # another process may have updated the file
                    loaded = DenseIndex.load(self._home.faiss, at.state, ids, self._sizes)
                    found = loaded if found is None or loaded.drift < found.drift else found
                # Replaced, not changed: other threads read the old table meanwhile.
                self._made = dict([*self._made.items(), (at.state, found)][-_KEPT:])
            return found


def require_dimension(state: State, vector: Matrix) -> None:
    """Raise LibraryUnavailable unless the vector has the dimension of the library's."""
    if vector.shape != (state.dimension,):
        what = f"The library's vectors have {state.dimension} dimensions, the question's {vector.shape[-1]}."
        raise LibraryUnavailable(what, "Use the embedder that made it, or run `python ingest.py rebuild --embeddings`.")
