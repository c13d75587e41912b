"""A database that was restored from an older copy, next to caches of what came after that copy."""

from __future__ import annotations

import uuid
from pathlib import Path

from ragscience.library.atomic_files import read_checked_json
from ragscience.library.home import Home
from ragscience.library.library_damage import Database, read_meta
from ragscience.library.library_schema import database_errors
from ragscience.library.row_checksums import seal_meta

__all__ = ["give_new_id_if_restored"]


def give_new_id_if_restored(home: Home, db: Database) -> None:
    """Give the library another id where a cache on disk is of a later generation than the database.

    The coming generations and passages would get the numbers of those that are lost, and the caches that know these
    would pass for up to date. With another id, none of them belongs to the library. Called by the one writer.
    """
    with database_errors(home.database):
        known = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('library_id', 'generation')"))
        caches = (home.keywords / "manifest.json", home.faiss.with_suffix(".json"))
        if not any(_is_later(path, known) for path in caches):
            return
        db.execute("BEGIN IMMEDIATE")
        try:
            read_meta(db)
            db.execute("UPDATE meta SET value = ? WHERE key = 'library_id'", (uuid.uuid4().hex,))
            seal_meta(db)
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")


def _is_later(path: Path, known: dict[str, str]) -> bool:
    """Whether the cache that this file describes is of a later generation of the library."""
    try:
        made = read_checked_json(path)
        library = made.get("library") or made["made_from"]["library"]
        return bool(library == known["library_id"] and made["generation"] > int(known["generation"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False
