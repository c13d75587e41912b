"""A library in LanceDB for many threads: reads see one version of its tables, changes are all or nothing.

Lance keeps each version of a table. The one row of the table `library` names the versions of the others that belong
together, and to replace it is the commit: what a killed writer left is in no version that is named. Two homes may write
the same library: a change that another one came before is made anew.
"""

import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ragscience.core.errors import LibraryBusy, LibraryDamaged, RagScienceError
from ragscience.library import lance_snapshots as lance
from ragscience.library.atomic_files import Home, WriterLock, disk_errors, undone
from ragscience.library.lance_changes import READABLE, LanceChange
from ragscience.library.lance_snapshots import LanceSnapshot, lance_errors
from ragscience.library.sealed_rows import LIST_DAMAGED, Damage, LanceState

_SETTLED_SECONDS = 1.0
"""How long a version in object storage is taken for the newest one: asking costs a round trip."""
_TRIES = 6
_PAUSE_SECONDS = 0.05
"""Before the second try, at most; twice as long before each next one, 3 seconds in all."""

T = TypeVar("T")


class _Mine(threading.local):
    """Thread-local state."""

    snapshot: LanceSnapshot | None = None


class LanceDatabase:
    """The tables at a URI, and the home's lock where they are written."""

    def __init__(self, home: Home, uri: str, *, writing: bool) -> None:
        """Raises LibraryBusy while another process of this home writes, RagScienceError for a place out of reach."""
        self.uri = uri
        self.root = os.path.abspath(home.root)  # noqa: PTH100  # a link keeps its own name
        self.damage = Damage()
        self._lock: WriterLock | None = None
        self._mine = _Mine()
        self._guard, self._turn = threading.RLock(), threading.RLock()
        self._connected: Any = None
        self._library: Any = None
        self._newest: LanceSnapshot | None = None
        self._asked = 0.0
        self._settled = 0.0 if uri.startswith("lance://") else _SETTLED_SECONDS
        if writing:
            with disk_errors(home.vectorstore):
                home.vectorstore.mkdir(parents=True, exist_ok=True)
            self._lock = WriterLock.acquire(home.lock)
            with undone(self._lock.close):
                self._create()

    def close(self) -> None:
        """Release the lock; a thread that writes ends first."""
        with self._turn, self._guard:
            lock, self._lock = self._lock, None
            self._newest = self._library = self._connected = None
        if lock is not None:
            lock.close()

    @property
    def may_write(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock is not None

    @contextmanager
    def now(self) -> Iterator[LanceSnapshot]:
        """The library at one version for this thread; empty if there is none (yet). May be nested."""
        if self._mine.snapshot is not None:
            yield self._mine.snapshot
            return
        nothing = LanceSnapshot(None, self.uri, self.root, LanceState(""), self.damage)
        self._mine.snapshot = self._at_newest() or nothing
        try:
            yield self._mine.snapshot
        finally:
            self._mine.snapshot = None

    def changed(self, act: Callable[[LanceChange], T]) -> T:
        """What `act` gives for a change, which is made anew on what another writer committed meanwhile.

        Raises LibraryBusy where others come first each time.
        """
        for tried in range(1, _TRIES + 1):
            try:
                return self._tried(act)
            except LibraryBusy:
                if tried == _TRIES:
                    raise
                time.sleep(random.uniform(0.5, 1.0) * _PAUSE_SECONDS * 2**tried)  # noqa: S311  # two do not go in step
        raise AssertionError

    def _tried(self, act: Callable[[LanceChange], T]) -> T:
        with self._turn:
            if self._lock is None:
                raise RuntimeError("this library was not opened for writing")
            if self._mine.snapshot is not None:
                raise RuntimeError("a change cannot begin inside a snapshot or another change")
            before = self._at_newest(at_once=True)
            if before is None:
                raise RuntimeError("the library was closed, or deleted while it was open")
            change = LanceChange(self._connection(), before, self.root)
            self._mine.snapshot = before
            try:
                result = act(change)
            finally:
                self._mine.snapshot = None
            if change.state is not before.state:
                self._commit(change)
            return result

    def _commit(self, change: LanceChange) -> None:
        number = change.before.state.number
        change.note(number=number + 1, commit=uuid.uuid4().hex)
        values = {"number": number + 1, "state": change.state.to_json()}
        version = int(self._library.version)
        try:
            with self._guard, lance_errors(self.uri):
                done = self._library.update(where=f"number = {number}", values=values).rows_updated == 1
        except LibraryBusy:
            done = False
        try:
            after = self._at_newest(at_once=True)
        except RagScienceError:
            if done:
                self._take_back(version)
            raise
        if not done and (after is None or after.state.commit != change.state.commit):
            raise lance.changed_meanwhile()

    def _take_back(self, version: int) -> None:
        """Put back the version before the last, which cannot be read: a file was cut at a limit of the system."""
        with self._guard, suppress(RagScienceError), lance_errors(self.uri):
            self._library.checkout_latest()
            if int(self._library.version) == version + 1:
                self._library.checkout(version)
                self._library.restore()

    def tidied(self, act: Callable[[LanceChange], None]) -> None:
        """Make a change, and delete old versions after it."""

        def acted(change: LanceChange) -> LanceChange:
            act(change)
            return change

        made = self.changed(acted)
        try:
            made.tidy()
            with self._guard, lance_errors(self.uri):
                self._library.optimize(cleanup_older_than=READABLE)
        except LibraryBusy:  # another writer changes them: it deletes old versions in its turn
            return

    def _at_newest(self, *, at_once: bool = False) -> LanceSnapshot | None:
        with self._guard:
            if self._newest is not None and not at_once and time.monotonic() - self._asked < self._settled:
                return self._newest
            if self._library is None:
                self._library = self._opened()
                if self._library is None:
                    return None
            with lance_errors(self.uri):
                self._library.checkout_latest()
                rows = self._library.search().select(["number", "state"]).to_arrow().to_pylist()
            if len(rows) != 1:
                raise LibraryDamaged(*LIST_DAMAGED)
            if self._newest is None or self._newest.state.number != rows[0]["number"]:
                state = LanceState.from_json(rows[0]["state"])
                self._newest = LanceSnapshot(self._connection(), self.uri, self.root, state, self.damage)
            self._asked = time.monotonic()
            return self._newest

    def _opened(self) -> Any:
        """The table `library`; None where there is none. Raises LibraryDamaged where it alone is gone."""
        if self.uri.startswith("lance://") and not Path(self.uri.removeprefix("lance://")).is_dir():
            return None
        database = self._connection()
        with lance_errors(self.uri):
            names = set(database.list_tables().tables)
        # Papers come after passages: without a table of these, what is there was cut off while it was made.
        had_papers = any(name.startswith("passages_") for name in names)
        try:
            if "library" in names:
                with lance_errors(self.uri):
                    return database.open_table("library")
        except RagScienceError as error:
            if had_papers or type(error) is not RagScienceError:
                raise
        if had_papers:
            raise LibraryDamaged(*LIST_DAMAGED)
        return None

    def _connection(self) -> Any:
        with self._guard:
            if self._connected is None:
                self._connected = lance.connect(self.uri)
            return self._connected

    def _create(self) -> None:
        """Make the tables, and last the one that makes them a library; where another home was quicker, its one counts.

        Their names are this call's own, so that two that begin at once leave each other's alone.
        """
        if self._opened() is not None:
            return
        database, mine = self._connection(), uuid.uuid4().hex
        with lance_errors(self.uri):
            made = {role: f"{role}_{mine}" for role in ("papers", "graph", "notes")}
            tables = {role: (name, int(lance.make_table(database, role, name).version)) for role, name in made.items()}
        state = LanceState(uuid.uuid4().hex, tables=tables)
        row = lance.as_table("library", {"number": [0], "state": [state.to_json()]})
        try:
            with lance_errors(self.uri):
                database.create_table("library", row)
        except RagScienceError as error:
            if self._opened() is not None:
                return
            if type(error) is not RagScienceError:
                raise
            with lance_errors(self.uri):  # what is in its place was cut off while it was made
                database.drop_table("library")
                database.create_table("library", row)
