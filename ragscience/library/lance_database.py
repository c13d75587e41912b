"""A library in LanceDB for many threads: reads see one generation, changes are all or nothing."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from ragscience.core.errors import LibraryBusy, LibraryDamaged
from ragscience.library.atomic_files import disk_errors
from ragscience.library.changes import Change
from ragscience.library.generations import Generation, Snapshot
from ragscience.library.home import Home
from ragscience.library.lance_tables import ROLES, as_table, connect, lance_errors, schema_of
from ragscience.library.library_damage import READ_ALL_AGAIN
from ragscience.library.lock import WriterLock
from ragscience.library.old_versions import versions_of

__all__ = ["KEEP_SECONDS", "MARGIN_SECONDS", "LanceDatabase"]

KEEP_SECONDS = 3600.0
"""How long a generation can still be read after the next one was committed."""
MARGIN_SECONDS = 60.0
"""Lance compares an age with the time at which it looks, which is later than when the age was computed."""
_SETTLED_SECONDS = 1.0
"""How long a generation of object storage is taken for the newest one: asking costs a round trip."""
_TELLING_NS = 2_000_000_000
"""Two changes of a folder that come sooner after each other may have the same time."""
_COMMITS_BEFORE_TIDYING = 200
_TRIES = 6
"""How often a change is made that others come before."""
_PAUSE_SECONDS = 0.05
"""Before the second try, at most; twice as long before each next one, 3 seconds in all."""

T = TypeVar("T")


class LanceDatabase:
    """The tables at a URI, and the home's lock where they are written."""

    def __init__(self, home: Home, uri: str, *, writing: bool) -> None:
        """Raises LibraryBusy while another process of this home writes, RagScienceError for a place out of reach."""
        self.uri = uri
        self._home = home
        self._lock: WriterLock | None = None
        self._mine = _Mine()
        self._guard = threading.RLock()
        self._turn = threading.RLock()
        self._made: Any = None
        self._generations: Any = None
        self._version = 0
        self._newest: Snapshot | None = None
        self._asked = 0.0
        self._seen: int | None = None
        self._versions_folder = Path(uri.removeprefix("lance://"), "generations.lance", "_versions")
        self._settled = _SETTLED_SECONDS if "://" in uri and not uri.startswith("lance://") else 0.0
        if writing:
            with disk_errors(home.vectorstore):
                home.vectorstore.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock.acquire(home.lock)
            try:
                self._create()
            except BaseException:
                self._lock.release()
                raise

    @property
    def may_write(self) -> bool:
        """Whether this process holds the home's lock."""
        return self._lock is not None

    def close(self) -> None:
        """Release the lock; a thread that writes ends first."""
        with self._turn, self._guard:
            lock, self._lock = self._lock, None
            self._newest = self._generations = self._made = None
        if lock is not None:
            lock.release()

    @contextmanager
    def reading(self) -> Iterator[Snapshot | None]:
        """The library at one generation for this thread; None if there is no library (yet). May be nested."""
        if self._mine.inside:
            yield self._mine.snapshot
            return
        snapshot = self._at_newest()
        self._mine.inside, self._mine.snapshot = True, snapshot
        try:
            yield snapshot
        finally:
            self._mine.inside, self._mine.snapshot = False, None

    @contextmanager
    def writing(self) -> Iterator[Change]:
        """A change, committed at the end. Raises LibraryBusy where another writer committed meanwhile."""
        with self._turn:
            self.require_lock()
            if self._mine.inside:
                raise RuntimeError("a change cannot begin inside a snapshot or another change")
            before = self._at_newest(at_once=True)
            if before is None:
                raise RuntimeError("the library was closed, or deleted while it was open")
            change = Change(self._connection(), before)
            self._mine.inside, self._mine.snapshot = True, before
            try:
                yield change
                if change.state is before.state:
                    return
                if change.state.number - change.state.tidied >= _COMMITS_BEFORE_TIDYING:
                    self.tidy(change)
                after = change.commit()
            finally:
                self._mine.inside, self._mine.snapshot = False, None
            with self._guard:
                self._newest, self._asked = after, time.monotonic()

    def changed(self, act: Callable[[Change], T]) -> T:
        """What `act` gives for a change, which is made anew on what another writer committed meanwhile.

        Raises LibraryBusy where others come first each time.
        """
        for tried in range(1, _TRIES):
            try:
                return self._tried(act)
            except LibraryBusy:
                time.sleep(random.uniform(0.5, 1.0) * _PAUSE_SECONDS * 2**tried)  # noqa: S311  # so that two do not go in step
        try:
            return self._tried(act)
        except LibraryBusy as error:
            raise LibraryBusy(
                f"Other processes change the library: this change came too late {_TRIES} times and was not made.",
                "Run the command again when they are done.",
            ) from error

    def _tried(self, act: Callable[[Change], T]) -> T:
        with self.writing() as change:
            return act(change)

    def require_lock(self) -> None:
        """Raise RuntimeError unless opened for writing."""
        if self._lock is None:
            raise RuntimeError("this library was not opened for writing")

    def tidy(self, change: Change) -> None:
        """Compact the tables, and delete versions that no reader of the last hour can have opened."""
        for role, (name, _) in change.state.tables.items():
            with lance_errors(self.uri):
                versions_of(self.uri, self._connection().open_table(name))  # those that are damaged are forgotten
            change.tidy(role)
        made_at = self._still_read(change.before.state)
        for role in made_at:
            change.tidy(role, _age(made_at[role]))
        change.note(tidied=change.state.number)
        self._drop_old_tables(change)

    def _still_read(self, state: Generation) -> dict[str, float]:
        """By table, when the version that was named an hour ago was made: what is older, no reader needs."""
        database, limit = self._connection(), time.time() - KEEP_SECONDS
        with lance_errors(self.uri):
            generations = database.open_table("generations")
            old = {version: at for version, at in versions_of(self.uri, generations).items() if at <= limit}
            if not old:
                return {}
            generations.optimize(cleanup_older_than=_age(old[max(old)]))
            generations.checkout(max(old))
            made_at = {}
            for role, (name, version) in _state_of(generations).tables.items():
                if state.tables.get(role, ("",))[0] == name:
                    made_at[role] = versions_of(self.uri, database.open_table(name)).get(version, 0.0)
            return made_at

    def _drop_old_tables(self, change: Change) -> None:
        """Drop the tables that were replaced, or never named, more than an hour ago."""
        database, limit = self._connection(), time.time() - KEEP_SECONDS
        named = {name for state in (change.before.state, change.state) for name, _ in state.tables.values()}
        with lance_errors(self.uri):
            for name in _names(database) - named - {"generations"}:
                if max(versions_of(self.uri, database.open_table(name)).values()) <= limit:
                    database.drop_table(name)

    def _at_newest(self, *, at_once: bool = False) -> Snapshot | None:
        with self._guard:
            if self._newest is not None and not at_once and time.monotonic() - self._asked < self._settled:
                return self._newest
            seen = self._folder_seen()
            if self._newest is not None and not at_once and seen is not None and seen == self._seen:
                return self._newest
            if self._generations is None:
                self._generations = self._opened()
                if self._generations is None:
                    return None
            with lance_errors(self.uri):
                self._generations.checkout_latest()
                version = self._generations.version
                if self._newest is None or version != self._version:
                    state = _state_of(self._generations)
                    if self._newest is None or self._newest.state.number != state.number:
                        self._newest = Snapshot(self._connection(), self.uri, state, self._newest)
                    self._version = version
            self._asked, self._seen = time.monotonic(), seen
            return self._newest

    def _folder_seen(self) -> int | None:
        """When a version was last added to a library on a disk, in ns; None where that may be too recent to tell.

        Looking at the folder takes a microsecond, and asking Lance a millisecond, several times a search.
        """
        if not self.uri.startswith("lance://"):
            return None
        try:
            changed = self._versions_folder.stat().st_mtime_ns
        except OSError:
            return None
        return changed if time.time_ns() - changed > _TELLING_NS else None

    def _opened(self) -> Any:
        """The table of generations; None where there is no library. Raises LibraryDamaged where it alone is gone."""
        if self.uri.startswith("lance://") and not Path(self.uri.removeprefix("lance://")).is_dir():
            return None
        database = self._connection()
        with lance_errors(self.uri):
            names = _names(database)
            found = _made(database, "generations") if "generations" in names else None
            if found is None:
                _require_not_lost(database, names)
            return found

    def _connection(self) -> Any:
        with self._guard:
            if self._made is None:
                self._made = connect(self.uri)
            return self._made

    def _create(self) -> None:
        """Make the tables, and last the one that makes them a library; what was cut off before that is made again."""
        database = self._connection()
        with lance_errors(self.uri):
            names = _names(database)
            if "generations" in names and _made(database, "generations") is not None:
                return
            _require_not_lost(database, names)
            tables = {}
            for role in ROLES:
                if role in names:
                    database.drop_table(role)
                made = database.create_table(role, schema=schema_of(role))
                tables[role] = (role, int(made.version))
            state = Generation(uuid.uuid4().hex, tables=tables)
            if "generations" in names:
                database.drop_table("generations")
            database.create_table("generations", as_table("generations", [(0, state.to_json())]))


class _Mine(threading.local):
    """Thread-local state."""

    inside = False
    snapshot: Snapshot | None = None
    """That of the thread's reads, while it is `inside` of one."""


def _made(database: Any, name: str) -> Any:
    """The table of that name; None for one whose making was cut off."""
    try:
        return database.open_table(name)
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return None


def _require_not_lost(database: Any, names: set[str]) -> None:
    """Raise LibraryDamaged where there are papers: the table that tells which versions belong together is gone."""
    tables = [_made(database, name) for name in names if name == "papers" or name.startswith("papers_")]
    if any(table is not None and table.count_rows() for table in tables):
        raise LibraryDamaged("The library lacks its own description.", READ_ALL_AGAIN)


def _age(made_at: float) -> timedelta:
    return timedelta(seconds=time.time() - made_at + MARGIN_SECONDS)


def _state_of(generations: Any) -> Generation:
    (row,) = generations.to_arrow().to_pylist()
    return Generation.from_json(row["state"])


def _names(database: Any) -> set[str]:
    return set(database.list_tables().tables)
