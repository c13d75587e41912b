"""A library in LanceDB for many threads: reads see one version of its tables, changes are all or nothing.

Lance keeps each version of a table. The one row of the table `library` names the versions of the others that belong
together, and to replace it is the commit: what a killed writer left is in no version that is named. Two homes may write
the same library: a change that another one came before is made anew.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from ragscience.core.errors import LibraryBusy, LibraryDamaged, RagScienceError
from ragscience.core.records import searched_text
from ragscience.core.tokenizing import TOKENIZER_VERSION, tokenize
from ragscience.library.atomic_files import disk_errors
from ragscience.library.home import Home
from ragscience.library.lance_snapshots import LanceSnapshot, LanceState
from ragscience.library.lance_tables import (
    as_table,
    changed_meanwhile,
    connect,
    lance_errors,
    make_table,
    vector_rows,
)
from ragscience.library.lock import WriterLock
from ragscience.library.sealed_rows import LIST_DAMAGED

__all__ = ["Change", "LanceDatabase"]

_READABLE = timedelta(hours=1)
"""How long a version can still be read after the next one was committed."""
_NEVER = timedelta(days=36_500)
_SETTLED_SECONDS = 1.0
"""How long a version in object storage is taken for the newest one: asking costs a round trip."""
_TRIES = 6
_PAUSE_SECONDS = 0.05
"""Before the second try, at most; twice as long before each next one, 3 seconds in all."""

T = TypeVar("T")


class Change:
    """Changes of the tables that are committed together; what they make is in no version that is named before."""

    def __init__(self, database: Any, before: LanceSnapshot) -> None:
        self.before, self.state = before, before.state
        self._database = database
        self._tables: dict[str, tuple[Any, int]] = {}

    def note(self, **fields: Any) -> None:
        """Change fields of the state."""
        self.state = replace(self.state, **fields)

    def add(self, role: str, columns: Mapping[str, Any]) -> None:
        """Add rows."""
        rows = as_table(role, columns)
        if rows.num_rows:
            self._step(role, lambda table: table.add(rows))

    def delete(self, role: str, where: str) -> None:
        """Delete the rows that fit."""
        self._step(role, lambda table: table.delete(where))

    def new_table(self, role: str, dimension: int = 0) -> None:
        """Take an empty table in place of the present one."""
        name = f"{role}_{uuid.uuid4().hex}"
        with lance_errors(self.before.uri):
            table = make_table(self._database, role, name, dimension)
            self._made(role, name, table, int(table.version))

    def optimize(self, role: str) -> None:
        """Compact a table and bring its indexes up to date."""
        table, version = self._table(role)
        with lance_errors(self.before.uri):
            count = table.count_rows()
            table.optimize(cleanup_older_than=_NEVER)
            self._require(int(table.version) >= version and table.count_rows() == count)
            self._made(role, self.state.tables[role][0], table, int(table.version))

    def rewrite_passages(self, at: LanceSnapshot) -> None:
        """Write the passages into a new table, with new terms and new indexes."""
        self.new_table("passages", at.state.dimension)
        ids, count = at.listing.chunk_ids.tolist(), 0
        for found in at.passages(ids, ["paper_id", "row", "text_hash", "vector", "tokens", "token_bytes"]):
            columns = {name: found[name].to_pylist() for name in found.column_names if name != "vector"}
            texts = (json.loads(row) for row in columns["row"])
            terms = [tokenize(searched_text(fields[-1], fields[1])) for fields in texts]
            count += sum(map(len, terms))
            vectors = vector_rows(found, at.state.dimension)
            self.add("passages", {**columns, "terms": [" ".join(one) for one in terms], "vector": vectors})
        self.note(terms=count, tokenizer=TOKENIZER_VERSION)

    def index_vectors(self, *, anew: bool) -> None:
        """Make Lance's index of the vectors, where there is none yet or it is to be made again."""
        from lancedb.index import IvfPq

        table, _ = self._table("passages")
        with lance_errors(self.before.uri):
            if not anew and any("vector" in index.columns for index in table.list_indices()):
                return
            count = table.count_rows()
            table.create_index("vector", config=IvfPq(distance_type="dot"))
            self._require(table.count_rows() == count)
            self._made("passages", self.state.tables["passages"][0], table, int(table.version))

    def _step(self, role: str, act: Callable[[Any], Any]) -> None:
        table, version = self._table(role)
        with lance_errors(self.before.uri):
            act(table)
            after = int(table.version)
        self._require(after in (version, version + 1))  # else it holds what another writer wrote
        self._made(role, self.state.tables[role][0], table, after)

    def _table(self, role: str) -> tuple[Any, int]:
        """A table that holds what its named version does, and its newest version."""
        if role not in self._tables:
            name, version = self.state.tables[role]
            with lance_errors(self.before.uri):
                table = self._database.open_table(name)
                newest = int(table.version)
                if newest != version:
                    table.checkout(version)
                    table.restore()
                    self._require(int(table.version) == newest + 1)
                self._made(role, name, table, int(table.version))
        return self._tables[role]

    def _made(self, role: str, name: str, table: Any, version: int) -> None:
        self._tables[role] = table, version
        self.note(tables={**self.state.tables, role: (name, version)})

    @staticmethod
    def _require(is_mine: bool) -> None:  # it reads as an assertion
        if not is_mine:
            raise changed_meanwhile()

    def tidy(self) -> None:
        """Delete versions that no reader of the last hour can have opened; to be done after the commit."""
        with lance_errors(self.before.uri):
            for table, _ in self._tables.values():
                table.optimize(cleanup_older_than=_READABLE)


class _Mine(threading.local):
    """Thread-local state."""

    inside = False
    snapshot: LanceSnapshot | None = None


class LanceDatabase:
    """The tables at a URI, and the home's lock where they are written."""

    def __init__(self, home: Home, uri: str, *, writing: bool) -> None:
        """Raises LibraryBusy while another process of this home writes, RagScienceError for a place out of reach."""
        self.uri = uri
        self.root = os.path.abspath(home.root)  # noqa: PTH100  # a link keeps its own name
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
            try:
                self._create()
            except BaseException:
                self._lock.release()
                raise

    def close(self) -> None:
        """Release the lock; a thread that writes ends first."""
        with self._turn, self._guard:
            lock, self._lock = self._lock, None
            self._newest = self._library = self._connected = None
        if lock is not None:
            lock.release()

    @property
    def may_write(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock is not None

    @contextmanager
    def now(self) -> Iterator[LanceSnapshot | None]:
        """The library at one version for this thread; None if there is no library (yet). May be nested."""
        mine = self._mine
        if mine.inside:
            yield mine.snapshot
            return
        mine.snapshot = self._at_newest()
        mine.inside = True
        try:
            yield mine.snapshot
        finally:
            mine.inside, mine.snapshot = False, None

    def changed(self, act: Callable[[Change], T]) -> T:
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

    def _tried(self, act: Callable[[Change], T]) -> T:
        with self._turn:
            if self._lock is None:
                raise RuntimeError("this library was not opened for writing")
            if self._mine.inside:
                raise RuntimeError("a change cannot begin inside a snapshot or another change")
            before = self._at_newest(at_once=True)
            if before is None:
                raise RuntimeError("the library was closed, or deleted while it was open")
            change = Change(self._connection(), before)
            self._mine.inside, self._mine.snapshot = True, before
            try:
                result = act(change)
            finally:
                self._mine.inside, self._mine.snapshot = False, None
            if change.state is not before.state:
                self._commit(change)
            return result

    def _commit(self, change: Change) -> None:
        number = change.before.state.number
        change.note(number=number + 1, commit=uuid.uuid4().hex)
        values = {"number": number + 1, "state": change.state.to_json()}
        try:
            with self._guard, lance_errors(self.uri):
                done = self._library.update(where=f"number = {number}", values=values).rows_updated == 1
        except LibraryBusy:
            done = False
        after = self._at_newest(at_once=True)
        if not done and (after is None or after.state.commit != change.state.commit):
            raise changed_meanwhile()

    def tidied(self, act: Callable[[Change], None]) -> None:
        """Make a change, and delete old versions after it."""
        made: list[Change] = []

        def act_and_keep(change: Change) -> None:
            act(change)
            made.append(change)

        self.changed(act_and_keep)
        try:
            made[-1].tidy()
            with self._guard, lance_errors(self.uri):
                self._library.optimize(cleanup_older_than=_READABLE)
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
                self._newest = LanceSnapshot(self._connection(), self.uri, self.root, state)
            self._asked = time.monotonic()
            return self._newest

    def _opened(self) -> Any:
        """The table `library`; None where there is none. Raises LibraryDamaged where it alone is gone."""
        if self.uri.startswith("lance://") and not Path(self.uri.removeprefix("lance://")).is_dir():
            return None
        database = self._connection()
        with lance_errors(self.uri):
            names = self._names()
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

    def _names(self) -> set[str]:
        return set(self._connection().list_tables().tables)

    def _connection(self) -> Any:
        with self._guard:
            if self._connected is None:
                self._connected = connect(self.uri)
            return self._connected

    def _create(self) -> None:
        """Make the tables, and last the one that makes them a library; what was cut off before that is made again."""
        database = self._connection()
        if self._opened() is not None:
            return
        with lance_errors(self.uri):
            tables = {}
            names = self._names()
            for name in names:
                database.drop_table(name)
            for role in ("papers", "graph", "notes"):
                tables[role] = role, int(make_table(database, role, role).version)
            state = LanceState(uuid.uuid4().hex, tables=tables)
            database.create_table("library", as_table("library", {"number": [0], "state": [state.to_json()]}))
