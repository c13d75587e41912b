"""The database of conversations: its tables, opening it, and SQLite errors as user messages."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from ragscience.core.errors import DiskProblem, HistoryDamaged, LibraryBusy, LibraryUnavailable, RagScienceError

__all__ = [
    "SCHEMA_VERSION",
    "connect_for_reading",
    "connect_for_writing",
    "has_checksums",
    "history_errors",
    "turn_checksum",
]

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x52534348  # "RSCH": distinguishes this file from any other SQLite database
_BUSY_SECONDS = 5.0

_TABLES = """
CREATE TABLE conversations (
    conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE
);

-- `record` is the whole answer as JSON; question and answer stand beside it to be listed and searched. `checksum` is of
-- what is shown again: see `turn_checksum`. A version without that column may have left it empty.
CREATE TABLE turns (
    turn_id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    answer_id TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    record TEXT NOT NULL,
    checksum INTEGER
);
CREATE INDEX turns_by_conversation ON turns (conversation_id, turn_id);
"""
_SEARCHABLE = """
CREATE VIRTUAL TABLE turns_text USING fts5(question, answer, tokenize = 'porter unicode61 remove_diacritics 2')
"""


def connect_for_reading(path: Path) -> sqlite3.Connection | None:
    """A read-only connection, or None if there is no file; also works in a read-only folder.

    Raises LibraryUnavailable for another version of the schema, RagScienceError for a file that is not a history.
    """
    with history_errors(path):
        if not path.exists():
            return None
        connection = _connect(path, "mode=ro")
        try:
            try:
                connection.execute("PRAGMA user_version").fetchone()
            except sqlite3.OperationalError:
                log = path.with_name(f"{path.name}-wal")
                if log.exists() and log.stat().st_size:
                    raise
                # A write-ahead log needs files next to the database even for reading; read without a log.
                connection.close()
                connection = _connect(path, "mode=ro&immutable=1")
            if _is_made(connection, path):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        return None


def connect_for_writing(path: Path) -> sqlite3.Connection:
    """A connection for writing, each commit synced to disk; the file is readable by its owner only.

    Raises LibraryUnavailable for another version of the schema or a file that stays busy, RagScienceError for a file
    that is not a history or not writable.
    """
    with history_errors(path):
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = _connect(path, "mode=rw")
        try:
            if not _is_made(connection, path):
                _make(connection, path)
            _seal_older(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _connect(path: Path, options: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()).encode(errors='surrogateescape'))}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)


def _is_made(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the tables exist; not so in an empty file, as a killed first run may leave."""
    # In one transaction: another process may be making them between two of these.
    version, application, tables = connection.execute(
        "SELECT user_version, application_id, (SELECT COUNT(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if not (version or application or tables):
        return False
    if application != _APPLICATION_ID:
        raise HistoryDamaged(f"{path} is a database of something else.", "Move it away; a new history is then started.")
    if version != SCHEMA_VERSION:
        raise LibraryUnavailable(
            f"{path} was written by another version (schema {version}; this one knows {SCHEMA_VERSION}); it is left "
            "as it is.",
            "Use that version, or move the file away; a new history is then started.",
        )
    return True


def turn_checksum(created_at: str, record: str) -> int:
    """CRC-32 of a turn's time and record, in UTF-8, 0 to 2**32 - 1."""
    return zlib.crc32(f"{created_at}\0{record}".encode("utf-8", "surrogatepass"))


def _seal_older(connection: sqlite3.Connection) -> None:
    """Give the table of an earlier version its checksums, of what is there now."""
    if has_checksums(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    if not has_checksums(connection):  # another process may have been first
        connection.execute("ALTER TABLE turns ADD COLUMN checksum INTEGER")
        connection.create_function("turn_checksum", 2, turn_checksum, deterministic=True)
        connection.execute("UPDATE turns SET checksum = turn_checksum(created_at, record)")
    connection.execute("COMMIT")


def has_checksums(connection: sqlite3.Connection) -> bool:
    """Whether the turns have checksums; not so in a file that only an earlier version wrote."""
    query = "SELECT 1 FROM pragma_table_info('turns') WHERE name = 'checksum'"
    return connection.execute(query).fetchone() is not None


def _make(connection: sqlite3.Connection, path: Path) -> None:
    # Another process may be doing the same: then it is done, and the log may exist already or come later.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if _is_made(connection, path):
        connection.execute("ROLLBACK")
        return
    for statement in _TABLES.split(";\n"):
        connection.execute(statement)
    with suppress(sqlite3.OperationalError):  # an SQLite without FTS5: History.search reads all turns then
        connection.execute(_SEARCHABLE)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


@contextmanager
def history_errors(path: Path) -> Iterator[None]:
    """Turn an error of SQLite or the system about `path` into RagScienceError, or LibraryBusy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explained(path, error) from error
    except OSError as error:
        raise DiskProblem(
            f"The history {path} cannot be used: {error.strerror or error}.",
            "Check the permissions and the disk, or ask with --no-history.",
        ) from error


def _explained(path: Path, error: sqlite3.DatabaseError) -> RagScienceError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LibraryBusy(f"The history {path} is in use by another program.", "Close that program and try again.")
    if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
        return DiskProblem(f"The history {path} could not be written: {error}.", "Is the disk full, or failing?")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN}:
        return DiskProblem(
            f"The history {path} cannot be opened: {error}.", "Give this user the right to read it and to write there."
        )
    return HistoryDamaged(
        f"The history {path} is damaged: {error}.", "Move the file away; a new history is then started."
    )
