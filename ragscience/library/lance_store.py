"""A library in LanceDB, in a folder or in object storage: `Store` with its tables, searches and versions."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ragscience.core.errors import DiskProblem, LibraryBusy, LibraryUnavailable, RagScienceError
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library.database import listed_files
from ragscience.library.database_repair import DamagedDatabase
from ragscience.library.home import Home
from ragscience.library.lance_changes import LanceChange
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_searches import LanceDense, LanceKeywords, LanceTokens
from ragscience.library.store_protocol import Store

__all__ = ["LanceLibrary", "open_lance", "put_lance_aside"]

_INDEXED_FROM = 100_000
"""So many vectors get Lance's index: fewer are compared one by one, in at most 50 ms."""


def open_lance(home: Home, uri: str, *, writing: bool, keeps_ledger: bool) -> Store:
    """The library at a URI of LanceDB's. Raises LibraryBusy, UsageError without the package, RagScienceError."""
    return LanceLibrary(home, uri, writing=writing, keeps_ledger=keeps_ledger)


class LanceLibrary(Store):
    """A library in LanceDB."""

    def __init__(self, home: Home, uri: str, *, writing: bool, keeps_ledger: bool = True) -> None:
        database = LanceDatabase(home, uri, writing=writing)
        super().__init__(home, database, keeps_ledger=keeps_ledger)
        self._database: LanceDatabase = database
        self.dense, self.keywords, self.tokens = LanceDense(database), LanceKeywords(database), LanceTokens(database)
        try:
            if self._ledger is not None:
                self._ledger.write()
        except BaseException:
            database.close()
            raise

    def refresh_indexes(self) -> None:
        """Bring Lance's indexes up to date, compact its tables and delete old versions."""
        self._database.tidied(_optimize)

    def rebuild_indexes(self) -> None:
        """Make Lance's indexes again."""
        self._database.tidied(lambda change: _optimize(change, anew=True))


def _optimize(change: LanceChange, *, anew: bool = False) -> None:
    at = change.before
    if at.state.chunks and (anew or at.state.tokenizer != TOKENIZER_VERSION):
        change.rewrite_passages()
    for role in change.state.tables:
        change.optimize(role)
    if at.state.chunks and at.state.keywords_at != at.state.version:
        change.note(mean_idf=at.mean_idf, keywords_at=at.state.version)
    if at.state.chunks >= _INDEXED_FROM:
        change.index_vectors(anew=anew)


def put_lance_aside(home: Home, uri: str) -> tuple[DamagedDatabase, str] | None:
    """Where the library cannot be read as a whole, rename its folder; the damage and the new name, None for neither.

    Raises LibraryBusy, LibraryUnavailable and DiskProblem as they are, and the damage itself for object storage.
    """
    paths: list[str] = []

    def problem() -> RagScienceError | None:
        try:
            with LanceLibrary(home, uri, writing=False) as library:
                paths.extend(paper.path for paper in library.papers())
                library.verify()
        except (LibraryBusy, LibraryUnavailable, DiskProblem):
            raise
        except RagScienceError as error:
            return error
        return None

    error = problem() and problem()  # what is not found a second time was the disk's failure to read
    if error is None:
        return None
    folder = Path(uri.removeprefix("lance://"))
    if not uri.startswith("lance://"):
        raise error
    number = 1
    while (target := folder.with_name(f"{folder.name}.damaged-{number}")).exists():
        number += 1
    with suppress(FileNotFoundError):
        folder.rename(target)
    files = dict.fromkeys((*listed_files(home).values(), *paths))
    return DamagedDatabase(error.message, tuple(map(Path, files))), target.name
