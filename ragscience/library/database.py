"""The library's database: its tables, opening it, its transactions, and SQLite's errors as user messages.

Reads see one version of the library, changes are all or nothing. Each row is sealed (sealed_rows.py).
"""

import json
import sqlite3
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from ragscience.core.errors import LibraryDamaged, LibraryUnavailable, RagScienceError
from ragscience.library import atomic_files
from ragscience.library.atomic_files import Home, WriterLock, disk_errors, explained
from ragscience.library.sealed_rows import READ_ALL_AGAIN, State, read_state, write_state

SCHEMA_VERSION = 10
_APPLICATION_ID = 0x52534349  # "RSCI": distinguishes our file from any other SQLite database
_PAGE_BYTES = 8192  # five vectors of 384 dimensions per page, where the usual 4096 bytes hold two and waste a quarter
_BUSY_SECONDS = 20.0


class OldLibrary(LibraryUnavailable):
    """The library is of an older version: its papers have to be read again."""


_TABLES = """
CREATE TABLE state (one INTEGER PRIMARY KEY, row BLOB NOT NULL);

-- Paths are kept as the bytes that the file system knows, because not each name is valid text. A paper's passages have
-- the ids first_chunk, first_chunk + 1, …: they are written together and never reused. `reference_lists` are the
-- ranges of those that are reference lists, as JSON. All columns before `row` are its key.
CREATE TABLE papers (
    paper_id INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL UNIQUE,
    md5 TEXT NOT NULL UNIQUE,
    first_chunk INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    reference_lists TEXT NOT NULL,
    row BLOB NOT NULL
);

-- "contents", "outline" and "sketch" of each paper (paper_contents.py).
CREATE TABLE parts (part TEXT NOT NULL, paper_id INTEGER NOT NULL, row BLOB NOT NULL);
CREATE UNIQUE INDEX parts_by_paper ON parts (part, paper_id);

CREATE TABLE chunks (chunk_id INTEGER PRIMARY KEY, row BLOB NOT NULL);

CREATE TABLE vectors (chunk_id INTEGER PRIMARY KEY, text_hash BLOB NOT NULL, row BLOB NOT NULL);
CREATE INDEX vectors_by_text ON vectors (text_hash);

-- The codes of a text's token vectors (models/maxsim.py); no bytes where none are kept, for lack of room or model.
CREATE TABLE tokens (text_hash BLOB PRIMARY KEY, row BLOB NOT NULL);

-- What an extractor read from a passage, as JSON; it goes with its passage.
CREATE TABLE graph_passages (
    chunk_id INTEGER NOT NULL,
    extractor TEXT NOT NULL,
    version TEXT NOT NULL,
    row BLOB NOT NULL,
    PRIMARY KEY (chunk_id, extractor)
) WITHOUT ROWID;

-- Small texts by key: which files are left out ("removed").
CREATE TABLE notes (kind TEXT NOT NULL, key TEXT NOT NULL, row BLOB NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;

-- Where a file was fetched from, and what was said of it there; it stays when the paper leaves.
CREATE TABLE sources (md5 TEXT PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID;

-- The keyword index (keywords.py), cut at blanks alone: what is indexed are terms already.
CREATE VIRTUAL TABLE keywords USING fts5(
    terms, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
-- How many passages have each term: FTS5 would count them at each question.
CREATE TABLE terms (term TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID;
"""


def connect_for_reading(home: Home) -> sqlite3.Connection | None:
    """A read-only connection, or None if there is no library yet; works in a read-only folder, too.

    Raises OldLibrary or LibraryUnavailable for another schema, LibraryDamaged where the library is lost,
    RagScienceError for a file that is not a library.
    """
    path = home.database
    if path.exists():
        with database_errors(path):
            connection = atomic_files.connect_to_read(path, _BUSY_SECONDS)
            with atomic_files.undone(connection.close):
                if _has_tables(connection, path):
                    return connection
            connection.close()
    listed, state = _ledger_of(home), "empty" if path.exists() else "missing"
    if listed:
        how = f"is {state}, and {home.ledger.name} names {len(listed)} papers"
        raise LibraryDamaged(f"{path} {how}: the library was lost.", READ_ALL_AGAIN)
    if listed is None and home.ledger.exists():
        what = f"{path} is {state}, and {home.ledger.name} damaged: the library was lost."
        raise LibraryDamaged(what, READ_ALL_AGAIN)
    return None


def _connect_for_writing(path: Path) -> sqlite3.Connection:
    """A connection for writing; creates the database if it is missing. Raises as `connect_for_reading`."""
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with database_errors(path):
        connection = atomic_files.connect(path, "mode=rwc", _BUSY_SECONDS)
        with atomic_files.undone(connection.close):
            if not _has_tables(connection, path):
                _create(connection)
            connection.execute("PRAGMA synchronous = FULL")
        return connection


def _has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """False for a database without tables, as a killed first run may leave."""
    version = atomic_files.is_ours(connection, _APPLICATION_ID)
    if version is None:
        fix = "Move it away, or use another folder with --home."
        raise RagScienceError(f"{path} is a database of something else.", fix)
    if version > SCHEMA_VERSION:
        what = f"{path} was written by a newer version (schema {version}; this one knows {SCHEMA_VERSION})."
        raise LibraryUnavailable(what, "Update RAG Science, or use another folder with --home.")
    if 0 < version < SCHEMA_VERSION:
        fix = "`python ingest.py rebuild` reads your papers again; the old library is kept next to the new one."
        raise OldLibrary(f"{path} was written by an older version of RAG Science.", fix)
    return version > 0


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    _make_tables(connection, uuid.uuid4().hex)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _make_tables(connection: sqlite3.Connection, library_id: str) -> None:
    for statement in _TABLES.split(";\n"):
        connection.execute(statement)
    write_state(connection, State(library_id))


def check_schema(db: sqlite3.Connection) -> None:
    """Hold the tables' own descriptions, which SQLite believes, against ours. Raises LibraryDamaged."""
    found = {" ".join(sql.split()) for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    wanted = {" ".join(one[one.index("CREATE") :].rstrip().rstrip(";").split()) for one in _TABLES.split(";\n") if one}
    if wanted - found:
        raise LibraryDamaged("The library's database is damaged: its schema was altered.", READ_ALL_AGAIN)


def _empty() -> sqlite3.Connection:
    """A database in memory without papers: so a home without a library is read."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _make_tables(connection, "")
    return connection


def listed_files(home: Home) -> dict[str, str]:
    """The paths of the papers that the ledger names, by MD5; none where it cannot be read."""
    return _ledger_of(home) or {}


def _ledger_of(home: Home) -> dict[str, str] | None:
    """As `listed_files`; None where the ledger is missing or damaged."""
    try:
        files = json.loads(home.ledger.read_bytes())["files"]
        return {md5: str(home.root.absolute() / str(entry["path"])) for md5, entry in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class _Mine(threading.local):
    """Thread-local state."""

    db: sqlite3.Connection | None = None
    """The connection of the transaction that the thread is in."""


class Transactions:
    """A home's database for many threads: each reads through its own connection, one at a time writes."""

    def __init__(
        self,
        home: Home,
        idle: list[sqlite3.Connection],
        writer: tuple[sqlite3.Connection, WriterLock] | None,
        lost_commits: bool,
    ) -> None:
        self._home = home
        self.lost_commits = lost_commits
        """Whether some were left out when it was opened."""
        self._idle = idle
        """Idle read connections."""
        self._writer = writer
        self._mine = _Mine()
        self._guard = threading.Lock()
        self._turn = threading.RLock()
        """Held by the writing thread."""

    @classmethod
    def for_reading(cls, home: Home) -> Self:
        """Open for reading, creating nothing. Raises as `connect_for_reading`."""
        lost = atomic_files.has_lost_commits(home.database)
        db = connect_for_reading(home)
        return cls(home, [db] if db else [], None, lost)

    @classmethod
    def for_writing(cls, home: Home) -> Self:
        """Take the lock and create what is missing.

        Raises LibraryBusy while another process writes, RagScienceError where the home cannot be written, else as
        `connect_for_reading`.
        """
        with disk_errors(home.vectorstore):
            home.vectorstore.mkdir(parents=True, exist_ok=True)
        with ExitStack() as undo:
            lock = undo.enter_context(WriterLock.acquire(home.lock))
            lost = atomic_files.has_lost_commits(home.database)
            db = undo.enter_context(closing(_connect_for_writing(home.database)))
            with database_errors(home.database):
                _give_new_id_if_restored(home, db)
            undo.pop_all()
        return cls(home, [], (db, lock), lost)

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
                writer[0].close()
                writer[1].close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The database at one version for this thread; empty if there is no library (yet). May be nested."""
        with database_errors(self._home.database):
            if self._mine.db is not None:
                yield self._mine.db
                return
            with self._guard:
                pool = self._idle
                db = pool.pop() if pool else None
            db = db or connect_for_reading(self._home)
            if db is None:
                db, pool = _empty(), []  # not kept
            self._mine.db = db
            try:
                db.execute("BEGIN")
                yield db
            finally:
                self._mine.db = None
                _roll_back(db)
                self._give_back(db, pool)

    def _give_back(self, db: sqlite3.Connection, pool: list[sqlite3.Connection]) -> None:
        with self._guard:
            kept = pool is self._idle
            if kept:
                pool.append(db)
        if not kept:  # closed meanwhile
            db.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The database for changes that are committed together at the end, or not at all."""
        with self._turn, database_errors(self._home.database):
            db = self.require_lock()
            if self._mine.db is not None:
                raise RuntimeError("a change cannot begin inside a snapshot or another change")
            self._mine.db = db
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
            finally:
                self._mine.db = None
                _roll_back(db)

    def require_lock(self) -> sqlite3.Connection:
        """The writing connection; raises RuntimeError unless opened for writing."""
        if self._writer is None:
            raise RuntimeError("this library was not opened for writing")
        return self._writer[0]


def _roll_back(db: sqlite3.Connection) -> None:
    """Roll back an open transaction; SQLite has done so itself after some errors."""
    if db.in_transaction:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")


def _give_new_id_if_restored(home: Home, db: sqlite3.Connection) -> None:
    """Give the library another id where the dense index is of a later version: the database is an older copy.

    The coming versions and passages would get the numbers of those that are lost, and an index that knows these would
    pass for up to date.
    """
    state, index = read_state(db), atomic_files.read_checked_json(home.faiss.with_suffix(".json"))
    if index and index["made_from"]["library"] == state.library_id and index["made_from"]["version"] > state.version:
        write_state(db, replace(state, library_id=uuid.uuid4().hex))


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about `path` into RagScienceError, or LibraryBusy where waiting helps."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explained(str(path), error, lambda message: LibraryDamaged(message, READ_ALL_AGAIN)) from error
    except UnicodeDecodeError as error:  # SQLite's own message quotes bytes of a damaged schema
        raise LibraryDamaged(f"{path} is damaged: its schema is not text.", READ_ALL_AGAIN) from error
