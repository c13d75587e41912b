"""A database that is damaged as a whole, or of an older version: which papers it had, and how it is put aside."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ragscience.core.errors import LibraryDamaged
from ragscience.library.database import OldLibrary, connect_for_reading, database_errors, listed_files
from ragscience.library.home import Home
from ragscience.library.library import Library
from ragscience.library.lock import WriterLock
from ragscience.library.paper_rows import path_from

__all__ = ["DamagedDatabase", "damage_of", "database_problem", "put_aside"]


@dataclass(frozen=True, slots=True)
class DamagedDatabase:
    """A database that cannot be mended paper by paper."""

    why: str
    files: tuple[Path, ...]
    """The papers that it had, as far as it or the ledger still tells."""


def damage_of(home: Home) -> DamagedDatabase | None:
    """What is wrong with the database as a whole: its version, its structure, its list of papers; None for nothing.

    What is not found a second time was the disk's failure to read: the database is sound. Raises LibraryUnavailable for
    a newer schema, RagScienceError for a database that cannot be read.
    """
    if not database_problem(home):
        return None
    why = database_problem(home)
    if not why:
        return None
    files = dict.fromkeys((*listed_files(home), *_listed_in_database(home)))
    return DamagedDatabase(why, tuple(Path(path) for path in files))


def database_problem(home: Home, *, fast: bool = False) -> str:
    """What is wrong with the database as a whole, a sentence; empty for nothing. Raises as `damage_of`.

    Reads all of it, about two seconds for each GB, half with `fast`.
    """
    try:
        with database_errors(home.database):
            db = connect_for_reading(home)
            if db is None:
                return ""
            with closing(db):
                (verdict,) = db.execute(f"PRAGMA {'quick' if fast else 'integrity'}_check(1)").fetchone()
            if verdict != "ok":
                return f"The database is damaged: {' '.join(verdict.split())}."
        with Library.open(home) as library:
            library.papers()
    except (LibraryDamaged, OldLibrary) as damage:
        return damage.message
    return ""


def _listed_in_database(home: Home) -> list[str]:
    """The paths of the papers that the table names, also one of an older version."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{home.database}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT path FROM papers").fetchall()
        root = os.path.abspath(home.root)  # noqa: PTH100  # a link keeps its own name
        return [path_from(root, path) for (path,) in rows if isinstance(path, bytes)]
    return []


def put_aside(home: Home) -> Path | None:
    """Rename the database, and return its new name; None if there is none. Raises LibraryBusy, OSError."""
    with WriterLock.acquire(home.lock):
        if not home.database.exists():
            return None
        number = 1
        while (target := home.database.with_name(f"{home.database.name}.damaged-{number}")).exists():
            number += 1
        for ending in ("-wal", "-shm"):
            log = home.database.with_name(f"{home.database.name}{ending}")
            if log.exists():
                log.rename(target.with_name(f"{target.name}{ending}"))
        home.database.rename(target)
        return target
