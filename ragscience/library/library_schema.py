"""The library database: its tables, opening it for reading and for writing, and SQLite errors as user messages.

Every row carries a checksum (library/row_checksums.py), and `meta` one of all its rows. What else is kept of the whole:
`meta`'s row "papers" has the number of papers and the sums of four of their columns, and each paper the sums
`references_mark` and `filters_mark` over its passages, so that a row or an index entry that is lost shows.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from ragscience.core.errors import DiskProblem, LibraryBusy, LibraryDamaged, LibraryUnavailable, RagScienceError
from ragscience.library.atomic_files import disk_errors
from ragscience.library.library_damage import READ_ALL_AGAIN, Database
from ragscience.library.row_checksums import row_checksum, seal_meta

__all__ = ["SCHEMA_VERSION", "OlderSchema", "connect_for_reading", "connect_for_writing", "database_errors"]

SCHEMA_VERSION = 8
OLDEST_VERSION = 5
"""The oldest schema that is brought up to date (library/schema_migrations.py)."""
_APPLICATION_ID = 0x52534349  # "RSCI": distinguishes our file from any other SQLite database
_PAGE_BYTES = 8192  # five vectors of 384 dimensions per page, where the usual 4096 bytes hold two and waste a quarter
_BUSY_SECONDS = 20.0
_COUNTERS = ("generation", "vectors_epoch", "graph_generation")


class OlderSchema(LibraryUnavailable):
    """The library is of an older version, and the next command that may write brings it up to date."""


_TABLES = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Paths are kept as the bytes that the file system knows, because not each name is valid text.
-- A paper's chunks have the ids first_chunk, first_chunk + 1, …: they are written together and never reused.
CREATE TABLE papers (
    paper_id INTEGER PRIMARY KEY AUTOINCREMENT,
    path BLOB NOT NULL UNIQUE,
    name BLOB NOT NULL,
    md5 TEXT NOT NULL UNIQUE,
    size_bytes INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    title TEXT NOT NULL,
    added_at TEXT NOT NULL,
    warnings TEXT NOT NULL,
    pages INTEGER NOT NULL,
    first_chunk INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    stated_title TEXT NOT NULL DEFAULT '',
    authors TEXT NOT NULL DEFAULT '[]',
    year INTEGER,
    venue TEXT NOT NULL DEFAULT '',
    doi TEXT NOT NULL DEFAULT '',
    arxiv_id TEXT NOT NULL DEFAULT '',
    confidence TEXT NOT NULL DEFAULT '{}',
    publication TEXT NOT NULL DEFAULT '{}',  -- its kind, volume, number and pages, as JSON
    sketch BLOB NOT NULL DEFAULT x'',  -- what its text is compared by, and its elements: library/element_rows.py
    elements BLOB NOT NULL DEFAULT x'',
    references_mark INTEGER NOT NULL DEFAULT 0,  -- sums over its passages: library/row_checksums.py
    filters_mark INTEGER NOT NULL DEFAULT 0,
    parts_checksum INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX papers_by_name ON papers (name);

CREATE TABLE pages (
    paper_id INTEGER NOT NULL REFERENCES papers,
    number INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    warning TEXT NOT NULL,
    text TEXT NOT NULL,
    lines BLOB NOT NULL DEFAULT x'',  -- where they stand: library/page_geometry.py
    furniture TEXT NOT NULL DEFAULT '',
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (paper_id, number)
) WITHOUT ROWID;

CREATE TABLE chunks (
    chunk_id INTEGER PRIMARY KEY AUTOINCREMENT,
    paper_id INTEGER NOT NULL REFERENCES papers,
    ordinal INTEGER NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    page_start INTEGER NOT NULL,
    page_end INTEGER NOT NULL,
    section TEXT NOT NULL,
    kind TEXT NOT NULL,
    page_breaks TEXT NOT NULL,
    header TEXT NOT NULL DEFAULT '',
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX chunks_by_filter ON chunks (paper_id, page_start, page_end, kind, section);
CREATE INDEX chunks_of_references ON chunks (chunk_id) WHERE kind = 'reference';

CREATE TABLE vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX vectors_by_text ON vectors (text_hash);

-- Where a text's token vectors are in the file that meta's tokens_file names, in bytes, and the CRC-32 of these; a
-- start of -1: none are kept. A text of `vectors` without a row has lost its own.
CREATE TABLE tokens (
    text_hash BLOB PRIMARY KEY,
    start INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    row_checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- What an extractor read from a passage, as JSON (graph/graph_records.py); it goes with its passage.
CREATE TABLE graph_passages (
    chunk_id INTEGER NOT NULL REFERENCES chunks,
    extractor TEXT NOT NULL,
    version TEXT NOT NULL,
    found TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (chunk_id, extractor)
) WITHOUT ROWID;

-- Names that a person does not want merged with others.
CREATE TABLE graph_apart (
    name TEXT PRIMARY KEY,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Where a file was fetched from, and what was said of it there, as JSON (library/sources_table.py); it stays when the
-- paper leaves.
CREATE TABLE sources (
    md5 TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    fetched_at TEXT NOT NULL,
    metadata TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
"""


def connect_for_reading(path: Path) -> Database | None:
    """A read-only connection, or None if there is no library yet.

    Also works in a read-only folder. Raises LibraryUnavailable for another schema, OlderSchema for one that can be
    brought up to date, RagScienceError for a file that is not a library.
    """
    if not path.exists():
        return None
    with database_errors(path):
        connection = _connect(path, "mode=ro")
        try:
            try:
                connection.execute("PRAGMA user_version").fetchone()
            except sqlite3.OperationalError:
                if not _nothing_pending(path):
                    raise
                # A write-ahead log needs files next to the database even for reading; read without a log.
                connection.close()
                connection = _connect(path, "mode=ro&immutable=1")
            has_tables = _has_tables(connection, path)
        except BaseException:
            connection.close()
            raise
        if not has_tables:
            connection.close()
            return None
        return connection


def connect_for_writing(path: Path) -> Database:
    """A connection for writing; creates the database if it is missing, and brings one of an older schema up to date.

    Raises LibraryUnavailable for another schema, RagScienceError for a file that is not a library or not writable.
    """
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with database_errors(path):
        connection = _connect(path, "mode=rwc")
        try:
            try:
                if not _has_tables(connection, path):
                    _create(connection)
            except OlderSchema:
                from ragscience.library.schema_migrations import bring_up_to_date

                bring_up_to_date(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _connect(path: Path, options: str) -> Database:
    uri = f"file:{quote(str(path.absolute()).encode(errors='surrogateescape'))}?{options}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=Database
    )
    # Damaged text comes as other text, which its checksum tells, and not as an error of the whole query.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    connection.root = os.path.abspath(path.parent.parent)  # noqa: PTH100  # a link keeps its own name
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    return connection


def _nothing_pending(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return not log.exists() or log.stat().st_size == 0


def _has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """False for a database without tables, as a killed first run may leave."""
    # In one transaction: another process may be making them between two of these.
    version, application, tables = connection.execute(
        "SELECT user_version, application_id, (SELECT COUNT(*) FROM sqlite_master)"
        " FROM pragma_user_version, pragma_application_id"
    ).fetchone()
    if application == _APPLICATION_ID:
        if version == SCHEMA_VERSION:
            return True
        if OLDEST_VERSION <= version < SCHEMA_VERSION:
            raise OlderSchema(
                f"{path} was written by an older version (schema {version}).",
                "`python ingest.py` brings it up to date; it must be allowed to write there.",
            )
        newer = version > SCHEMA_VERSION
        raise LibraryUnavailable(
            f"{path} was written by {'a newer' if newer else 'an older'} version (schema {version}; this one knows "
            f"{SCHEMA_VERSION}).",
            "Update RAG Science, or use another folder with --home." if newer else READ_ALL_AGAIN,
        )
    if version or tables:
        raise RagScienceError(
            f"{path} is a database of something else.", "Move it away, or use another folder with --home."
        )
    return False


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";\n"):
        connection.execute(statement)
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?)",
        [
            ("library_id", uuid.uuid4().hex),
            ("next_chunk", "1"),
            ("papers", "[0, 0, 0, 0, 0]"),
            *((name, "0") for name in _COUNTERS),
        ],
    )
    seal_meta(connection)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about `path` into RagScienceError, or LibraryBusy where waiting helps."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _explained(path, error) from error
    except UnicodeDecodeError as error:  # SQLite's own message quotes bytes of a damaged schema
        raise LibraryDamaged(f"{path} is damaged: its schema is not text.", READ_ALL_AGAIN) from error


def _explained(path: Path, error: sqlite3.DatabaseError) -> RagScienceError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    # Of a key that is there twice, only damage can be the cause.
    if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT}:
        return LibraryDamaged(f"{path} is damaged: {error}.", READ_ALL_AGAIN)
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}:
        return DiskProblem(f"{path} cannot be written: {error}.", "Give this user write permission.")
    if code == sqlite3.SQLITE_CANTOPEN:
        return DiskProblem(
            f"{path} cannot be opened: {error}.", "Give this user the right to read it and to write beside it."
        )
    if code == sqlite3.SQLITE_FULL:
        return DiskProblem(
            f"The disk is full: {path} could not be written.", "Free disk space and run the command again."
        )
    if code == sqlite3.SQLITE_IOERR:
        return DiskProblem(f"{path} could not be read or written: {error}.", "Is the disk full, or failing?")
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LibraryBusy(f"{path} is in use by another program.", "Close that program and run the command again.")
    return RagScienceError(f"{path} could not be used: {error}.", "`python ingest.py doctor` looks for the cause.")
