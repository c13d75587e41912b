"""Conversations and audit records: what a turn is, the tables of the database, opening it, and errors as messages."""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragscience.core.errors import DiskProblem, HistoryDamaged, LibraryUnavailable, UsageError
from ragscience.core.records import Answer
from ragscience.library.atomic_files import connect, connect_to_read, explained, is_ours

SCHEMA_VERSION = 3
_APPLICATION_ID = 0x52534348  # "RSCH": distinguishes this file from any other SQLite database
_BUSY_SECONDS = 5.0
_MOVE = "Move the file away; a new history is then started."

_CONVERSATIONS = """
-- `checksum` is that of the id and the name, plus those of its turns, so that a lost turn shows.
CREATE TABLE conversations (
    conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE,
    checksum INTEGER
);

-- `record` is the whole answer as JSON; question and answer stand beside it to be listed and searched. `checksum` is
-- that of all columns from `conversation_id` on.
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
_AUDIT = """
CREATE TABLE IF NOT EXISTS audit (
    audit_id INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_id TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    record TEXT NOT NULL,
    checksum INTEGER NOT NULL
)
"""


MAX_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in a list; one without turns does not exist."""

    conversation_id: int
    name: str
    """Its name from `--chat`, or empty."""
    title: str
    """Its first question."""
    turns: int
    started_at: str
    """ISO 8601, UTC, as `changed_at`: when the first and the last turn were stored."""
    changed_at: str


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A turn: the answer as it was given, with its question."""

    conversation_id: int | None
    """None for a turn that is not stored."""
    created_at: str
    """ISO 8601, UTC."""
    answer: Answer
    audit: Mapping[str, Any] | None = None
    """The audit record to store with it (see library/audit.py); None for none, and where it was read."""


def check_name(name: str) -> str:
    """A conversation's name as stored. Raises UsageError for one that is empty, too long, a number, or not text."""
    stripped = " ".join(name.split())
    if not stripped or len(stripped) > MAX_NAME_CHARS or not stripped.isprintable():
        raise UsageError(
            f"{name!r} is no name for a conversation.", f"Give 1 to {MAX_NAME_CHARS} characters: --chat thesis"
        )
    if stripped.isdecimal():
        raise UsageError(f"The name {stripped} looks like a conversation's number.", "Add a letter.")
    return stripped


def connect_for_reading(path: Path) -> sqlite3.Connection | None:
    """A read-only connection, or None if there is no file; also works in a read-only folder.

    Raises LibraryUnavailable for another version of the schema, RagScienceError for a file that is not a history.
    """
    with history_errors(path):
        if not path.exists():
            return None
        connection = connect_to_read(path, _BUSY_SECONDS)
        try:
            version = _version(connection, path)
        except BaseException:
            connection.close()
            raise
        if version == SCHEMA_VERSION:
            return connection
        connection.close()
        if version:
            connect_for_writing(path).close()
            return connect_for_reading(path)
        return None


def connect_for_writing(path: Path) -> sqlite3.Connection:
    """A connection for writing, each commit synced to disk; the file is readable by its owner only.

    Raises LibraryUnavailable for another version of the schema or a file that stays busy, RagScienceError for a file
    that is not a history or not writable.
    """
    with history_errors(path):
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = connect(path, "mode=rw", _BUSY_SECONDS)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")
            if _version(connection, path) != SCHEMA_VERSION:
                _make(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables; 0 where there are none."""
    version = is_ours(connection, _APPLICATION_ID)
    if version is None:
        raise HistoryDamaged(f"{path} is a database of something else.", _MOVE)
    if version not in range(SCHEMA_VERSION + 1):
        raise LibraryUnavailable(
            f"{path} was written by another version (schema {version}; this one knows {SCHEMA_VERSION}); it is left "
            "as it is.",
            "Use that version, or move the file away; a new history is then started.",
        )
    return version


def checksum_of(*columns: object) -> int:
    """CRC-32 of the columns of a row, in UTF-8, 0 to 2**32 - 1."""
    return zlib.crc32("\0".join(map(str, columns)).encode("utf-8", "surrogatepass"))


def _make(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables, or what those of an older version did not have."""
    # Another process may be doing the same: then it is done.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    version = _version(connection, path)
    if version != SCHEMA_VERSION:
        if not version:
            for statement in _CONVERSATIONS.split(";\n"):
                connection.execute(statement)
        else:
            _upgrade(connection)
        connection.execute(_AUDIT)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _upgrade(connection: sqlite3.Connection) -> None:
    """Turns and conversations get the checksums that they lack, and turns lose their full-text index."""
    for table in ("turns", "conversations"):
        query = "SELECT 1 FROM pragma_table_info(?) WHERE name = 'checksum'"
        if connection.execute(query, (table,)).fetchone() is None:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER")
    connection.create_function("checksum_of", -1, checksum_of, deterministic=True)
    # What is not as version 2 wrote it stays so.
    connection.execute(
        "UPDATE turns SET checksum = checksum_of(conversation_id, answer_id, created_at, question, answer, record)"
        " WHERE checksum IS NULL OR checksum = checksum_of(created_at, record)"
    )
    connection.execute(
        "UPDATE conversations AS c SET checksum = checksum_of(conversation_id, COALESCE(name, '')) + COALESCE("
        "(SELECT SUM(checksum) FROM turns WHERE conversation_id = c.conversation_id), 0)"
    )
    connection.execute("DROP TABLE IF EXISTS turns_text")


@contextmanager
def history_errors(path: Path) -> Iterator[None]:
    """Turn an error of SQLite or the system about `path` into RagScienceError, or LibraryBusy."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise explained(f"The history {path}", error, lambda message: HistoryDamaged(message, _MOVE)) from error
    except UnicodeDecodeError as error:  # as in database_errors
        raise HistoryDamaged(f"The history {path} is damaged: its schema is not text.", _MOVE) from error
    except OSError as error:
        raise DiskProblem(
            f"The history {path} cannot be used: {error.strerror or error}.",
            "Check the permissions and the disk, or ask with --no-history.",
        ) from error
