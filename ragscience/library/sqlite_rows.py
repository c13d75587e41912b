"""A library's rows in SQLite: what a thread reads of them at one version, and how a change writes them."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ragscience.core.errors import LibraryDamaged, RagScienceError
from ragscience.core.serialization import storable
from ragscience.library.database import Transactions
from ragscience.library.keyword_index import add_terms, remove_terms
from ragscience.library.paper_contents import NewPaper, parts_of, passage_rows, row_of
from ragscience.library.paper_rows import FileSource, Listing, PaperRow, source_from
from ragscience.library.sealed_rows import (
    CHECKSUM_BYTES,
    LIST_DAMAGED,
    Damage,
    State,
    checksum_of,
    opened,
    read_state,
    sealed,
    write_state,
)
from ragscience.library.snapshots import Change, Snapshot
from ragscience.library.tables import text_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


T = TypeVar("T")
_KEPT = 3
"""Listings that stay in memory: threads that began before a change still read the older one."""
_HASHES = 4096
"""In one query."""


def read_listing(db: sqlite3.Connection, state: State, root: str) -> Listing:
    """The papers; damaged rows are left out. Raises LibraryDamaged where a row is lost."""
    query = "SELECT paper_id, path, md5, first_chunk, chunks, reference_lists, row FROM papers ORDER BY first_chunk"
    found, damaged, total = [], [], 0
    for *key, row in db.execute(query):
        content = opened(tuple(key), row)
        if content is None:
            damaged.append(key[0])
            continue
        total += checksum_of(row)
        found.append(PaperRow(*(*key, content)))
    counted = len(found), sum(row.chunks for row in found), total
    is_whole = counted == (state.papers, state.chunks, state.papers_sum)
    if not is_whole and not (damaged and len(found) + len(damaged) == state.papers):
        raise LibraryDamaged(*LIST_DAMAGED)
    return Listing(found, root, damaged)


def read_notes(db: sqlite3.Connection, kind: str, damage: Damage) -> dict[str, str]:
    """The texts of a kind, by their keys; damaged ones are noted and left out."""
    found = {}
    for key, row in db.execute("SELECT key, row FROM notes WHERE kind = ?", (kind,)):
        content = opened((kind, key), row)
        if content is None:
            damage.note("note")
        else:
            found[key] = content.decode()
    return found


def read_sources(db: sqlite3.Connection, md5s: Iterable[str] | None, damage: Damage) -> list[FileSource]:
    """The sources of these files, or of all, by MD5; damaged rows are noted and left out."""
    where, values = "", []
    if md5s is not None:
        where, values = "WHERE md5 IN (SELECT value FROM json_each(?))", [json.dumps(list(md5s))]
    found = []
    for md5, row in db.execute(f"SELECT md5, row FROM sources {where} ORDER BY md5", values):  # noqa: S608  # ours
        content = opened(("source", md5), row)
        if content is None:
            damage.note("source")
        else:
            found.append(source_from(md5, content))
    return found


class SqlSnapshot(Snapshot):
    """The database in a transaction."""

    state: State

    def __init__(self, db: sqlite3.Connection, state: State, database: SqlDatabase) -> None:
        self.db, self.state, self.damage = db, state, database.damage
        self._database = database

    @cached_property  # other threads may push this version's out of the database's few
    def listing(self) -> Listing:
        """The papers. Raises LibraryDamaged where some are lost."""
        return self._database.listing(self.db, self.state)

    def rows_of(self, ids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """As `Snapshot.rows_of`."""
        query = "SELECT chunk_id, row FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id"
        for chunk_id, row in self.db.execute(query, (json.dumps(ids),)):
            content = opened(("chunk", chunk_id), row)
            if content is not None:
                yield chunk_id, content

    def parts(self, part: str, paper_ids: Collection[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """As `Snapshot.parts`."""
        ids = self.listing.rows.keys() if paper_ids is None else self.listing.rows.keys() & set(paper_ids)
        for paper_id in sorted(ids):
            query = "SELECT row FROM parts WHERE part = ? AND paper_id = ?"
            row = self.db.execute(query, (part, paper_id)).fetchone()
            content = opened((part, paper_id), row[0]) if row else None
            if content:
                yield paper_id, content
            else:
                self.damage.note("paper", paper_id)

    def vectors_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """As `Snapshot.vectors_of`. Raises RagScienceError where one has another dimension."""
        import numpy as np

        query = (
            "SELECT chunk_id, text_hash, row FROM vectors WHERE chunk_id IN (SELECT value FROM json_each(?))"
            " ORDER BY chunk_id"
        )
        intact = {}
        for chunk_id, key, row in self.db.execute(query, (json.dumps(ids.tolist()),)):
            content = opened(("vector", chunk_id, key), row)
            if content is not None:
                intact[chunk_id] = content
        data, dimension = b"".join(intact.values()), self.state.dimension
        if len(data) != 4 * dimension * len(intact):
            raise RagScienceError(
                f"Some stored vectors are not of dimension {dimension}.",
                "Rebuild them with `python ingest.py rebuild --embeddings`.",
            )
        return np.array([*intact], np.int64), np.frombuffer(data, "<f4").reshape(len(intact), dimension)

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """As `Snapshot.by_hash`."""
        import numpy as np

        found: dict[bytes, NDArray[np.float32]] = {}
        for first in range(0, len(hashes), _HASHES):
            some = hashes[first : first + _HASHES]
            marks = ",".join("?" * len(some))
            query = f"SELECT chunk_id, text_hash, row FROM vectors WHERE text_hash IN ({marks})"  # noqa: S608  # marks
            for chunk_id, key, row in self.db.execute(query, some):
                content = opened(("vector", chunk_id, key), row)
                if content is not None:
                    found[key] = np.frombuffer(content, "<f4").astype(np.float32)
        return found

    def notes(self, kind: str) -> dict[str, str]:
        """As `Snapshot.notes`."""
        return read_notes(self.db, kind, self.damage)

    def sources(self, md5s: Collection[str] | None = None) -> list[FileSource]:
        """As `Snapshot.sources`."""
        return read_sources(self.db, md5s, self.damage)

    def graph_made(self) -> Iterator[tuple[int, str, str]]:
        """As `Snapshot.graph_made`."""
        yield from self.db.execute("SELECT chunk_id, extractor, version FROM graph_passages")

    def graph_rows(self) -> Iterator[tuple[int, str, str]]:
        """As `Snapshot.graph_rows`."""
        query = "SELECT chunk_id, extractor, version, row FROM graph_passages ORDER BY chunk_id, extractor"
        for chunk_id, extractor, version, row in self.db.execute(query):
            content = opened(("graph", chunk_id, extractor, version), row)
            if content is None:
                self.damage.note("graph")
            else:
                yield chunk_id, extractor, content.decode()

    def tokens(self, ids: Sequence[int]) -> tuple[dict[int, bytes], list[int]]:
        """(the codes of the passages that have intact ones, the passages of which none are kept); notes the others."""
        query = (
            "SELECT chunk_id, text_hash, tokens.row FROM vectors LEFT JOIN tokens USING (text_hash)"
            " WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id"
        )
        found, unkept = {}, []
        for chunk_id, key, row in self.db.execute(query, (json.dumps([int(one) for one in ids]),)):
            content = opened(("token", key), row)
            if content is None:
                self.damage.note("token", chunk_id)
            elif content:
                found[chunk_id] = content
            else:
                unkept.append(chunk_id)
        return found, unkept


class SqlChange(Change):
    """A change of the database, in its transaction."""

    before: SqlSnapshot
    state: State

    def __init__(self, before: SqlSnapshot, root: str) -> None:
        self.before, self.state, self.db = before, before.state, before.db
        self.listing: Listing | None = None
        """The papers after it, where that is known without reading them."""
        self._root = root
        self._removed: list[int] = []
        self._left: set[bytes] = set()
        """Hashes of texts that passages left."""

    def _count(self, paper: PaperRow, row: bytes, sign: int) -> None:
        """Count a paper in, or out with a sign of -1."""
        self.note(
            papers=self.state.papers + sign,
            chunks=self.state.chunks + sign * paper.chunks,
            papers_sum=self.state.papers_sum + sign * checksum_of(row),
        )

    def _write(self, paper: PaperRow) -> None:
        """Write the columns of a paper that depend on each other."""
        row = sealed(paper.key, paper.content)
        self.db.execute(
            "UPDATE papers SET path = ?, reference_lists = ?, row = ? WHERE paper_id = ?",
            (paper.path, paper.reference_lists, row, paper.paper_id),
        )
        self._count(paper, row, 1)

    def _row(self, paper: PaperRow) -> bytes:
        """The sealed row of a paper."""
        found: bytes = self.db.execute("SELECT row FROM papers WHERE paper_id = ?", (paper.paper_id,)).fetchone()[0]
        return found

    def insert(self, new: NewPaper) -> int:
        """As `Change.insert`."""
        db, first, count = self.db, self.state.next_chunk, len(new.chunks)
        place = db.execute("SELECT COALESCE(MAX(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'papers'").fetchone()[0]
        paper = row_of(new, place, first, self._root)
        db.execute("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, x'')", paper.key)
        self._write(paper)
        db.executemany(
            "INSERT INTO parts VALUES (?, ?, ?)",
            ((part, place, sealed((part, place), content)) for part, content in parts_of(new).items()),
        )
        rows = enumerate(passage_rows(new), first)
        db.executemany(
            "INSERT INTO chunks VALUES (?, ?)", ((one, sealed(("chunk", one), row.encode())) for one, row in rows)
        )
        hashes = list(new.hashes or [text_hash(chunk.searched) for chunk in new.chunks])
        self._put_vectors(zip(range(first, first + count), hashes, new.vectors, strict=True))
        self.put_tokens(new.tokens or {})
        db.executemany(
            "INSERT OR IGNORE INTO tokens VALUES (?, ?)", ((key, sealed(("token", key), b"")) for key in hashes)
        )
        terms = add_terms(db, ((first + place, chunk.searched) for place, chunk in enumerate(new.chunks)))
        self.note(next_chunk=first + count, terms=self.state.terms + terms)
        self.listing = self.before.listing.changed(self._removed, paper)
        return paper.paper_id

    def remove(self, paper_ids: Collection[int]) -> int:
        """As `Change.remove`; to be done before all else."""
        db, known = self.db, self.before.listing.rows
        self._removed = [one for one in dict.fromkeys(paper_ids) if one in known]
        for paper in map(known.__getitem__, self._removed):
            texts = self.before.texts(range(paper.first_chunk, paper.first_chunk + paper.chunks))
            self.note(terms=self.state.terms - remove_terms(db, texts))
            query = "SELECT text_hash FROM vectors WHERE chunk_id BETWEEN ? AND ?"
            self._left.update(key for (key,) in db.execute(query, paper.span))
            for table in ("chunks", "vectors"):
                db.execute(f"DELETE FROM {table} WHERE chunk_id BETWEEN ? AND ?", paper.span)  # noqa: S608  # ours
            if db.execute("DELETE FROM graph_passages WHERE chunk_id BETWEEN ? AND ?", paper.span).rowcount:
                self.note(graph_version=self.state.graph_version + 1)
            db.execute(
                "DELETE FROM parts WHERE paper_id = ? AND part IN ('contents', 'outline', 'sketch')", (paper.paper_id,)
            )
            self._count(paper, self._row(paper), -1)
            db.execute("DELETE FROM papers WHERE paper_id = ?", (paper.paper_id,))
        return len(self._removed)

    def rename(self, rows: Sequence[PaperRow]) -> None:
        """As `Change.rename`."""
        for paper in rows:
            self._count(paper, self._row(paper), -1)
            moving = b"\0moving %d" % paper.paper_id
            self.db.execute("UPDATE papers SET path = ? WHERE paper_id = ?", (moving, paper.paper_id))
        for paper in rows:
            self._write(paper)

    def begin_vectors(self, dimension: int) -> None:
        """As `Change.begin_vectors`."""
        del dimension
        self.note(vectors_epoch=self.state.vectors_epoch + 1)

    def put_vectors(
        self, ids: Sequence[int], vectors: NDArray[np.float32], tokens: Mapping[bytes, NDArray[np.uint8]]
    ) -> None:
        """As `Change.put_vectors`."""
        query = "SELECT chunk_id, text_hash FROM vectors WHERE chunk_id IN (SELECT value FROM json_each(?))"
        known = dict(self.db.execute(query, (json.dumps(ids),)))
        self._put_vectors((one, known[one], row) for one, row in zip(ids, vectors, strict=True))
        self.put_tokens(tokens)

    def _put_vectors(self, rows: Iterable[tuple[int, bytes, NDArray[np.float32]]]) -> None:
        self.db.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
            ((one, key, sealed(("vector", one, key), row.astype("<f4").tobytes())) for one, key, row in rows),
        )

    def put_tokens(self, tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
        """Keep the token vectors of texts."""
        query = "SELECT LENGTH(row) FROM tokens WHERE text_hash = ?"
        for key, codes in tokens.items():
            (size,) = self.db.execute(query, (key,)).fetchone() or (CHECKSUM_BYTES,)
            row = sealed(("token", key), codes.tobytes())
            self.db.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?)", (key, row))
            self.note(token_bytes=self.state.token_bytes + len(row) - size)

    def put_notes(self, kind: str, texts: Mapping[str, str | None]) -> None:
        """As `Change.put_notes`."""
        for key, text in texts.items():
            if text is None:
                self.db.execute("DELETE FROM notes WHERE kind = ? AND key = ?", (kind, key))
            else:
                row = sealed((kind, key), storable(text).encode())
                self.db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (kind, key, row))

    def put_source(self, md5: str, content: str) -> None:
        """As `Change.put_source`."""
        row = sealed(("source", md5), content.encode())
        self.db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?)", (md5, row))

    def put_graph(self, extractor: str, version: str, texts: Mapping[int, str]) -> None:
        """As `Change.put_graph`."""
        rows = (
            (one, extractor, version, sealed(("graph", one, extractor, version), text.encode()))
            for one, text in texts.items()
        )
        self.db.executemany("INSERT OR REPLACE INTO graph_passages VALUES (?, ?, ?, ?)", rows)

    def delete_graph(self, extractor: str | None) -> int:
        """As `Change.delete_graph`."""
        if extractor is None:
            return self.db.execute("DELETE FROM graph_passages").rowcount
        return self.db.execute("DELETE FROM graph_passages WHERE extractor = ?", (extractor,)).rowcount

    def finish(self) -> None:
        """Delete the token vectors of texts that no passage has any more, and write the state."""
        for key in self._left:
            where = "text_hash = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE text_hash = tokens.text_hash)"
            row = self.db.execute(f"DELETE FROM tokens WHERE {where} RETURNING LENGTH(row)", (key,)).fetchone()  # noqa: S608
            self.note(token_bytes=self.state.token_bytes - (row[0] - CHECKSUM_BYTES if row else 0))
        if self.state != self.before.state:
            write_state(self.db, self.state)


class SqlDatabase(Transactions):
    """A home's database, for many threads."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.damage = Damage()
        self.root = os.path.abspath(self._home.root)  # noqa: PTH100  # a link keeps its own name
        self._listings: dict[tuple[str, int], Listing] = {}

    @contextmanager
    def now(self) -> Iterator[SqlSnapshot | None]:
        """The library as this thread's transaction sees it; None if there is no library (yet). Raises LibraryDamaged.

        In a change it is the library before it, and not to be read once the change has written.
        """
        with self.reading() as db:
            yield SqlSnapshot(db, read_state(db), self) if db is not None else None

    def changed(self, act: Callable[[SqlChange], T]) -> T:
        """What `act` gives for a change, which is committed after it."""
        with self.writing() as db:
            change = SqlChange(SqlSnapshot(db, read_state(db), self), self.root)
            _ = change.before.listing  # as it was before the change
            result = act(change)
            change.finish()
        if change.listing is not None:
            self._keep(change.state, change.listing)
        return result

    def listing(self, db: sqlite3.Connection, state: State) -> Listing:
        """The papers of that version. Damaged ones are left out by readers; a writer refuses them."""
        listing = self._listings.get((state.library_id, state.version))
        if listing is None:
            listing = read_listing(db, state, self.root)
            if listing.damaged and self.may_write:
                raise LibraryDamaged(*LIST_DAMAGED)
            for paper_id in listing.damaged:
                self.damage.note("list", paper_id)
            self._keep(state, listing)
        return listing

    def _keep(self, state: State, listing: Listing) -> None:
        key = state.library_id, state.version
        self._listings = dict([*self._listings.items(), (key, listing)][-_KEPT:])
