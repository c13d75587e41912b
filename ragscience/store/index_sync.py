"""The two caches of a library, brought in step with the database before each search."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ragscience.store import row_records as rows
from ragscience.store.atomic_files import disk_errors
from ragscience.store.dense_build import write_index
from ragscience.store.dense_files import VectorSource, describe
from ragscience.store.dense_index import DenseIndex
from ragscience.store.home import Home
from ragscience.store.index_config import DenseIndexInfo, DenseSizes
from ragscience.store.keyword_index import KeywordIndex
from ragscience.store.lock import WriterLock
from ragscience.store.row_records import State
from ragscience.store.vectors import read_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Indexes"]


class Indexes:
    """The dense and the keyword index as this process has them; all methods are called inside a transaction of `db`."""

    def __init__(self, home: Home, sizes: DenseSizes) -> None:
        self._home = home
        self._sizes = sizes
        self._dense: DenseIndex | None = None
        self._straight: DenseIndex | None = None
        self._keywords: KeywordIndex | None = None
        self._may_save = True

    def dense(self, db: sqlite3.Connection, state: State) -> DenseIndex:
        """Of exactly the chunks that the database has now."""
        if self._dense is None or self._dense.state != state:
            ids = rows.chunk_ids(db)
            if self._dense is None:
                self._dense = DenseIndex.load(self._home.faiss, state, ids, self._sizes)
            else:
                self._dense = self._dense.at(state, ids)
        return self._dense

    def dense_for_a_question(self, db: sqlite3.Connection, state: State) -> DenseIndex:
        """The same; of a small library without the file, so that FAISS need not be loaded."""
        if self._dense is not None and self._dense.state == state:
            return self._dense
        ids = rows.chunk_ids(db)
        if ids.size > self._sizes.straight:
            return self.dense(db, state)
        if self._straight is None or self._straight.state != state:
            self._straight = DenseIndex(state, None, ids, self._sizes)
        return self._straight

    def keywords(self, db: sqlite3.Connection, state: State) -> KeywordIndex:
        """Of exactly the chunks that the database has now."""
        index = self._keywords
        if index is None or index.library_id != state.library_id:
            index = KeywordIndex.load(self._home.keywords, state.library_id, state.generation)
            index = index or KeywordIndex.empty(state.library_id)
        if index.generation != state.generation:
            index = index.updated(state.generation, rows.chunk_ids(db), partial(rows.texts, db))
        self._keywords = index
        return index

    def save(self, db: sqlite3.Connection, state: State) -> None:
        """Bring both caches up to date on disk; the dense one only where it is far enough behind.

        Called by the one who holds the lock. Raises RagScienceError where the disk refuses.
        """
        with disk_errors(self._home.vectorstore):
            self._save_keywords(db, state)
            self._save_dense(db, state)

    def save_if_free(self, db: sqlite3.Connection, state: State, *, dense: bool) -> None:
        """A reader's courtesy: save what it had to make, if no one writes and the folder lets it; else never mind.

        An index that must be trained is not a reader's to make: a question does not wait for minutes.
        """
        if dense:
            index = self.dense_for_a_question(db, state)
            behind = index is not self._straight and index.should_be_saved and index.is_quickly_saved
        else:
            behind = not self.keywords(db, state).is_saved
        if not behind or not self._may_save:
            return
        lock = WriterLock.acquire_for_caches(self._home.lock)
        if lock is None:
            self._may_save = False
            return
        with lock:
            try:
                (self._save_dense if dense else self._save_keywords)(db, state)
            except OSError:
                self._may_save = False

    def remake(self, db: sqlite3.Connection, state: State) -> None:
        """Make both caches anew from the database alone. Raises RagScienceError where the disk refuses."""
        self._keywords = KeywordIndex.empty(state.library_id)
        self._dense = None
        with disk_errors(self._home.vectorstore):
            self._save_keywords(db, state)
            if state.dimension:
                write_index(self._home.faiss, state, rows.chunk_ids(db), vector_source(db, state), self._sizes)

    def info(self, state: State) -> DenseIndexInfo | None:
        """What the dense index on disk is; None where there is none that a search would use."""
        return describe(self._home.faiss, state)

    def behind(self, db: sqlite3.Connection, state: State) -> list[str]:
        """Which caches on disk a search would have to make up for: "keyword", "dense"."""
        ids = rows.chunk_ids(db)
        if not ids.size:
            return []
        found = []
        index = KeywordIndex.load(self._home.keywords, state.library_id, state.generation)
        if index is None or index.generation != state.generation:
            found.append("keyword")
        if DenseIndex.load(self._home.faiss, state, ids, self._sizes).should_be_saved:
            found.append("dense")
        return found

    def _save_keywords(self, db: sqlite3.Connection, state: State) -> None:
        index = self.keywords(db, state)
        if not index.is_saved:
            self._keywords = index.save(self._home.keywords)

    def _save_dense(self, db: sqlite3.Connection, state: State) -> None:
        if state.dimension and self.dense(db, state).should_be_saved:
            self.dense(db, state).save(self._home.faiss, vector_source(db, state))
            self._dense = None


def vector_source(db: sqlite3.Connection, state: State) -> VectorSource:
    """The library's own vectors, as of the current transaction."""

    def source(ids: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return read_vectors(db, state.dimension, ids)

    return source
