"""What the program asks of a library, wherever it is kept: `Library` keeps it in SQLite, `LanceLibrary` in LanceDB."""

from __future__ import annotations

import json
import zlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import lru_cache
from typing import cast

import numpy as np

from ragscience.core.errors import LibraryUnavailable
from ragscience.core.records import LOST_PAGE, NOTE, REPAIRED_FILE, EmbedderIdentity, Paper, StoredChunk
from ragscience.core.serialization import storable
from ragscience.core.system import Closing
from ragscience.core.tokenizing import tokenize
from ragscience.library.atomic_files import Home
from ragscience.library.changes import Change
from ragscience.library.dense_index import Ids, Scores
from ragscience.library.dense_search import DenseSearch
from ragscience.library.filter_selection import Selecting
from ragscience.library.keywords import Keywords, bm25
from ragscience.library.paper_contents import NewPaper, PaperContents, already_there
from ragscience.library.paper_rows import path_from, path_within
from ragscience.library.sealed_rows import State, described, rebuilds
from ragscience.library.similarity import Fingerprint, fingerprint_of
from ragscience.library.snapshots import Database, T
from ragscience.library.tables import GraphTable, SourcesTable, Tokens, Vectors, check_vectors, write_ledger

_CONTENTS_KEPT = 32
"""Papers whose pages stay in memory: an answer quotes some of a dozen."""


class Store(Closing):
    """A library, opened for reading or for writing; a context manager.

    Thread-safe: each thread reads its own snapshots. Reading never writes, and any number of readers run next to one
    writer: each sees exactly one version.
    """

    dense: DenseSearch
    keywords: Keywords

    def __init__(self, home: Home, database: Database) -> None:
        self.home = home
        """What belongs to the person: the papers' folder, the ledger, conversations, logs and caches."""
        self._database = database
        selecting = Selecting(database)
        self.select, self.section_names = selecting.select, selecting.section_names
        self.vectors, self.graph, self.sources = Vectors(database), GraphTable(database), SourcesTable(database)
        self.tokens = Tokens(database)
        self._unpacked = lru_cache(_CONTENTS_KEPT)(PaperContents.unpack)
        self._papers: tuple[int, tuple[Paper, ...]] = (-1, ())
        """The papers of a version, as they were last asked for."""
        self._derived: dict[object, tuple[int, object]] = {}

    def close(self) -> None:
        """Bring the ledger up to date, release the files and the lock; may be called twice.

        Raises RagScienceError where the ledger cannot be written; the library is closed all the same.
        """
        try:
            self._write_ledger()
        finally:
            self._database.close()

    def snapshot(self) -> AbstractContextManager[object]:
        """All reads inside see one version, whatever a writer does meanwhile."""
        return self._database.now()

    @property
    def about(self) -> State:
        """What the library says of itself; all empty where there is none yet."""
        with self._database.now() as at:
            return at.state

    def _write_ledger(self) -> None:
        if self._database.may_write:
            about = self.about
            state = {"id": about.library_id, "generation": about.version}
            write_ledger(self.home, state, self.papers)

    def set_identity(self, embedder: EmbedderIdentity, chunker: str) -> None:
        """Record the embedder and chunker for vectors and passages from now on.

        Raises LibraryUnavailable where there are vectors of another embedder: see `Vectors.replace`.
        """

        def act(change: Change) -> None:
            state = change.state
            if (state.embedder, state.chunker) == (embedder, chunker):
                return
            if state.embedder not in (None, embedder) and state.papers:
                raise _other_embedder(state.embedder, embedder)
            if state.dimension != embedder.dimension:
                change.begin_vectors(embedder.dimension)
            change.note(embedder=embedder, chunker=chunker, version=state.version + 1)

        self._database.changed(act)

    # Papers

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file. Raises LibraryDamaged where one of them is lost."""
        with self._database.now() as at:
            if ids is not None:
                return at.papers(ids)
            version, papers = self._papers
            if version != at.version:
                self._papers = version, papers = at.version, tuple(at.papers())
            return list(papers)

    def derived(self, make: Callable[[Store, T | None], T]) -> T:
        """What `make` gives for the library as it is now and for what it gave before: called once for each version."""
        with self._database.now() as at:
            version, found = self._derived.get(make, (-1, None))
            if version != at.version:
                found = make(self, cast("T | None", found))
                self._derived[make] = at.version, found
            return cast("T", found)

    def paper(self, *, md5: str = "", path: str = "") -> Paper | None:
        """The paper with these bytes, or that was read from this full path."""
        with self._database.now() as at:
            by_path, by_md5 = at.listing.by_path, at.listing.by_md5
            row = by_path.get(path_within(self._database.root, path)) if path else by_md5.get(md5)
            return self.papers([row.paper_id])[0] if row is not None else None

    def add_paper(self, new: NewPaper) -> Paper:
        """Add a paper and remove those it replaces in one transaction.

        Raises RagScienceError for vectors that are not unit rows of the library's dimension, for a path or MD5 that
        another paper has, and where a write fails.
        """
        root = self._database.root

        def act(change: Change) -> int:
            listing, dimension = change.before.listing, change.state.dimension
            check_vectors(new.vectors, len(new.chunks), dimension)
            for row in (listing.by_md5.get(new.md5), listing.by_path.get(path_within(root, new.path))):
                if row is not None and row.paper_id not in new.replaces:
                    raise already_there(path_from(root, row.path))
            change.remove(new.replaces)
            change.note(version=change.state.version + 1)
            return change.insert(new)

        return self.papers([self._database.changed(act)])[0]

    def remove_papers(self, ids: Sequence[int]) -> None:
        """Remove papers with their passages and vectors; unknown ids are ignored."""

        def act(change: Change) -> None:
            if change.remove(ids):
                change.note(version=change.state.version + 1)

        self._database.changed(act)

    def rename_papers(self, moves: Sequence[tuple[int, str, int]]) -> None:
        """Give each (paper id, path, mtime in ns) its new path, in one transaction: two files may have changed places.

        A paper that is not among the moves but whose path is taken is removed: its bytes are no longer there.
        """

        def act(change: Change) -> None:
            known, rows = change.before.listing.rows, []
            for paper_id, path, modified_ns in moves:
                fields = {**json.loads(known[paper_id].content), "modified_ns": modified_ns}
                content = storable(json.dumps(fields, ensure_ascii=False)).encode()
                rows.append(replace(known[paper_id], path=path_within(self._database.root, path), content=content))
            paths, moved = {row.path for row in rows}, {row.paper_id for row in rows}
            change.remove([row.paper_id for row in known.values() if row.path in paths and row.paper_id not in moved])
            change.rename(rows)
            change.note(version=change.state.version + 1)

        self._database.changed(act)

    def fingerprints(self) -> list[Fingerprint]:
        """The fingerprint of each paper, by file; `Fingerprint.paper` is `Paper.file`."""
        found = []
        with self._database.now() as at:
            sketches = dict(at.parts("sketch"))
            for paper in self.papers():
                hashes = np.frombuffer(sketches.get(paper.paper_id, bytes(8)), "<u8")
                known = fingerprint_of(paper.file, "", paper.metadata, paper.modified_ns)
                pages = self.contents(paper.paper_id).pages if paper.warnings else ()  # without one, it lacks nothing
                is_damaged = REPAIRED_FILE in paper.warnings or any(one.warning.startswith(LOST_PAGE) for one in pages)
                empty = sum(page.start == page.end for page in pages)
                known = replace(known, shingles=int(hashes[0]), sketch=hashes[1:])
                found.append(replace(known, is_damaged=is_damaged, empty_pages=empty))
        return found

    # Contents

    def contents(self, paper_id: int) -> PaperContents:
        """The pages and elements of a paper; none for an unknown paper, or where they are damaged."""
        with self._database.now() as at:
            if paper_id not in at.listing.rows:
                return PaperContents()
            for _, packed in at.parts("contents", [paper_id]):
                with suppress(ValueError, TypeError, zlib.error):  # LanceDB keeps no checksums
                    return self._unpacked(packed)
                at.damage.note("paper", paper_id)
            file = at.listing.file(at.listing.rows[paper_id])
            return PaperContents(damage=(f"The pages of {file} are damaged in the library.", rebuilds(file)))

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The passages in the order of `ids`; missing ones are left out."""
        with self._database.now() as at:
            return at.chunks(ids)

    def paper_chunks(self, paper_id: int, *, notes: bool = False) -> list[StoredChunk]:
        """The passages of a paper, in order; with `notes` also what its reader marked and wrote."""
        with self._database.now() as at:
            row = at.listing.rows.get(paper_id)
            found = self.chunks(range(row.first_chunk, row.first_chunk + row.chunks)) if row is not None else []
        return [chunk for chunk in found if notes or chunk.kind != NOTE]

    def texts(self, batch: int) -> Iterator[tuple[list[int], list[str]]]:
        """(ids, search texts) of all passages, ascending, `batch` at a time.

        Not a snapshot unless it runs inside one.
        """
        with self._database.now() as at:
            ids: list[int] = at.listing.chunk_ids.tolist()
        for first in range(0, len(ids), batch):
            with self._database.now() as at:
                found = dict(at.texts(ids[first : first + batch]))
            if found:
                yield list(found), list(found.values())

    def noted(self, kind: str) -> dict[str, str]:
        """The small texts of a kind, by their keys."""
        with self._database.now() as at:
            return at.notes(kind)

    def note(self, kind: str, texts: Mapping[str, str | None]) -> None:
        """Keep small texts of a kind by their keys; None forgets one."""
        if texts:
            self._database.changed(lambda change: change.put_notes(kind, texts))

    # Upkeep

    @abstractmethod
    def refresh_indexes(self, *, anew: bool = False) -> None:
        """Bring the indexes on disk up to date, or make them anew. Raises RagScienceError where a write fails."""

    def damage(self) -> tuple[str, ...]:
        """What was seen to be damaged, a sentence with its remedy each."""
        return tuple(f"{what} {fix}" for what, fix in self._damage())

    def _damage(self) -> list[tuple[str, str]]:
        if self._database.damage.is_none:
            return []
        with self._database.now() as at:
            names = {one: at.listing.file(row) for one, row in at.listing.rows.items()}
        return described(self._database.damage, names)

    def verify(self) -> list[tuple[str, str]]:
        """(what is damaged, what repairs it), after every row was read; linear in the bytes of the database.

        Raises LibraryDamaged where the database is damaged as a whole.
        """
        with self._database.now() as at:
            self.vectors.of()
            self.tokens.missing()
            self.graph.rows()
            self.sources.all()
            at.notes("removed")
            for part in ("outline", "sketch"):
                list(at.parts(part))
            for paper_id in at.listing.rows:
                pages = self.contents(paper_id)
                for chunk in self.paper_chunks(paper_id, notes=True):
                    if pages.damage is None and not pages.has(chunk.text, chunk.start):
                        at.damage.note("paper", paper_id)
            return self._damage()


def known_files(library: Store) -> dict[str, tuple[int, int, str, int]]:
    """Full path of each paper's file: (size in bytes, mtime in ns, MD5, paper id)."""
    return {one.path: (one.size_bytes, one.modified_ns, one.md5, one.paper_id) for one in library.papers()}


def require_identity(library: Store, embedder: EmbedderIdentity, chunker: str | None = None) -> None:
    """Raise LibraryUnavailable, naming the command that fixes it, unless these made the library.

    What is None, here or there, is not compared.
    """
    about = library.about
    if about.embedder not in (None, embedder):
        raise _other_embedder(about.embedder, embedder)
    if chunker and about.chunker and chunker != about.chunker:
        parts = about.chunker.split("; "), chunker.split("; ")
        was, now = ("; ".join(part for part in one if part not in parts[0] or part not in parts[1]) for one in parts)
        fix = "`python ingest.py rebuild` reads all of them again; or restore chunk_size and chunk_overlap."
        raise LibraryUnavailable(f"The library's papers were read or cut with {was}, not {now}.", fix)


def _other_embedder(present: EmbedderIdentity | None, wanted: EmbedderIdentity) -> LibraryUnavailable:
    called, asked = (
        f"{one.provider} {one.model} ({one.digest[:12]}, {one.dimension} dimensions)" if one else "nothing"
        for one in (present, wanted)
    )
    fix = "`python ingest.py rebuild --embeddings` rebuilds them; or restore the embedder setting."
    return LibraryUnavailable(f"The library's vectors were made by {called}, not {asked}.", fix)


def keyword_scores(library: Store, text: str, ids: Sequence[int] | Ids) -> Scores:
    """The BM25 score of each passage of `ids` for `text`, float64, shape (len(ids),); 0 where no word of it matches."""
    terms = tokenize(text)
    if not terms or not len(ids):
        return np.zeros(len(ids), np.float64)
    numbers = [int(one) for one in ids]
    with library.snapshot():
        found = {chunk.chunk_id: tokenize(chunk.searched) for chunk in library.chunks(numbers)}
        return bm25(terms, [found.get(one, []) for one in numbers], library.keywords.frequencies(terms))
