"""Transactions over a library's database: reads see one generation, changes are all or nothing."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ragscience.core.errors import LibraryDamaged
from ragscience.library.atomic_files import disk_errors
from ragscience.library.home import Home
from ragscience.library.library_damage import READ_ALL_AGAIN, Damage, Database, read_meta
from ragscience.library.library_schema import OlderSchema, connect_for_reading, connect_for_writing, database_errors
from ragscience.library.lock import WriterLock
from ragscience.library.restored_database import give_new_id_if_restored
from ragscience.library.row_checksums import seal_meta

__all__ = ["Transactions", "listed_files", "require_not_lost"]


class Transactions:
    """A home's database for many threads: each reads through its own connection, one at a time writes."""

    def __init__(self, home: Home, idle: list[Database], writer: _Writer | None) -> None:
        self._home = home
        self._idle = idle
        """Idle read connections."""
        self._writer = writer
        self.damage = Damage()
        """The damage that was seen."""
        self._mine = _Mine()
        self._guard = threading.Lock()
        self._turn = threading.RLock()
        """Held by the writing thread."""

    @classmethod
    def for_reading(cls, home: Home) -> Transactions:
        """Open for reading, creating nothing. Raises as `connect_for_reading`: LibraryUnavailable, RagScienceError."""
        db = _connected(home)
        return cls(home, [db] if db else [], None)

    @classmethod
    def for_writing(cls, home: Home) -> Transactions:
        """Take the lock and create what is missing.

        Raises LibraryUnavailable while another process writes or for another schema, RagScienceError where the home
        cannot be written or the database is damaged.
        """
        with disk_errors(home.vectorstore):
            home.vectorstore.mkdir(parents=True, exist_ok=True)
        lock = WriterLock.acquire(home.lock)
        try:
            db = connect_for_writing(home.database)
            try:
                give_new_id_if_restored(home, db)
            except BaseException:
                db.close()
                raise
            return cls(home, [], _Writer(db, lock))
        except BaseException:
            lock.release()
            raise

    @property
    def may_write(self) -> bool:
        """Whether this process holds the lock."""
        return self._writer is not None

    def close(self) -> None:
        """Close the database, then release the lock; a thread that is still reading ends its snapshot first."""
        with self._turn:
            with self._guard:
                idle, self._idle = self._idle, []
                writer, self._writer = self._writer, None
            for db in idle:
                db.close()
            if writer is not None:  # last: closing the writing connection empties the log
                writer.db.close()
                writer.lock.release()

    @contextmanager
    def reading(self) -> Iterator[Database | None]:
        """The database at one generation for this thread; None if there is no library (yet). May be nested."""
        with database_errors(self._home.database):
            if self._mine.db is not None:
                yield self._mine.db
                return
            with self._guard:
                pool = self._idle
                db = pool.pop() if pool else None
            db = db or _connected(self._home)
            if db is None:
                yield None
                return
            db.damage = self.damage
            self._mine.db = db
            try:
                db.execute("BEGIN")
                yield db
            finally:
                self._mine.db = None
                _roll_back(db)
                self._give_back(db, pool)

    def _give_back(self, db: Database, pool: list[Database]) -> None:
        with self._guard:
            kept = pool is self._idle
            if kept:
                pool.append(db)
        if not kept:  # closed meanwhile
            db.close()

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """The database for changes that are committed together at the end, or not at all."""
        with self._turn, database_errors(self._home.database):
            writer = self.require_lock()
            if self._mine.db is not None:
                raise RuntimeError("a change cannot begin inside a snapshot or another change")
            self._mine.db = writer.db
            try:
                writer.db.damage = self.damage
                writer.db.execute("BEGIN IMMEDIATE")
                read_meta(writer.db)
                writer.db.is_changing = True
                yield writer.db
                seal_meta(writer.db)
                writer.db.execute("COMMIT")
            finally:
                writer.db.is_changing = False
                self._mine.db = None
                _roll_back(writer.db)

    def require_lock(self) -> _Writer:
        """The writing connection; raises RuntimeError unless opened for writing."""
        if self._writer is None:
            raise RuntimeError("this library was not opened for writing")
        return self._writer


@dataclass(frozen=True)
class _Writer:
    db: Database
    lock: WriterLock


class _Mine(threading.local):
    """Thread-local state."""

    db: Database | None = None
    """The connection of the transaction that the thread is in."""


def _connected(home: Home) -> Database | None:
    """A connection for reading; a library of an older version is brought up to date first, if no one writes it.

    None if there is no library yet. Raises LibraryDamaged if it is lost.
    """
    try:
        found = connect_for_reading(home.database)
    except OlderSchema:
        lock = WriterLock.acquire_for_caches(home.lock)
        if lock is None:
            raise
        with lock:
            connect_for_writing(home.database).close()
        found = connect_for_reading(home.database)
    if found is None:
        require_not_lost(home)
    return found


def require_not_lost(home: Home) -> None:
    """Raise LibraryDamaged where there is no database, or one without tables, and other files tell that there was one.

    Those are the ledger, where it names papers, and without a ledger that can be read the indexes.
    """
    listed = _listed(home)
    if listed:
        told = f"{home.ledger.name} names {len(listed)} papers"
    elif listed is None and any(path.exists() for path in (home.keywords / "manifest.json", home.faiss)):
        told = "there are indexes of one"
    else:
        return
    how = "is empty" if home.database.exists() else "is missing"
    raise LibraryDamaged(f"{home.database} {how}, and {told}: the library was lost.", READ_ALL_AGAIN)


def listed_files(home: Home) -> list[str]:
    """The paths of the papers that the ledger names; none where it cannot be read."""
    return _listed(home) or []


def _listed(home: Home) -> list[str] | None:
    """As `listed_files`; None where it cannot be read."""
    try:
        files = json.loads(home.ledger.read_bytes())["files"]
        return [str(entry["path"]) for entry in files.values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _roll_back(db: sqlite3.Connection) -> None:
    """Roll back an open transaction; SQLite has done so itself after some errors."""
    if db.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
