"""The library: papers, their passages and vectors, and the searches over them.

SQLite is the source of truth, and its keyword index is part of it; the FAISS index is a cache that is updated from it.
Reading never writes to the database, and any number of readers run next to one writer: each sees exactly one version of
the library.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from types import TracebackType
from typing import Self

from ragscience.core.errors import RagScienceError
from ragscience.core.records import LOST_PAGE, REPAIRED_FILE, EmbedderIdentity, Paper, StoredChunk
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library.damage import REBUILD_INDEXES, described, rebuilds
from ragscience.library.database import Transactions
from ragscience.library.dense_search import Dense
from ragscience.library.filter_selection import Selecting
from ragscience.library.graph_table import GraphTable
from ragscience.library.home import Home
from ragscience.library.index_config import DenseSizes
from ragscience.library.keywords import Keywords, index_all, is_keywords_damaged, seal_keywords
from ragscience.library.ledger import Ledger, LedgerState
from ragscience.library.library_writes import NewPaper, insert_paper, remove_papers, rename_papers
from ragscience.library.notes import read_notes, write_notes
from ragscience.library.paper_contents import PaperContents
from ragscience.library.paper_rows import path_within
from ragscience.library.sealed_rows import opened, read_state, write_state
from ragscience.library.similarity import Fingerprint, fingerprint_of, sharing_text
from ragscience.library.snapshots import Snapshot, Snapshots
from ragscience.library.sources_table import SourcesTable
from ragscience.library.store_protocol import About, other_embedder
from ragscience.library.token_vectors import Tokens
from ragscience.library.vectors import Vectors, check_vectors

__all__ = ["Library"]

_SIZES = DenseSizes()
_CONTENTS_KEPT = 32
"""Papers whose pages stay in memory: an answer quotes some of a dozen."""


class Library:
    """A home's library, opened for reading or for writing; a context manager.

    Thread-safe: each thread reads its own snapshots.
    """

    def __init__(self, home: Home, transactions: Transactions, sizes: DenseSizes) -> None:
        self.home = home
        self._transactions = transactions
        self._snapshots = snapshots = Snapshots(home, transactions)
        self._ledger = Ledger(home.ledger, self.papers, self._ledger_state)
        selecting = Selecting(snapshots)
        self.select, self.section_names = selecting.select, selecting.section_names
        self.dense = Dense(home, snapshots, sizes)
        self.keywords = Keywords(snapshots)
        self.tokens = Tokens(home.tokens, snapshots)
        self.vectors = Vectors(snapshots, self.tokens)
        self.graph = GraphTable(snapshots)
        self.sources = SourcesTable(transactions, snapshots.damage)
        self._unpacked = lru_cache(_CONTENTS_KEPT)(PaperContents.unpack)

    @classmethod
    def open(cls, home: Home, sizes: DenseSizes = _SIZES) -> Library:
        """Open for reading; a home without a library is empty, and nothing is created.

        Raises LibraryUnavailable for another schema, RagScienceError for a damaged or foreign file.
        """
        return cls(home, Transactions.for_reading(home), sizes)

    @classmethod
    def open_for_writing(cls, home: Home, sizes: DenseSizes = _SIZES) -> Library:
        """Open for reading and writing, exclusively; creates what is missing and repairs the ledger.

        Raises LibraryBusy while another process writes, LibraryUnavailable for another schema, RagScienceError where
        the home cannot be written or the database is damaged.
        """
        library = cls(home, Transactions.for_writing(home), sizes)
        try:
            library.tokens.remove_other_files()
            with library._snapshots.now() as at:
                is_of_other_terms = at is not None and at.state.tokenizer != TOKENIZER_VERSION
            if is_of_other_terms:
                library.rebuild_indexes()
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
        """All reads inside see one version, whatever a writer does meanwhile."""
        with self._transactions.reading():
            yield

    @property
    def about(self) -> About:
        """What the library is and how large; all empty where there is none yet."""
        with self._transactions.reading() as db:
            if db is None:
                return About()
            state = read_state(db)
        return About(state.library_id, state.version, state.embedder, state.chunker, state.papers, state.chunks)

    def _ledger_state(self) -> LedgerState:
        about = self.about
        return LedgerState(about.library_id, about.version, str(self.home.root.absolute()), about.papers)

    def set_identity(self, embedder: EmbedderIdentity, chunker: str) -> None:
        """Record the embedder and chunker for vectors and passages from now on.

        Raises LibraryUnavailable where there are vectors of another embedder: see `Vectors.replace`.
        """
        with self._transactions.writing() as db:
            state = read_state(db)
            if (state.embedder, state.chunker) == (embedder, chunker):
                return
            if state.embedder not in (None, embedder) and state.papers:
                raise other_embedder(state.embedder, embedder)
            write_state(db, replace(state, embedder=embedder, chunker=chunker, version=state.version + 1))

    # Papers

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file. Raises LibraryDamaged where one of them is lost."""
        with self._snapshots.now() as at:
            return at.papers(ids) if at is not None else []

    def paper(self, *, md5: str = "", path: str = "") -> Paper | None:
        """The paper with these bytes, or that was read from this full path."""
        with self._snapshots.now() as at:
            if at is None:
                return None
            row = (
                at.listing.by_path.get(path_within(self._snapshots.root, path)) if path else at.listing.by_md5.get(md5)
            )
            return self.papers([row.paper_id])[0] if row is not None else None

    def add_paper(self, new: NewPaper) -> Paper:
        """Add a paper and remove those it replaces in one transaction.

        Raises RagScienceError for vectors that are not unit rows of the library's dimension, for a path or MD5 that
        another paper has, and where a write fails.
        """
        with self._transactions.writing() as db:
            at = self._snapshots.of(db)
            if not at.state.dimension:
                raise RagScienceError("The library does not know its embedder yet.", "Set its identity first.")
            check_vectors(new.vectors, len(new.chunks), at.state.dimension)
            remove_papers(at, new.replaces)
            self.tokens.append(db, new.tokens or {})
            row = insert_paper(db, new, self._snapshots.root)
            state = read_state(db)
            state = replace(state, version=state.version + 1)
            write_state(db, state)
        self._snapshots.keep(state, at.listing.changed(new.replaces, row))
        self._ledger.note_changes(1)
        return self.papers([row.paper_id])[0]

    def remove_papers(self, ids: Sequence[int]) -> None:
        """Remove papers with their passages and vectors; unknown ids are ignored."""
        with self._transactions.writing() as db:
            removed = remove_papers(self._snapshots.of(db), ids)
            if removed:
                state = read_state(db)
                write_state(db, replace(state, version=state.version + 1))
        self._ledger.note_changes(removed)

    def rename_papers(self, moves: Sequence[tuple[int, str, int]]) -> None:
        """Give each (paper id, path, mtime in ns) its new path, in one transaction: two files may have changed places.

        A paper that is not among the moves but whose path is taken is removed. Raises RagScienceError for an
        unknown id.
        """
        with self._transactions.writing() as db:
            rename_papers(self._snapshots.of(db), self._snapshots.root, moves)
            state = read_state(db)
            write_state(db, replace(state, version=state.version + 1))
        self._ledger.note_changes(len(moves))

    def fingerprints(self, ids: Sequence[int] | None = None) -> list[Fingerprint]:
        """The fingerprint of each paper, or of those of `ids`, by file; `Fingerprint.paper` is `Paper.file`."""
        found = []
        with self._snapshots.now() as at:
            for paper in self.papers(ids) if at is not None else ():
                sketch = self._part(at, paper.paper_id, "sketch") if at is not None else b""
                shingles, *hashes = struct.unpack(f"<{len(sketch) // 8}Q", sketch) if sketch else (0,)
                known = fingerprint_of(paper.file, "", paper.metadata, paper.modified_ns)
                pages = self.contents(paper.paper_id).pages if paper.warnings else ()  # without one, it lacks nothing
                empty = sum(page.start == page.end for page in pages)
                is_damaged = REPAIRED_FILE in paper.warnings or any(
                    page.warning.startswith(LOST_PAGE) for page in pages
                )
                found.append(
                    replace(known, shingles=shingles, sketch=tuple(hashes), is_damaged=is_damaged, empty_pages=empty)
                )
        return found

    def papers_sharing_text(self, with_: Sequence[Fingerprint]) -> list[int]:
        """Ids of the papers whose text may be that of one of these."""
        with self._snapshots.now() as at:
            if at is None:
                return []
            query = "SELECT paper_id, row FROM parts WHERE part = 'sketch'"
            sketches = ((one, opened(("sketch", one), row)) for one, row in at.db.execute(query))
            return list(sharing_text(((one, sketch) for one, sketch in sketches if sketch is not None), with_))

    # Contents

    def contents(self, paper_id: int) -> PaperContents:
        """The pages and elements of a paper; none for an unknown paper, or where they are damaged."""
        with self._snapshots.now() as at:
            if at is None or paper_id not in at.listing.rows:
                return PaperContents()
            packed = self._part(at, paper_id, "contents")
            if packed:
                return self._unpacked(packed)
            file = at.listing.file(at.listing.rows[paper_id])
            return PaperContents(damage=(f"The pages of {file} are damaged in the library.", rebuilds(file)))

    def _part(self, at: Snapshot, paper_id: int, part: str) -> bytes:
        """A part of a paper; empty where it is damaged, which is noted."""
        row = at.db.execute("SELECT row FROM parts WHERE part = ? AND paper_id = ?", (part, paper_id)).fetchone()
        content = opened((part, paper_id), row[0]) if row else None
        if content is None:
            at.damage.note("paper", paper_id)
        return content or b""

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The passages in the order of `ids`; missing ones are left out."""
        with self._snapshots.now() as at:
            return at.chunks(ids) if at is not None else []

    def paper_chunks(self, paper_id: int) -> list[StoredChunk]:
        """The passages of a paper, in order."""
        with self._snapshots.now() as at:
            row = at.listing.rows.get(paper_id) if at is not None else None
            return at.chunks(range(row.first_chunk, row.first_chunk + row.chunks)) if at is not None and row else []

    def texts(self, batch: int) -> Iterator[tuple[list[int], list[str]]]:
        """(ids, search texts) of all passages, ascending, `batch` at a time.

        Not a snapshot unless it runs inside one.
        """
        with self._snapshots.now() as at:
            ids: list[int] = at.listing.chunk_ids.tolist() if at is not None else []
        for first in range(0, len(ids), batch):
            with self._snapshots.now() as at:
                found = dict(at.texts(ids[first : first + batch])) if at is not None else {}
            if found:
                yield list(found), list(found.values())

    # Notes

    def noted(self, kind: str) -> dict[str, str]:
        """The small texts of a kind, by their keys."""
        with self._snapshots.now() as at:
            return read_notes(at.db, kind, at.damage) if at is not None else {}

    def note(self, kind: str, texts: Mapping[str, str | None]) -> None:
        """Keep small texts of a kind by their keys; None forgets one."""
        with self._transactions.writing() as db:
            write_notes(db, kind, texts)

    # Upkeep

    def refresh_indexes(self) -> None:
        """Bring the indexes on disk up to date. Raises RagScienceError where a write fails."""
        with self._transactions.writing() as db:
            state = read_state(db)
            if state.keywords_at != state.version:
                seal_keywords(db)
        self.dense.refresh()

    def rebuild_indexes(self) -> None:
        """Make the indexes again. Raises RagScienceError where a write fails."""
        with self._transactions.writing() as db:
            at = self._snapshots.of(db)
            index_all(db, at, at.listing.chunk_ids.tolist())
        with self._transactions.writing() as db:
            seal_keywords(db)
        self.dense.rebuild()

    def damage(self) -> tuple[str, ...]:
        """What was seen to be damaged, a sentence with its remedy each."""
        return tuple(f"{what} {fix}" for what, fix in self._damage())

    def _damage(self) -> list[tuple[str, str]]:
        if self._snapshots.damage.is_none:
            return []
        with self._snapshots.now() as at:
            names = {one: at.listing.file(row) for one, row in at.listing.rows.items()} if at is not None else {}
        return described(self._snapshots.damage, names)

    def verify(self) -> list[tuple[str, str]]:
        """(what is damaged, what repairs it), after every row was read; linear in the bytes of the database.

        Raises LibraryDamaged where the database is damaged as a whole.
        """
        with self._snapshots.now() as at:
            if at is None:
                return []
            self.vectors.of()
            self.tokens.missing()
            self.graph.rows()
            self.sources.all()
            for kind in ("removed", "aside"):
                read_notes(at.db, kind, at.damage)
            for row in at.listing.rows.values():
                for part in ("outline", "sketch"):
                    self._part(at, row.paper_id, part)
                pages = self.contents(row.paper_id)
                for chunk in self.paper_chunks(row.paper_id):
                    if pages.damage is None and not pages.has(chunk.text, chunk.start):
                        at.damage.note("paper", row.paper_id)
            found = self._damage()
            if is_keywords_damaged(at.db):
                found.append(("The keyword index is damaged.", REBUILD_INDEXES))
        return found
