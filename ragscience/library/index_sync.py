"""Keeps a library's two index caches up to date with the database, before each search."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Generic, TypeVar

from ragscience.library import row_records as rows
from ragscience.library.atomic_files import DamagedFile, disk_errors
from ragscience.library.dense_build import write_index
from ragscience.library.dense_files import VectorSource, describe, is_whole
from ragscience.library.dense_index import DenseIndex
from ragscience.library.home import Home
from ragscience.library.index_config import DenseIndexInfo, DenseSizes
from ragscience.library.keyword_index import KeywordIndex
from ragscience.library.library_damage import is_damaged
from ragscience.library.lock import WriterLock
from ragscience.library.row_records import State
from ragscience.library.vectors import read_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Indexes"]


_KEPT = 3
"""Generations whose indexes stay in memory: threads that began before a change still search the older one."""

Index = TypeVar("Index", DenseIndex, KeywordIndex)
T = TypeVar("T")


class _Made(Generic[Index]):
    """The indexes of the last few generations. One thread builds a missing one; searches of others continue."""

    def __init__(self) -> None:
        self.making = RLock()
        """Held by the thread that builds or saves one."""
        self._by_state: dict[State, Index] = {}

    @property
    def last(self) -> Index | None:
        return next(reversed(self._by_state.values()), None)

    def known(self, state: State) -> Index | None:
        return self._by_state.get(state)

    def get(self, state: State, make: Callable[[], Index]) -> Index:
        found = self.known(state)
        if found is None:
            with self.making:
                found = self.known(state)
                if found is None:
                    found = make()
                    self.put(state, found)
        return found

    def put(self, state: State, index: Index) -> None:
        """Searches that read the old table meanwhile are unaffected: it is replaced, not changed."""
        with self.making:
            kept = {key: value for key, value in self._by_state.items() if key != state} | {state: index}
            self._by_state = dict(list(kept.items())[-_KEPT:])

    def clear(self) -> None:
        self._by_state = {}

    def is_newest(self, state: State) -> bool:
        return all(other.generation <= state.generation for other in self._by_state)


class Indexes:
    """The dense and the keyword index of this process, for many threads.

    Each method is called inside a transaction of `db` with state `state`; an index is immutable.
    """

    def __init__(self, home: Home, sizes: DenseSizes) -> None:
        self._home = home
        self._sizes = sizes
        self._dense: _Made[DenseIndex] = _Made()
        self._straight: _Made[DenseIndex] = _Made()
        self._keywords: _Made[KeywordIndex] = _Made()
        self._may_save = True

    def dense(self, db: sqlite3.Connection, state: State) -> DenseIndex:
        """The index of exactly the chunks in the database."""

        def make() -> DenseIndex:
            ids, last = rows.chunk_ids(db), self._dense.last
            index = last.at(state, ids) if last else None
            if index is None or index.should_be_saved:  # another process may have updated the file
                loaded = DenseIndex.load(self._home.faiss, state, ids, self._sizes)
                index = loaded if index is None or loaded.drift < index.drift else index
            return index

        return self._dense.get(state, make)

    def dense_for_a_question(self, db: sqlite3.Connection, state: State) -> DenseIndex:
        """As `dense`; for a small library without the file, so that FAISS need not be loaded."""
        found = self._dense.known(state) or self._straight.known(state)
        if found is not None:
            return found
        ids = rows.chunk_ids(db)
        if ids.size > self._sizes.straight:
            return self.dense(db, state)
        return self._straight.get(state, lambda: DenseIndex(state, None, ids, self._sizes))

    def keywords(self, db: sqlite3.Connection, state: State) -> KeywordIndex:
        """The index of exactly the chunks in the database."""

        def make() -> KeywordIndex:
            index = self._keywords.last
            if index is None or index.library_id != state.library_id:
                index = KeywordIndex.load(self._home.keywords, state.library_id, state.generation)
                index = index or KeywordIndex.empty(state.library_id)
            if index.generation == state.generation:
                return index
            try:
                return index.updated(state.generation, rows.chunk_ids(db), partial(rows.texts, db))
            except DamagedFile:
                index = KeywordIndex.empty(state.library_id)
                return index.updated(state.generation, rows.chunk_ids(db), partial(rows.texts, db))

        return self._keywords.get(state, make)

    def with_keywords(self, db: sqlite3.Connection, state: State, act: Callable[[KeywordIndex], T]) -> T:
        """What `act` gives of the keyword index, which is made again where what is on disk is not what was written."""
        try:
            return act(self.keywords(db, state))
        except DamagedFile:
            with self._keywords.making:
                self._keywords.clear()
                empty = KeywordIndex.empty(state.library_id)
                made = empty.updated(state.generation, rows.chunk_ids(db), partial(rows.texts, db))
                self._keywords.put(state, made)
            return act(made)

    def save(self, db: sqlite3.Connection, state: State) -> None:
        """Update both caches on disk; the dense one only if it is far enough behind.

        Called while holding the lock. Raises RagScienceError where a write fails. Of a library in which damage was
        seen nothing is saved: what is left out would stay out without a word.
        """
        if is_damaged(db):
            return
        with disk_errors(self._home.vectorstore):
            self._save_keywords(db, state)
            self._save_dense(db, state)

    def save_if_free(self, db: sqlite3.Connection, state: State, *, dense: bool) -> None:
        """Save what a reader had to build, if no one writes and the folder is writable; else it stays in memory.

        An index that needs training is not built by a reader: a question does not wait for minutes.
        """
        made = self._dense if dense else self._keywords
        if not self._may_save or not made.is_newest(state) or not self._is_behind(state, dense=dense):
            return
        if is_damaged(db):
            return
        if not made.making.acquire(blocking=False):
            return
        try:
            lock = WriterLock.acquire_for_caches(self._home.lock)
            if lock is None:
                self._may_save = False
                return
            with lock:
                (self._save_dense if dense else self._save_keywords)(db, state)
        except OSError:
            self._may_save = False
        finally:
            made.making.release()

    def _is_behind(self, state: State, *, dense: bool) -> bool:
        """Whether the index in memory should replace the one on disk, and saving it is fast."""
        if dense:
            index = self._dense.known(state)
            return index is not None and index.should_be_saved and index.is_quickly_saved
        keywords = self._keywords.known(state)
        return keywords is not None and not keywords.is_saved

    def remake(self, db: sqlite3.Connection, state: State) -> None:
        """Rebuild both caches from the database. Raises RagScienceError where a write fails."""
        empty = KeywordIndex.empty(state.library_id)
        self._keywords.put(state, empty.updated(state.generation, rows.chunk_ids(db), partial(rows.texts, db)))
        self._dense.clear()
        if is_damaged(db):
            return
        with disk_errors(self._home.vectorstore):
            self._save_keywords(db, state)
            if state.dimension:
                write_index(self._home.faiss, state, rows.chunk_ids(db), vector_source(db, state), self._sizes)

    def info(self, state: State) -> DenseIndexInfo | None:
        """The record of the dense index on disk; None if there is no usable one."""
        return describe(self._home.faiss, state)

    def behind(self, db: sqlite3.Connection, state: State) -> list[str]:
        """Which caches on disk are out of date for a search, or not what was written: "keyword", "dense"; reads all.

        A library so small that no search asks the dense one needs none.
        """
        ids = rows.chunk_ids(db)
        if not ids.size:
            return []
        found = []
        index = KeywordIndex.load(self._home.keywords, state.library_id, state.generation)
        if index is None or index.generation != state.generation or not index.is_whole:
            found.append("keyword")
        if ids.size > self._sizes.straight:
            dense = DenseIndex.load(self._home.faiss, state, ids, self._sizes)
            if dense.should_be_saved or not is_whole(self._home.faiss, state):
                found.append("dense")
        return found

    def _save_keywords(self, db: sqlite3.Connection, state: State) -> None:
        index = self.keywords(db, state)
        if not index.is_saved:
            self._keywords.put(state, index.save(self._home.keywords))

    def _save_dense(self, db: sqlite3.Connection, state: State) -> None:
        if state.dimension and self.dense(db, state).should_be_saved:
            self.dense(db, state).save(self._home.faiss, vector_source(db, state))
            self._dense.clear()


def vector_source(db: sqlite3.Connection, state: State) -> VectorSource:
    """The library's own vectors, as of the current transaction."""

    def source(ids: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return read_vectors(db, state.dimension, ids)

    return source
