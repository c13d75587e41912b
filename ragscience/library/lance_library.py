"""A library in LanceDB, with the methods of `Store`: what each does and raises, `Library` says."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from ragscience.core.errors import RagScienceError
from ragscience.core.records import EmbedderIdentity, Paper
from ragscience.library.changes import Change
from ragscience.library.home import Home
from ragscience.library.lance_contents import LanceContents
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_left_out import LanceLeftOut
from ragscience.library.lance_rows import LanceGraph, LanceSources
from ragscience.library.lance_search import LanceSearch
from ragscience.library.lance_tables import in_list
from ragscience.library.lance_verification import verify
from ragscience.library.lance_writes import append_paper, remove_papers, rename_papers
from ragscience.library.ledger import Ledger, LedgerState
from ragscience.library.library_damage import described
from ragscience.library.library_identity import check_identity, other_embedder
from ragscience.library.library_writes import NewPaper, paper_columns
from ragscience.library.paper_paths import path_within
from ragscience.library.similarity import near_duplicates
from ragscience.library.vectors import check_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LanceLibrary"]

INDEX_FROM = 100_000
"""From this many passages on the vectors have an index; below it a search compares all of them."""


class LanceLibrary:
    """The library at a URI, opened for reading or for writing; a context manager, thread-safe."""

    def __init__(self, home: Home, database: LanceDatabase, index_from: int) -> None:
        self.home = home
        self._database = database
        self._root = os.path.abspath(home.root)  # noqa: PTH100  # a link keeps its own name
        self._reading, self._writing, self._changed = database.reading, database.writing, database.changed
        contents = LanceContents(database, self._root)
        self.papers, self.paper_stamps = contents.papers, contents.paper_stamps
        self.known_files = contents.known_files
        self.fingerprints, self.papers_sharing_text = contents.fingerprints, contents.papers_sharing_text
        self.pages = contents.pages
        self.page = contents.page
        self.page_text = contents.page_text
        self.whole_pages = contents.whole_pages
        self.boxes = contents.boxes
        self.elements = contents.elements
        self.chunks = contents.chunks
        self.paper_chunks = contents.paper_chunks
        self.texts = contents.texts
        self.vectors = contents.vectors
        self.vectors_by_hash = contents.vectors_by_hash
        self.token_vectors = contents.token_vectors
        self.token_bytes = contents.token_bytes
        self.passages_without_tokens = contents.passages_without_tokens
        self.passages_not_kept = contents.passages_not_kept
        self._paper_where = contents.paper_where
        self._file_names = contents.file_names
        searches = LanceSearch(home, database, contents, index_from)
        self.select, self.section_names = searches.select, searches.section_names
        self.search_dense, self.begin_dense = searches.search_dense, searches.begin_dense
        self.dense_scores = searches.dense_scores
        self.search_keywords, self.keyword_scores = searches.search_keywords, searches.keyword_scores
        self.term_counts = searches.term_counts
        self.stale_indexes = searches.stale_indexes
        self.dense_index_info = searches.dense_index_info
        self._refresh = searches.refresh_indexes
        left_out = LanceLeftOut(database, contents)
        self.aside, self.set_aside = left_out.aside, left_out.set_aside
        self.removed, self.note_removed, self.forget_removed = (
            left_out.removed,
            left_out.note_removed,
            left_out.forget_removed,
        )
        self.graph = LanceGraph(database)
        self.sources = LanceSources(database)
        self._ledger = Ledger(home.ledger, self.papers, self._ledger_state)
        self._keeps_ledger = True

    @classmethod
    def open(
        cls,
        home: Home,
        uri: str,
        *,
        writing: bool = False,
        keeps_ledger: bool = True,
        index_from: int = INDEX_FROM,
    ) -> LanceLibrary:
        """Open the library at `lance:///folder` or `s3://bucket/prefix`.

        For writing what is missing is created, and the home is locked. Raises UsageError where the package is missing,
        LibraryBusy while another process of this home writes, RagScienceError where the place is out of reach.
        """
        from ragscience.library.lance_vectors import bring_up_to_date

        library = cls(home, LanceDatabase(home, uri, writing=writing), index_from)
        library._keeps_ledger = keeps_ledger
        if writing:
            try:
                bring_up_to_date(library._database)
                if keeps_ledger:
                    library._ledger.write()
            except BaseException:
                library.close()
                raise
        return library

    def close(self) -> None:
        """Bring the ledger up to date and release the lock; may be called twice."""
        try:
            if self._database.may_write and self._keeps_ledger:
                self._ledger.finish()
        finally:
            self._database.close()

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
        return str(self._state("library_id", ""))

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder of the vectors; None before the first ingest."""
        kept = self._state("embedder", None)
        return EmbedderIdentity(**kept) if kept else None

    @property
    def chunker(self) -> str | None:
        """The chunker of the passages; None before the first ingest."""
        kept: str | None = self._state("chunker", None)
        return kept

    @property
    def generation(self) -> int:
        """Grows with each change of papers or vectors; 0 for an empty library."""
        return int(self._state("generation", 0))

    @property
    def paper_count(self) -> int:
        """Number of papers."""
        return int(self._state("papers", 0))

    @property
    def chunk_count(self) -> int:
        """Number of passages."""
        return int(self._state("chunks", 0))

    def _ledger_state(self) -> LedgerState:
        with self._reading():
            return LedgerState(self.library_id, self.generation, self._root, self.paper_count)

    def _state(self, name: str, without: Any) -> Any:
        with self._reading() as at:
            return getattr(at.state, name) if at else without

    def set_identity(self, embedder: EmbedderIdentity, chunker: str) -> None:
        """Record the embedder and chunker for vectors and passages from now on. Raises LibraryUnavailable."""

        def act(change: Change) -> None:  # another process may have set it since
            kept = change.state.embedder
            present = EmbedderIdentity(**kept) if kept else None
            if present not in (None, embedder) and change.state.papers:
                raise other_embedder(present, embedder)
            if present != embedder:
                change.new_table("vectors", f"vectors_{uuid4().hex}", embedder.dimension)
            if (present, change.state.chunker) != (embedder, chunker):
                change.note(embedder=asdict(embedder), chunker=chunker)
                change.bump("generation")

        if (self.embedder, self.chunker) != (embedder, chunker):
            self._changed(act)

    def require_identity(self, embedder: EmbedderIdentity, chunker: str | None = None) -> None:
        """Raise LibraryUnavailable, naming the command that fixes it, unless these made the library."""
        with self._reading():
            check_identity(self.embedder, self.chunker, embedder, chunker)

    # Papers

    def paper_by_md5(self, md5: str) -> Paper | None:
        """The paper with these bytes."""
        return self._paper_where("md5", md5)

    def paper_by_path(self, path: str) -> Paper | None:
        """The paper that was read from this full path."""
        return self._paper_where("path", path_within(self._root, path))

    def add_paper(self, new: NewPaper) -> Paper:
        """Add a paper and remove those it replaces in one change. Raises RagScienceError, LibraryBusy."""
        fingerprint = new.fingerprint
        older = self._versions_of(new) if new.replaces else set()
        path = path_within(self._root, new.path)

        def act(change: Change) -> int:
            state = change.state
            if not state.dimension:
                raise RagScienceError("The library does not know its embedder yet.", "Set its identity first.")
            check_vectors(new.vectors, len(new.chunks), state.dimension)
            remove_papers(change, new.replaces)
            for row in change.before.papers().values():
                if row["paper_id"] not in change.gone_papers and (row["md5"] == new.md5 or row["path"] == path):
                    raise RagScienceError(
                        f"The library has {os.fsdecode(row['path'])} already: the same file, or the same bytes.",
                        "`python ingest.py sync` updates the library.",
                    )
            if older:
                aside = {md5: new.md5 for md5, newer in state.aside.items() if newer in older and md5 != new.md5}
                change.note(aside={**state.aside, **aside})
            paper_id, first = state.next_paper, state.next_chunk
            columns = {"paper_id": paper_id, **paper_columns(new, fingerprint, path, first)}
            append_paper(change, new, columns)
            change.bump("generation")
            return int(paper_id)

        paper_id = self._changed(act)
        self._note_changes(1)
        paper = self._paper_where("paper_id", paper_id)
        if paper is None:  # another process removed it at once
            raise RagScienceError(f"{new.path} left the library again.", "Run the command again.")
        return paper

    def _versions_of(self, new: NewPaper) -> set[str]:
        """The MD5s of the papers that `new` replaces, are the same paper as it, and have suppressed files."""
        with self._reading() as at:
            noted = set(at.state.aside.values()) if at else set()
            rows = [at.papers()[one] for one in new.replaces if one in at.papers()] if at and noted else []
            papers = {paper.file: paper.md5 for paper in self.papers()} if rows else {}
            known = self.fingerprints([row["paper_id"] for row in rows if row["md5"] in noted]) if rows else []
        mine = replace(new.fingerprint, paper="")
        return {papers[one.paper] for one in known if near_duplicates([one, mine])}

    def remove_papers(self, ids: Sequence[int]) -> None:
        """Remove papers with their passages and vectors; unknown ids are ignored."""

        def act(change: Change) -> int:
            removed = remove_papers(change, ids)
            if removed:
                change.bump("generation")
            return removed

        self._note_changes(self._changed(act))

    def rename_papers(self, moves: Sequence[tuple[int, str, int]]) -> None:
        """Give each (paper id, path, mtime in ns) its new path, in one change. Raises RagScienceError: unknown id."""

        def act(change: Change) -> None:
            rename_papers(change, {one: (path_within(self._root, path), at) for one, path, at in moves})
            change.bump("generation")

        self._changed(act)
        self._note_changes(len(moves))

    def _note_changes(self, papers: int) -> None:
        if self._keeps_ledger:
            self._ledger.note_changes(papers)

    # Vectors

    def replace_vectors(
        self,
        embedder: EmbedderIdentity,
        batches: Iterable[
            tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32], Mapping[bytes, NDArray[np.uint8]]]
        ],
    ) -> None:
        """Replace the vectors of all passages with those of another embedder, in one change.

        Raises RagScienceError unless each passage gets one.
        """
        from ragscience.library.lance_vectors import replace_vectors

        with self._writing() as change:
            replace_vectors(change, embedder, batches)

    def put_tokens(self, tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
        """Keep token vectors by the hash of their text."""
        from ragscience.library.lance_vectors import put_tokens

        if tokens:
            self._changed(lambda change: put_tokens(change, tokens))

    def compact_tokens(self) -> int:
        """Drop the token vectors that were seen to be damaged; returns 0, as the bytes are freed later."""
        with self._reading() as at:
            damaged = at.damaged.get(("token", None), set()) if at else set()
        if damaged:
            self._changed(lambda change: self._drop_tokens(change, damaged))
        return 0

    @staticmethod
    def _drop_tokens(change: Change, ids: Collection[int]) -> None:
        change.delete("tokens", in_list("chunk_id", ids))
        sizes = change.before.arrow("tokens", ["chunk_id", "bytes"]).to_pylist()
        change.note(token_bytes=sum(row["bytes"] for row in sizes if row["chunk_id"] not in ids))

    # Upkeep

    def refresh_indexes(self) -> None:
        """Save the keyword index in the home, and from a size on make Lance's index of the vectors."""
        self._refresh()

    def rebuild_indexes(self) -> None:
        """Compact the tables, and make the indexes again."""
        with self._writing() as change:
            self._database.tidy(change)
        self._refresh(anew=True)

    def damage(self) -> tuple[str, ...]:
        """What was seen of damage so far, a line for each paper with the command that repairs it; empty for none."""
        return tuple(f"{message} {fix}" for message, fix in self._described())

    def verify(self) -> list[tuple[str, str]]:
        """Read every row: (what is damaged, what repairs it). Raises LibraryDamaged where papers are lost."""
        with self._reading() as at:
            if at is not None:
                verify(at)
            return self._described()

    def _described(self) -> list[tuple[str, str]]:
        with self._reading() as at:
            if at is None or not at.damaged:
                return []
            seen = {key: frozenset(rows) for key, rows in list(at.damaged.items())}
            return list(described(seen, self._file_names(at, [one for _, one in seen if one is not None])))
