"""Brings the database of an older version up to date, in one transaction."""

from __future__ import annotations

import json
import sqlite3

from ragscience.library.content_checks import mark_unkept, unlike_their_pages, unusable_vectors
from ragscience.library.row_checksums import CHECKED_COLUMNS, is_intact, seal_all, sql_checksum

__all__ = ["bring_up_to_date"]

_TO_6 = (
    ("papers", ("references_mark", "filters_mark", "parts_checksum", "checksum")),
    ("pages", ("checksum",)),
    ("chunks", ("checksum",)),
    ("vectors", ("checksum",)),
    ("tokens", ("row_checksum",)),
    ("graph_passages", ("checksum",)),
    ("graph_apart", ("checksum",)),
    ("sources", ("checksum",)),
)
_FORGET_GUESSED_YEARS = """
UPDATE papers SET year = NULL, confidence = json_remove(confidence, '$.year')
WHERE json_valid(confidence) AND json_extract(confidence, '$.year') < 0.5
"""
"""Before schema 7 the date of a file stood for a year that is not printed."""


def bring_up_to_date(db: sqlite3.Connection) -> None:
    """From schema 5 to 6: checksums of what is there; to 7: the papers' `publication`, and no guessed years.

    Schema 8 is of the file of token vectors, which is made anew where the library is next opened for writing. Raises
    sqlite3.Error, and nothing is changed. Passages that differ from their pages already, and vectors that are none, get
    checksums that do not fit, so that they count as damaged; what counted as damaged still does.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version < 7:
            _add_publication(db, version)
        db.execute("PRAGMA user_version = 8")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _add_publication(db: sqlite3.Connection, version: int) -> None:
    damaged = _damaged_papers(db) if version > 5 else []
    db.execute("ALTER TABLE papers ADD COLUMN publication TEXT NOT NULL DEFAULT '{}'")
    db.execute(_FORGET_GUESSED_YEARS)
    if version < 6:
        _add_checksums(db)
    else:
        db.execute(f"UPDATE papers SET checksum = {sql_checksum('papers')}")  # noqa: S608  # ours
        db.executemany("UPDATE papers SET checksum = -1 WHERE paper_id = ?", damaged)


def _damaged_papers(db: sqlite3.Connection) -> list[tuple[int]]:
    """The papers of schema 6 whose rows do not fit their checksums."""
    columns = (name for name in CHECKED_COLUMNS["papers"]["checksum"] if name != "publication")
    rows = db.execute(f"SELECT {', '.join(columns)}, checksum FROM papers")  # noqa: S608  # constants of ours
    return [(int(row[0]),) for row in rows if not is_intact(row)]


def _add_checksums(db: sqlite3.Connection) -> None:
    for table, columns in _TO_6:
        for column in columns:
            db.execute(f"ALTER TABLE {table} ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    mark_unkept(db)
    seal_all(db)
    for table, damaged in (("chunks", unlike_their_pages(db)), ("vectors", unusable_vectors(db))):
        ids = json.dumps(damaged)
        db.execute(
            f"UPDATE {table} SET checksum = -1 WHERE chunk_id IN (SELECT value FROM json_each(?))",  # noqa: S608  # ours
            (ids,),
        )
