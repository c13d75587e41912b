"""Transactions over a library's database: reads that see one generation, changes that are all or nothing."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ragscience.store.atomic_files import disk_errors
from ragscience.store.home import Home
from ragscience.store.library_schema import connect_for_reading, connect_for_writing, database_errors
from ragscience.store.lock import WriterLock

__all__ = ["Transactions"]


class Transactions:
    """A home's database, opened; threads take turns with it."""

    def __init__(self, home: Home, db: sqlite3.Connection | None, lock: WriterLock | None) -> None:
        self._home = home
        self._db = db
        self._lock = lock
        self._depth = 0
        self._turn = threading.RLock()

    @classmethod
    def for_reading(cls, home: Home) -> Transactions:
        """Nothing is created. Raises LibraryUnavailable for a newer schema, RagScienceError for a damaged file."""
        return cls(home, connect_for_reading(home.database), None)

    @classmethod
    def for_writing(cls, home: Home) -> Transactions:
        """Takes the lock and makes what is missing.

        Raises LibraryUnavailable while another process writes or for a newer schema, RagScienceError where the home
        cannot be written or the database is damaged.
        """
        with disk_errors(home.vectorstore):
            home.vectorstore.mkdir(parents=True, exist_ok=True)
        lock = WriterLock.acquire(home.lock)
        try:
            return cls(home, connect_for_writing(home.database), lock)
        except BaseException:
            lock.release()
            raise

    @property
    def may_write(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock is not None

    def close(self) -> None:
        """Let the database, and then the lock, go; closing twice is harmless."""
        with self._turn:
            if self._db is not None:
                self._db.close()
                self._db = None
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """The database as of one generation; None where there is no library (yet). May be nested."""
        with self._turn, database_errors(self._home.database):
            if self._db is None:
                self._db = connect_for_reading(self._home.database)
            if self._db is None or self._depth:
                yield self._db
                return
            self._depth += 1
            try:
                self._db.execute("BEGIN")
                yield self._db
            finally:
                self._depth -= 1
                self._roll_back()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The database for changes that are committed at the end, together, or not at all."""
        with self._turn, database_errors(self._home.database):
            self.require_lock()
            if self._db is None or self._depth:
                raise RuntimeError("a change cannot begin inside a snapshot or another change")
            self._depth += 1
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            finally:
                self._depth -= 1
                self._roll_back()

    def require_lock(self) -> None:
        """Raise RuntimeError unless this was opened for writing."""
        if self._lock is None:
            raise RuntimeError("this library was not opened for writing")

    def _roll_back(self) -> None:
        """End what is still open; SQLite has done so itself after some errors."""
        if self._db is not None and self._db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
