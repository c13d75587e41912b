"""Opening SQLite files, and SQLite's errors as messages: for the library and for conversations alike."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from ragscience.core.errors import DiskProblem, LibraryBusy, RagScienceError


def connect(path: Path, options: str, busy_seconds: float) -> sqlite3.Connection:
    """A connection without transactions of its own. `options` are those of an URI: "mode=rw".

    Damaged text comes as other text, which its checksum tells, and not as an error of the whole query.
    """
    uri = f"file:{quote(str(path.absolute()).encode(errors='surrogateescape'))}?{options}"
    connection = sqlite3.connect(uri, uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    connection.text_factory = lambda text: str(text, "utf-8", "replace")
    return connection


def connect_to_read(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A read-only connection to a file that exists, also in a read-only folder. Raises sqlite3.Error."""
    connection = connect(path, "mode=ro", busy_seconds)
    try:
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # A write-ahead log needs files next to the database even for reading; read without a log.
        return connect(path, "mode=ro&immutable=1", busy_seconds)
    return connection


def is_ours(connection: sqlite3.Connection, application_id: int) -> int | None:
    """The version of its tables; 0 for none, as a killed first run may leave, None for those of another program."""
    # In one transaction: another process may be making them between two of these.
    version, application, tables = connection.execute(
        "SELECT user_version, application_id, (SELECT COUNT(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application == application_id:
        return int(version)
    return None if version or application or tables else 0


def explained(what: str, error: sqlite3.DatabaseError, damaged: Callable[[str], RagScienceError]) -> RagScienceError:
    """What an error about `what` means; `damaged` makes the error for a file that is not what was written."""
    whole = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    code = sqlite3.SQLITE_CORRUPT if whole == sqlite3.SQLITE_IOERR_SHORT_READ else whole & 0xFF
    # Of a key that is there twice, only damage can be the cause; of a table or column that is not there, too.
    missing = code == sqlite3.SQLITE_ERROR and str(error).startswith(("no such table", "no such column"))
    if missing or code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT}:
        return damaged(f"{what} is damaged: {error}.")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}:
        return DiskProblem(f"{what} cannot be written: {error}.", "Give this user write permission.")
    if code == sqlite3.SQLITE_CANTOPEN:
        fix = "Give this user the right to read it and to write beside it."
        return DiskProblem(f"{what} cannot be opened: {error}.", fix)
    if code == sqlite3.SQLITE_FULL:
        fix = "Free disk space and run the command again."
        return DiskProblem(f"The disk is full: {what} could not be written.", fix)
    if code == sqlite3.SQLITE_IOERR:
        return DiskProblem(f"{what} could not be read or written: {error}.", "Is the disk full, or failing?")
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LibraryBusy(f"{what} is in use by another program.", "Close that program and run the command again.")
    return RagScienceError(f"{what} could not be used: {error}.", "`python ingest.py doctor` looks for the cause.")
