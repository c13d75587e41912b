"""The library: papers, their passages and vectors, and the searches over them.

SQLite is the source of truth; the indexes are caches that are updated from it. Reading never writes to the database,
and any number of readers run next to one writer: each sees exactly one generation of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.core.errors import RagScienceError
from ragscience.core.records import EmbedderIdentity, Paper
from ragscience.library import library_writes as writing
from ragscience.library import row_records as rows
from ragscience.library import vectors as stored_vectors
from ragscience.library.graph_table import GraphTable
from ragscience.library.home import Home
from ragscience.library.index_config import DenseSizes
from ragscience.library.ledger import Ledger, LedgerState
from ragscience.library.left_out import LeftOut
from ragscience.library.library_identity import check_identity, other_embedder
from ragscience.library.library_search import LibrarySearch
from ragscience.library.library_verification import Verification
from ragscience.library.library_writes import NewPaper
from ragscience.library.paper_contents import PaperContents
from ragscience.library.paper_paths import full_paths, make_relative, stored_path
from ragscience.library.similarity import Fingerprint, near_duplicates
from ragscience.library.sources_table import SourcesTable
from ragscience.library.token_vectors import Tokens
from ragscience.library.transactions import Transactions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Library"]

_SIZES = DenseSizes()


class Library:
    """A home's library, opened for reading or for writing; a context manager.

    Thread-safe: each thread reads its own snapshots.
    """

    def __init__(self, home: Home, transactions: Transactions, sizes: DenseSizes) -> None:
        self.home = home
        self._transactions = transactions
        self._ledger = Ledger(home.ledger, self.papers, self._ledger_state)
        self._reading = transactions.reading
        self._writing = transactions.writing
        self._searches = searches = LibrarySearch(home, transactions, sizes)
        self.select, self.section_names = searches.select, searches.section_names
        self.search_dense = searches.search_dense
        self.begin_dense = searches.begin_dense
        self.dense_scores = searches.dense_scores
        self.search_keywords = searches.search_keywords
        self.keyword_scores = searches.keyword_scores
        self.term_counts = searches.term_counts
        self.refresh_indexes = searches.refresh_indexes
        self.rebuild_indexes = searches.rebuild_indexes
        self.stale_indexes = searches.stale_indexes
        self.dense_index_info = searches.dense_index_info
        self._tokens = Tokens(home.tokens)
        contents = PaperContents(transactions, self._tokens)
        self.pages = contents.pages
        self.page = contents.page
        self.page_text = contents.page_text
        self.whole_pages = contents.whole_pages
        self.boxes = contents.boxes
        self.chunks = contents.chunks
        self.paper_chunks = contents.paper_chunks
        self.texts = contents.texts
        self.elements = contents.elements
        self.fingerprints = contents.fingerprints
        self.papers_sharing_text = contents.papers_sharing_text
        self.vectors = contents.vectors
        self.vectors_by_hash = contents.vectors_by_hash
        self.token_vectors = contents.token_vectors
        self.token_bytes = contents.token_bytes
        self.passages_without_tokens = contents.passages_without_tokens
        self.passages_not_kept = contents.passages_not_kept
        verification = Verification(transactions, self._tokens)
        self.damage = verification.damage
        self.verify = verification.verify
        left_out = LeftOut(transactions)
        self.aside = left_out.aside
        self.set_aside = left_out.set_aside
        self.removed = left_out.removed
        self.note_removed = left_out.note_removed
        self.forget_removed = left_out.forget_removed
        self.graph = GraphTable(transactions)
        """What extractors read from the passages for the graph."""
        self.sources = SourcesTable(transactions)
        """The sources of fetched files."""

    @classmethod
    def open(cls, home: Home, sizes: DenseSizes = _SIZES) -> Library:
        """Open for reading; a home without a library is empty, and nothing is created.

        Raises LibraryUnavailable for a newer schema, RagScienceError for a damaged or foreign file.
        """
        return cls(home, Transactions.for_reading(home), sizes)

    @classmethod
    def open_for_writing(
        cls, home: Home, sizes: DenseSizes = _SIZES, on_packed: Callable[[int, int], None] = lambda *_: None
    ) -> Library:
        """Open for reading and writing, exclusively; creates what is missing and repairs the ledger.

        Token vectors of a version before schema 8 become codes; `on_packed` gets of how many passages, and of how many.
        Raises LibraryUnavailable while another process writes or for a newer schema, RagScienceError where the home
        cannot be written or the database is damaged.
        """
        library = cls(home, Transactions.for_writing(home), sizes)
        try:
            with library._reading() as db:
                has_full_paths = db is not None and bool(full_paths(db))
                has_int8_tokens = db is not None and library._tokens.are_int8(db)
            if has_full_paths:
                with library._writing() as db:
                    make_relative(db)
            if has_int8_tokens:
                library.compact_tokens(on_packed)
            library._ledger.write()
        except BaseException:
            library.close()
            raise
        return library

    def close(self) -> None:
        """Bring the ledger up to date, release the files and the lock; may be called twice.

        Raises RagScienceError where the ledger cannot be written; the library is closed all the same.
        """
        try:
            if self._transactions.may_write:
                self._ledger.finish()
        finally:
            self._transactions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All reads inside see one generation, whatever a writer does meanwhile."""
        with self._reading():
            yield

    # Identity and size

    @property
    def library_id(self) -> str:
        """A random id from the library's creation; empty if there is no library yet."""
        with self._reading() as db:
            return rows.read_state(db).library_id if db else ""

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder of the vectors; None before the first ingest."""
        with self._reading() as db:
            return rows.identity(db)[0] if db else None

    @property
    def chunker(self) -> str | None:
        """The chunker of the passages; None before the first ingest."""
        with self._reading() as db:
            return rows.identity(db)[1] if db else None

    @property
    def generation(self) -> int:
        """Grows with each change; 0 for an empty library."""
        with self._reading() as db:
            return rows.read_state(db).generation if db else 0

    @property
    def paper_count(self) -> int:
        """Number of papers."""
        return self._counts()[0]

    @property
    def chunk_count(self) -> int:
        """Number of passages."""
        return self._counts()[1]

    def _counts(self) -> tuple[int, int]:
        with self._reading() as db:
            return rows.counts(db) if db else (0, 0)

    def _ledger_state(self) -> LedgerState:
        with self._reading():
            return LedgerState(self.library_id, self.generation, str(self.home.root.absolute()), self.paper_count)

    def set_identity(self, embedder: EmbedderIdentity, chunker: str) -> None:
        """Record the embedder and chunker for vectors and passages from now on.

        Raises LibraryUnavailable where there are vectors of another embedder: see `replace_vectors`.
        """
        with self._writing() as db:
            present, cut_by = rows.identity(db)
            if (present, cut_by) == (embedder, chunker):
                return
            if present not in (None, embedder) and db.execute("SELECT 1 FROM papers").fetchone():
                raise other_embedder(present, embedder)
            writing.set_identity(db, embedder, chunker)
            writing.bump(db)

    def require_identity(self, embedder: EmbedderIdentity, chunker: str | None = None) -> None:
        """Raise LibraryUnavailable, naming the command that fixes it, unless these made the library.

        A chunker of None is not compared.
        """
        with self._reading() as db:
            made_by, cut_by = rows.identity(db) if db else (None, None)
        check_identity(made_by, cut_by, embedder, chunker)

    # Papers

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file."""
        with self._reading() as db:
            if db is None:
                return []
            return rows.papers(db) if ids is None else rows.papers_of(db, ids)

    def paper_stamps(self) -> dict[int, rows.PaperStamp]:
        """What changes when what is listed of a paper does, by its id."""
        with self._reading() as db:
            return rows.paper_stamps(db) if db else {}

    def paper_by_md5(self, md5: str) -> Paper | None:
        """The paper with these bytes."""
        return self._paper("WHERE md5 = ?", md5)

    def paper_by_path(self, path: str) -> Paper | None:
        """The paper that was read from this full path."""
        with self._reading() as db:
            return self._paper("WHERE path = ?", stored_path(db, path)) if db else None

    def _paper(self, where: str, value: object) -> Paper | None:
        with self._reading() as db:
            found = rows.papers(db, where, (value,)) if db else []
        return found[0] if found else None

    def known_files(self) -> dict[str, tuple[int, int, str, int]]:
        """Full path of each paper's file: (size in bytes, mtime in ns, MD5, paper id)."""
        with self._reading() as db:
            return rows.known_files(db) if db else {}

    def add_paper(self, new: NewPaper) -> Paper:
        """Add a paper and remove those it replaces in one transaction.

        Raises RagScienceError for vectors that are not unit rows of the library's dimension, for a path or MD5 that
        another paper has, and where a write fails.
        """
        fingerprint = new.fingerprint
        older = self._versions_of(fingerprint, new.replaces) if new.replaces else set()
        with self._writing() as db:
            dimension = rows.read_state(db).dimension
            if not dimension:
                raise RagScienceError("The library does not know its embedder yet.", "Set its identity first.")
            stored_vectors.check_vectors(new.vectors, len(new.chunks), dimension)
            writing.remove_papers(db, new.replaces)
            writing.inherit_aside(db, older, new.md5)
            self._tokens.append(db, new.tokens or {})
            paper_id = writing.insert_paper(db, new, fingerprint)
            writing.bump(db)
            (paper,) = rows.papers(db, "WHERE paper_id = ?", (paper_id,))
        self._ledger.note_changes(1)
        return paper

    def _versions_of(self, fingerprint: Fingerprint, ids: Sequence[int]) -> set[str]:
        """The MD5s of the papers `ids` that are the same paper as the new one and have suppressed files."""
        with self._reading() as db:
            noted = set(rows.set_aside(db).values()) if db else set()
            papers = rows.papers_of(db, ids) if db and noted else []
        found = {paper.file: paper.md5 for paper in papers if paper.md5 in noted}
        known = [one for one in self.fingerprints(ids) if one.paper in found] if found else []
        new = replace(fingerprint, paper="")
        return {found[one.paper] for one in known if near_duplicates([one, new])}

    def remove_papers(self, ids: Sequence[int]) -> None:
        """Remove papers with their passages and vectors; unknown ids are ignored."""
        with self._writing() as db:
            removed = writing.remove_papers(db, ids)
            if removed:
                writing.bump(db)
        self._ledger.note_changes(removed)

    def rename_papers(self, moves: Sequence[tuple[int, str, int]]) -> None:
        """Give each (paper id, path, mtime in ns) its new path, in one transaction: two files may have changed places.

        A paper that is not among the moves but whose path is taken is removed. Raises RagScienceError for an
        unknown id.
        """
        with self._writing() as db:
            writing.rename_papers(db, moves)
            writing.bump(db)
        self._ledger.note_changes(len(moves))

    # Vectors

    def replace_vectors(
        self,
        embedder: EmbedderIdentity,
        batches: Iterable[
            tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32], Mapping[bytes, NDArray[np.uint8]]]
        ],
    ) -> None:
        """Replace the vectors of all passages with those of another embedder, in one transaction.

        `batches` are (ids, unit rows of shape (len(ids), embedder.dimension), float32, token vectors by the
        hash of their text) and are read one by one. Raises RagScienceError unless each passage gets one.
        """
        with self._writing() as db:

            def kept() -> Iterator[tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32]]]:
                for ids, vectors, tokens in batches:
                    self._tokens.append(db, tokens)
                    yield ids, vectors

            stored_vectors.replace_vectors(db, embedder.dimension, kept())
            writing.set_identity(db, embedder, None)
            writing.bump(db, "vectors_epoch")
            writing.bump(db)

    def put_tokens(self, tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
        """Keep token vectors, codes of shape (n, 28), by the hash of their text. Raises RagScienceError: disk full."""
        with self._writing() as db:
            self._tokens.append(db, tokens)

    def compact_tokens(self, on_done: Callable[[int, int], None] = lambda *_: None) -> int:
        """Drop the data that no passage needs; returns the bytes freed. `on_done` as `Tokens.compact`."""
        with self._writing() as db:
            gained = self._tokens.compact(db, on_done)
        with self._reading() as db:
            if db is not None:
                self._tokens.remove_others(db)
        return gained
