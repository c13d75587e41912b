"""A library in LanceDB, in a folder or in object storage: `Store` with its tables, searches and versions."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from ragscience.core.errors import DiskProblem, LibraryBusy, LibraryUnavailable, RagScienceError
from ragscience.core.records import LOST_PAGE, REPAIRED_FILE, EmbedderIdentity, Paper, StoredChunk
from ragscience.core.serialization import storable
from ragscience.core.tokenizing import TOKENIZER_VERSION, tokenize
from ragscience.library.damage import rebuilds
from ragscience.library.database import listed_files
from ragscience.library.database_repair import DamagedDatabase
from ragscience.library.filter_selection import Selecting
from ragscience.library.home import Home
from ragscience.library.lance_database import Change, LanceDatabase
from ragscience.library.lance_rows import LanceGraph, LanceSources, write_notes
from ragscience.library.lance_searches import (
    LanceDense,
    LanceKeywords,
    LanceTokens,
    LanceVectors,
    add_passages,
    kept_tokens,
)
from ragscience.library.lance_snapshots import LanceSnapshot
from ragscience.library.lance_tables import among
from ragscience.library.ledger import Ledger, LedgerState
from ragscience.library.library_writes import NewPaper, already_there, parts_of, passage_rows, row_of
from ragscience.library.paper_contents import PaperContents
from ragscience.library.paper_rows import path_from, path_within, texts_of
from ragscience.library.similarity import Fingerprint, fingerprint_of, sharing_text
from ragscience.library.store_protocol import About, Store, other_embedder
from ragscience.library.vectors import check_vectors, text_hash

__all__ = ["LanceLibrary", "open_lance", "put_lance_aside"]

_CONTENTS_KEPT = 32
_INDEXED_FROM = 100_000
"""So many vectors get Lance's index: fewer are compared one by one, in at most 50 ms."""
_TABLES = ("papers", "graph", "notes", "passages")


def open_lance(home: Home, uri: str, *, writing: bool, keeps_ledger: bool) -> Store:
    """The library at a URI of LanceDB's. Raises LibraryBusy, UsageError without the package, RagScienceError."""
    return LanceLibrary(home, uri, writing=writing, keeps_ledger=keeps_ledger)


class LanceLibrary:
    """A library in LanceDB, opened for reading or for writing; thread-safe. `Library` says what its methods do."""

    def __init__(self, home: Home, uri: str, *, writing: bool, keeps_ledger: bool = True) -> None:
        self.home = home
        self._database = database = LanceDatabase(home, uri, writing=writing)
        self._ledger = Ledger(home.ledger, self.papers, self._ledger_state) if writing and keeps_ledger else None
        selecting = Selecting(database)
        self.select, self.section_names = selecting.select, selecting.section_names
        self.dense, self.keywords = LanceDense(database), LanceKeywords(database)
        self.vectors, self.tokens = LanceVectors(database), LanceTokens(database)
        self.graph, self.sources = LanceGraph(database), LanceSources(database)
        self._unpacked = lru_cache(_CONTENTS_KEPT)(PaperContents.unpack)
        self._damaged: dict[int, tuple[str, str]] = {}
        try:
            if self._ledger is not None:
                self._ledger.write()
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """As `Library.close`."""
        try:
            if self._database.may_write and self._ledger is not None:
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
        """All reads inside see one version."""
        with self._database.now():
            yield

    @property
    def about(self) -> About:
        """What the library is and how large."""
        with self._database.now() as at:
            if at is None:
                return About()
            state = at.state
        return About(state.library_id, state.version, state.embedder, state.chunker, state.papers, state.chunks)

    def _ledger_state(self) -> LedgerState:
        about = self.about
        return LedgerState(about.library_id, about.version, str(self.home.root.absolute()), about.papers)

    def _note_changes(self, papers: int) -> None:
        if self._ledger is not None:
            self._ledger.note_changes(papers)

    def set_identity(self, embedder: EmbedderIdentity, chunker: str) -> None:
        """As `Library.set_identity`."""

        def act(change: Change) -> None:
            state = change.state
            if (state.embedder, state.chunker) == (embedder, chunker):
                return
            if state.embedder not in (None, embedder) and state.papers:
                raise other_embedder(state.embedder, embedder)
            if state.dimension != embedder.dimension:
                change.new_table("passages", embedder.dimension)
            change.note(embedder=embedder, chunker=chunker, version=state.version + 1)

        self._database.changed(act)

    # Papers

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """As `Library.papers`."""
        with self._database.now() as at:
            return at.papers(ids) if at is not None else []

    def paper(self, *, md5: str = "", path: str = "") -> Paper | None:
        """As `Library.paper`."""
        with self._database.now() as at:
            if at is None:
                return None
            by_path, by_md5 = at.listing.by_path, at.listing.by_md5
            row = by_path.get(path_within(self._database.root, path)) if path else by_md5.get(md5)
            return self.papers([row.paper_id])[0] if row is not None else None

    def add_paper(self, new: NewPaper) -> Paper:
        """As `Library.add_paper`."""

        def act(change: Change) -> int:
            at = change.before
            if not at.state.dimension:
                raise RagScienceError("The library does not know its embedder yet.", "Set its identity first.")
            check_vectors(new.vectors, len(new.chunks), at.state.dimension)
            path = path_within(self._database.root, new.path)
            for row in at.listing.rows.values():
                if (row.md5 == new.md5 or row.path == path) and row.paper_id not in new.replaces:
                    raise already_there(path_from(self._database.root, row.path))
            hashes = list(new.hashes or [text_hash(chunk.searched) for chunk in new.chunks])
            kept = dict(kept_tokens(at, hashes))
            _remove(change, new.replaces)
            return self._insert(change, new, hashes, kept)

        paper_id = self._database.changed(act)
        self._note_changes(1)
        return self.papers([paper_id])[0]

    def _insert(self, change: Change, new: NewPaper, hashes: list[bytes], kept: Mapping[bytes, bytes]) -> int:
        state = change.state
        first, count = state.next_chunk, len(new.chunks)
        paper = row_of(new, state.next_paper, first, self._database.root)
        terms = [tokenize(chunk.searched) for chunk in new.chunks]
        passages = {
            "chunk_id": [*range(first, first + count)],
            "paper_id": [paper.paper_id] * count,
            "row": [*passage_rows(new)],
            "terms": [" ".join(one) for one in terms],
            "text_hash": hashes,
            "tokens": [kept.get(key, b"") for key in hashes],
            "vector": new.vectors,
        }
        if count:
            add_passages(change, passages, new.tokens or {})
        values = (*paper.key, paper.content)
        names = ("paper_id", "path", "md5", "first_chunk", "chunks", "reference_lists", "row")
        change.add(
            "papers", {name: [value] for name, value in (*zip(names, values, strict=True), *parts_of(new).items())}
        )
        change.note(
            next_paper=paper.paper_id + 1,
            next_chunk=first + count,
            papers=state.papers + 1,
            chunks=state.chunks + count,
            terms=state.terms + sum(map(len, terms)),
            version=state.version + 1,
        )
        return paper.paper_id

    def remove_papers(self, ids: Sequence[int]) -> None:
        """As `Library.remove_papers`."""

        def act(change: Change) -> int:
            removed = _remove(change, ids)
            if removed:
                change.note(version=change.state.version + 1)
            return removed

        self._note_changes(self._database.changed(act))

    def rename_papers(self, moves: Sequence[tuple[int, str, int]]) -> None:
        """As `Library.rename_papers`."""

        def act(change: Change) -> None:
            known, root = change.before.listing.rows, self._database.root
            to = {int(one): (path_within(root, path), modified_ns) for one, path, modified_ns in moves}
            for one in to.keys() - known.keys():
                raise RagScienceError(f"The library has no paper with the id {one}.", "Run `python ingest.py sync`.")
            paths = {path for path, _ in to.values()}
            _remove(change, [row.paper_id for row in known.values() if row.path in paths and row.paper_id not in to])
            where = among("paper_id", to)
            rows = change.before.rows("papers", change.before.table("papers").schema.names, where).to_pylist()
            for row in rows:
                row["path"], modified_ns = to[row["paper_id"]]
                row["row"] = json.dumps({**json.loads(row["row"]), "modified_ns": modified_ns}, ensure_ascii=False)
                row["row"] = storable(row["row"]).encode()
            if rows:
                change.delete("papers", where)
                change.add("papers", {name: [row[name] for row in rows] for name in rows[0]})
            change.note(version=change.state.version + 1)

        self._database.changed(act)
        self._note_changes(len(moves))

    def fingerprints(self, ids: Sequence[int] | None = None) -> list[Fingerprint]:
        """As `Library.fingerprints`."""
        found = []
        with self._database.now() as at:
            papers = self.papers(ids)
            sketches = self._sketches(at, [paper.paper_id for paper in papers])
            for paper in papers:
                shingles, *hashes = struct.unpack(f"<{len(sketches[paper.paper_id]) // 8}Q", sketches[paper.paper_id])
                known = fingerprint_of(paper.file, "", paper.metadata, paper.modified_ns)
                pages = self.contents(paper.paper_id).pages if paper.warnings else ()  # without one, it lacks nothing
                lost = any(page.warning.startswith(LOST_PAGE) for page in pages)
                found.append(
                    replace(
                        known,
                        shingles=shingles,
                        sketch=tuple(hashes),
                        is_damaged=REPAIRED_FILE in paper.warnings or lost,
                        empty_pages=sum(page.start == page.end for page in pages),
                    )
                )
        return found

    @staticmethod
    def _sketches(at: LanceSnapshot | None, ids: Sequence[int] | None) -> dict[int, bytes]:
        if at is None or ids == []:
            return {}
        found = at.rows("papers", ["paper_id", "sketch"], among("paper_id", ids) if ids is not None else "")
        return dict(zip(found["paper_id"].to_pylist(), found["sketch"].to_pylist(), strict=True))

    def papers_sharing_text(self, with_: Sequence[Fingerprint]) -> list[int]:
        """As `Library.papers_sharing_text`."""
        with self._database.now() as at:
            return list(sharing_text(iter(self._sketches(at, None).items()), with_))

    # Contents

    def contents(self, paper_id: int) -> PaperContents:
        """As `Library.contents`."""
        with self._database.now() as at:
            row = at.listing.rows.get(paper_id) if at is not None else None
            if at is None or row is None:
                return PaperContents()
            try:
                (packed,) = at.rows("papers", ["contents"], among("paper_id", [paper_id]))["contents"].to_pylist()
                return self._unpacked(packed)
            except (ValueError, TypeError, zlib.error):
                file = at.listing.file(row)
                self._damaged[paper_id] = f"The pages of {file} are damaged in the library.", rebuilds(file)
                return PaperContents(damage=self._damaged[paper_id])

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """As `Library.chunks`."""
        with self._database.now() as at:
            return at.listing.chunks(ids, at.read_passages(ids)) if at is not None else []

    def paper_chunks(self, paper_id: int) -> list[StoredChunk]:
        """As `Library.paper_chunks`."""
        with self._database.now() as at:
            row = at.listing.rows.get(paper_id) if at is not None else None
            return self.chunks(range(row.first_chunk, row.first_chunk + row.chunks)) if row else []

    def texts(self, batch: int) -> Iterator[tuple[list[int], list[str]]]:
        """As `Library.texts`."""
        with self._database.now() as at:
            ids: list[int] = at.listing.chunk_ids.tolist() if at is not None else []
        for first in range(0, len(ids), batch):
            with self._database.now() as at:
                found = dict(texts_of(at.read_passages(ids[first : first + batch]))) if at is not None else {}
            if found:
                yield list(found), list(found.values())

    # Notes

    def noted(self, kind: str) -> dict[str, str]:
        """As `Library.noted`."""
        with self._database.now() as at:
            return at.notes(kind) if at is not None else {}

    def note(self, kind: str, texts: Mapping[str, str | None]) -> None:
        """As `Library.note`."""
        self._database.changed(lambda change: write_notes(change, kind, texts))

    # Upkeep

    def refresh_indexes(self) -> None:
        """Bring Lance's indexes up to date, compact its tables and delete old versions."""
        self._database.tidied(self._optimize)

    def rebuild_indexes(self) -> None:
        """Make Lance's indexes again."""
        self._database.tidied(lambda change: self._optimize(change, anew=True))

    @staticmethod
    def _optimize(change: Change, *, anew: bool = False) -> None:
        at = change.before
        if at.state.chunks and (anew or at.state.tokenizer != TOKENIZER_VERSION):
            change.rewrite_passages(at)
        for role in _TABLES:
            if role in change.state.tables:
                change.optimize(role)
        if at.state.chunks and at.state.mean_idf_at != at.state.version:
            change.note(mean_idf=at.mean_idf, mean_idf_at=at.state.version)
        if at.state.chunks >= _INDEXED_FROM:
            change.index_vectors(anew=anew)

    def damage(self) -> tuple[str, ...]:
        """What was seen to be damaged, a sentence with its remedy each."""
        return tuple(f"{what} {fix}" for what, fix in self._damaged.values())

    def verify(self) -> list[tuple[str, str]]:
        """(what is damaged, what repairs it), after every row was read. Raises RagScienceError where Lance cannot."""
        with self._database.now() as at:
            if at is None:
                return []
            self._damaged = {}
            self.vectors.of()
            self.graph.rows()
            self.sources.all()
            for row in at.listing.rows.values():
                pages, chunks = self.contents(row.paper_id), self.paper_chunks(row.paper_id)
                self.tokens.of(range(row.first_chunk, row.first_chunk + row.chunks))
                is_whole = len(chunks) == row.chunks and all(pages.has(one.text, one.start) for one in chunks)
                if pages.damage is None and not is_whole:
                    file = at.listing.file(row)
                    self._damaged[row.paper_id] = f"{file} is damaged in the library.", rebuilds(file)
            return list(self._damaged.values())


def _remove(change: Change, ids: Sequence[int]) -> int:
    """Remove papers with all their rows; returns how many there were."""
    at, state = change.before, change.state
    rows = [at.listing.rows[one] for one in dict.fromkeys(ids) if one in at.listing.rows]
    if not rows:
        return 0
    where = among("paper_id", [row.paper_id for row in rows])
    spans = " OR ".join(f"chunk_id BETWEEN {row.span[0]} AND {row.span[1]}" for row in rows)
    terms = at.rows("passages", ["terms"], where)["terms"].to_pylist()
    is_read = at.rows("graph", ["chunk_id"], spans).num_rows > 0
    change.delete("papers", where)
    change.delete("passages", where)
    if is_read:
        change.delete("graph", spans)
    change.note(
        papers=state.papers - len(rows),
        chunks=state.chunks - sum(row.chunks for row in rows),
        terms=state.terms - sum(len(one.split()) for one in terms),
        graph_version=state.graph_version + is_read,
    )
    return len(rows)


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
