"""A database that is damaged as a whole: how that is told, which papers it had, and how it is put aside."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ragscience.core.errors import LibraryDamaged
from ragscience.library import row_records as rows
from ragscience.library.home import Home
from ragscience.library.library_damage import Damage, Database
from ragscience.library.library_schema import connect_for_reading, connect_for_writing, database_errors
from ragscience.library.lock import WriterLock
from ragscience.library.transactions import listed_files, require_not_lost

__all__ = ["DamagedDatabase", "damage_of", "put_aside"]


@dataclass(frozen=True, slots=True)
class DamagedDatabase:
    """A database that cannot be mended paper by paper."""

    why: str
    files: tuple[Path, ...]
    """The papers that it had, as far as it or the ledger still tells."""


def damage_of(home: Home) -> DamagedDatabase | None:
    """What is wrong with the database as a whole: its structure, its `meta`, its list of papers; None for nothing.

    What is not found a second time was the disk's failure to read: the database is sound. Between the two its own
    indexes are made again where nothing else is damaged. Raises LibraryUnavailable for another schema, LibraryBusy
    while another process writes, RagScienceError for a database that cannot be read.
    """
    if _damage_of(home) is None:
        return None
    _remake_indexes(home)
    return _damage_of(home)


def _remake_indexes(home: Home) -> None:
    """SQLite's own indexes, from their tables; nothing of a database whose tables are damaged is written."""
    # What cannot be indexed is two rows with one key: what the caller finds again.
    with WriterLock.acquire(home.lock), suppress(LibraryDamaged), database_errors(home.database):
        reading = connect_for_reading(home.database)
        if reading is None:
            return
        with closing(reading):
            if reading.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return
        with closing(connect_for_writing(home.database)) as db:
            db.execute("REINDEX")


def _damage_of(home: Home) -> DamagedDatabase | None:
    known: list[str] = []
    try:
        with database_errors(home.database):
            db = connect_for_reading(home.database)
            if db is None:
                require_not_lost(home)
                return None
            with closing(db):
                why = _why(db, known)
    except LibraryDamaged as damage:
        why = damage.message
    if not why:
        return None
    return DamagedDatabase(why, tuple(Path(path) for path in dict.fromkeys((*listed_files(home), *known))))


def _why(db: Database, known: list[str]) -> str:
    db.damage = Damage()
    (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    known += [paper.path for paper in rows.papers(db, "WHERE 1")]
    rows.read_state(db)
    rows.chunk_ids(db)
    if any(kind == "paper" for kind, _ in db.damage.seen(db)):
        return "The entry of a paper is damaged in the library."
    return "" if verdict == "ok" else f"The database is damaged: {' '.join(verdict.split())}."


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
