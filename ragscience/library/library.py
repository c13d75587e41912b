"""The library in a home's own folder: SQLite is the source of truth, the FAISS index a cache of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library.changes import SqlDatabase
from ragscience.library.dense_search import Dense
from ragscience.library.home import Home
from ragscience.library.index_config import DenseSizes
from ragscience.library.keyword_index import is_damaged
from ragscience.library.keywords import Keywords, index_all, seal_keywords
from ragscience.library.sealed_rows import REBUILD_INDEXES
from ragscience.library.store_protocol import Store

if TYPE_CHECKING:
    pass


_SIZES = DenseSizes()
_BATCH = 500


class Library(Store):
    """A home's library."""

    dense: Dense

    def __init__(self, home: Home, database: SqlDatabase, sizes: DenseSizes) -> None:
        super().__init__(home, database)
        self._database: SqlDatabase = database
        self.dense = Dense(home, database, sizes)
        self.keywords = Keywords(database)

    @classmethod
    def open(cls, home: Home, sizes: DenseSizes = _SIZES) -> Library:
        """Open for reading; a home without a library is empty, and nothing is created.

        Raises LibraryUnavailable for another schema, RagScienceError for a damaged or foreign file.
        """
        return cls(home, SqlDatabase.for_reading(home), sizes)

    @classmethod
    def open_for_writing(cls, home: Home, sizes: DenseSizes = _SIZES) -> Library:
        """Open for reading and writing, exclusively; creates what is missing and repairs the ledger.

        Raises LibraryBusy while another process writes, LibraryUnavailable for another schema, RagScienceError where
        the home cannot be written or the database is damaged.
        """
        library = cls(home, SqlDatabase.for_writing(home), sizes)
        try:
            with library._database.now() as at:
                # A writer refuses a damaged list of papers at once.
                is_of_other_terms = at is not None and bool(at.listing.rows) and at.state.tokenizer != TOKENIZER_VERSION
            if is_of_other_terms:
                library.refresh_indexes(anew=True)
            library._write_ledger()
        except BaseException:
            library.close()
            raise
        return library

    def refresh_indexes(self, *, anew: bool = False) -> None:
        """As `Store.refresh_indexes`."""
        self._database.require_lock()
        if anew:
            self._database.changed(index_all)
        with self._database.now() as at:
            is_sealed = at is None or at.state.keywords_at == at.state.version
        if not is_sealed:
            self._database.changed(seal_keywords)
        self.dense.refresh(anew=anew)

    def verify(self) -> list[tuple[str, str]]:
        """As `Store.verify`; the keyword index, too."""
        with self._database.now() as at:
            found = super().verify()
            if at is not None and is_damaged(at.db):
                found.append(("The keyword index is damaged.", REBUILD_INDEXES))
        return found
