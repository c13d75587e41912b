"""A home's library, and how a damaged one is put aside."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import quote

from ragscience.core.errors import LibraryDamaged
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library import sealed_rows
from ragscience.library.atomic_files import Home, WriterLock, undone
from ragscience.library.changes import Change, SqlDatabase
from ragscience.library.database import OldLibrary, check_schema, connect_for_reading, database_errors, listed_files
from ragscience.library.dense_search import Dense
from ragscience.library.keywords import Keywords, is_damaged
from ragscience.library.paper_contents import NewPaper, text_hash
from ragscience.library.paper_rows import FileSource, Listing
from ragscience.library.sealed_rows import Damage, DenseIndexInfo, DenseSizes, State
from ragscience.library.snapshots import Snapshot, read_listing
from ragscience.library.store_protocol import Store, keyword_scores, known_files, require_identity

__all__ = [
    "DenseIndexInfo", "DenseSizes", "Home", "Library", "NewPaper", "Store", "keyword_scores", "known_files",
    "require_identity", "text_hash",
]  # fmt: skip

_SIZES = DenseSizes()


class Library(Store):
    """A home's library."""

    dense: Dense

    def __init__(self, home: Home, database: SqlDatabase, sizes: DenseSizes) -> None:
        super().__init__(home, database)
        self._database: SqlDatabase = database
        self.dense = Dense(home, database, sizes)
        self.keywords = Keywords(database)

    @classmethod
    def open(cls, home: Home, sizes: DenseSizes = _SIZES) -> Self:
        """Open for reading; a home without a library is empty, and nothing is created.

        Raises LibraryUnavailable for another schema, RagScienceError for a damaged or foreign file.
        """
        return cls(home, SqlDatabase.for_reading(home), sizes)

    @classmethod
    def open_for_writing(cls, home: Home, sizes: DenseSizes = _SIZES) -> Self:
        """Open for reading and writing, exclusively; creates what is missing and repairs the ledger.

        Raises LibraryBusy while another process writes, LibraryUnavailable for another schema, RagScienceError where
        the home cannot be written or the database is damaged.
        """
        library = cls(home, SqlDatabase.for_writing(home), sizes)
        with undone(library.close):
            with library._database.now() as at:
                # A writer refuses a damaged list of papers at once.
                is_of_other_terms = bool(at.listing.rows) and at.state.tokenizer != TOKENIZER_VERSION
            if is_of_other_terms:
                library.refresh_indexes(anew=True)
            library._write_ledger()
        return library

    def refresh_indexes(self, *, anew: bool = False) -> None:
        """As `Store.refresh_indexes`."""
        self._database.require_lock()
        if anew:
            self._database.changed(Change.index_words)
        with self._database.now() as at:
            is_sealed = at.state.keywords_at == at.state.version
        if not is_sealed:
            self._database.changed(Change.seal_words)
        self.dense.refresh(anew=anew)

    def verify(self) -> list[tuple[str, str]]:
        """As `Store.verify`; the keyword index, too."""
        with self._database.now() as at:
            check_schema(at.db)
            found = super().verify()
            if is_damaged(at.db):
                found.append(("The keyword index is damaged.", sealed_rows.REBUILD_INDEXES))
        return found


# A database that is damaged as a whole, or of an older version

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DamagedDatabase:
    """A database that cannot be mended paper by paper."""

    why: str
    files: tuple[Path, ...]
    """The papers that it had, as far as it or the ledger still tells."""
    removed: Mapping[str, str] = field(default_factory=dict)
    """By MD5, the paths of removed papers that can still be read."""
    sources: tuple[FileSource, ...] = ()
    """Those that can still be read."""

    def carry_over(self, library: Store) -> None:
        """Give the new library the notes and sources, before papers are read: removed ones are left out."""
        library.note("removed", self.removed)
        library.sources.put_all(self.sources)


def damage_of(home: Home) -> DamagedDatabase | None:
    """What is wrong with the database as a whole: its version, its structure, its list of papers; None for nothing.

    What is not found a second time was the disk's failure to read: the database is sound. Raises LibraryUnavailable for
    a newer schema, RagScienceError for a database that cannot be read.
    """
    why = _problem(home) and _problem(home)
    if not why:
        return None
    files = listed_files(home)
    # A run that was killed leaves a note of a paper that it did not take out any more: that is in the ledger.
    read = _readable(home, lambda at: at.notes("removed")) or {}
    removed = {md5: path for md5, path in read.items() if md5 not in files}
    sources = _readable(home, lambda at: at.sources()) or ()
    return DamagedDatabase(why, tuple(map(Path, files.values())), removed, tuple(sources))


def _problem(home: Home) -> str:
    """What is wrong with the database as a whole, a sentence; empty for nothing. Reads all of it, 2 s for each GB."""
    try:
        with database_errors(home.database):
            db = connect_for_reading(home)
            if db is None:
                return ""
            with closing(db):
                (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
                if verdict != "ok":
                    return f"The database is damaged: {' '.join(verdict.split())}."
                check_schema(db)
                db.execute("BEGIN")
                if read_listing(db, sealed_rows.read_state(db), "").damaged:
                    return sealed_rows.LIST_DAMAGED[0]
    except (LibraryDamaged, OldLibrary) as damage:
        return damage.message
    return ""


def _readable(home: Home, read: Callable[[Snapshot], _T]) -> _T | None:
    """What can be read of a database, also of one of an older version or a damaged one; None where it fails."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{quote(str(home.database.absolute()))}?mode=ro", uri=True)) as db,
    ):
        db.text_factory = lambda text: str(text, "utf-8", "replace")
        return read(Snapshot(db, State(""), Damage(), lambda *_: Listing([], "")))
    return None


def put_aside(home: Home) -> Path | None:
    """Rename the database, and return its new name; None if there is none. Raises LibraryBusy, OSError."""
    with WriterLock.acquire(home.lock):
        if not home.database.exists():
            return None
        target = free_name(home.database)
        for ending in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                home.database.with_name(f"{home.database.name}{ending}").rename(f"{target}{ending}")
        return home.database.rename(target)


def free_name(path: Path) -> Path:
    """The first name beside `path` for what is damaged: `library.sqlite.damaged-1`."""
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in count(1))
    return next(name for name in names if not name.exists())
