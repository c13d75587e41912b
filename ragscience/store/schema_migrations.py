"""Brings the database of an older version up to date, in one transaction."""

from __future__ import annotations

import json
import sqlite3

from ragscience.store.library_verification import unlike_their_pages, unusable_vectors
from ragscience.store.row_checksums import seal_all
from ragscience.store.token_vectors import mark_unkept

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


def bring_up_to_date(db: sqlite3.Connection) -> None:
    """From schema 5 to 6: checksums of what is there. Raises sqlite3.Error, and nothing is changed.

    Passages that differ from their pages already, and vectors that are none, get checksums that do not fit, so that
    they count as damaged.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        _add_checksums(db)
        db.execute("PRAGMA user_version = 6")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


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
