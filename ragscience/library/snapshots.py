"""What a thread reads of a library at one version: here from SQLite; `LanceSnapshot` reads the same from LanceDB."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import Metadata, Paper, StoredChunk, searched_text
from ragscience.library.dense_index import Ids, Matrix, Stored, marked, shared
from ragscience.library.paper_rows import FileSource, Listing, Outline, PaperRow, source_from
from ragscience.library.sealed_rows import LIST_DAMAGED, Damage, State, checksum_of, opened

T = TypeVar("T")
_HASHES = 4096
"""In one query."""
_BATCH = 4096


def _intact(rows: Iterable[Sequence[Any]], kind: str, on_damage: Callable[[], None] | None = None) -> Iterator[Any]:
    """(the columns of the key, the content) of each row that is what was written; `on_damage` is called for another."""
    for *key, row in rows:
        content = opened((kind, *key), row)
        if content is not None:
            yield key, content
        elif on_damage is not None:
            on_damage()


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


class Snapshot:
    """A library at one version: the database in a transaction. What is damaged is noted and left out."""

    state: State

    def __init__(
        self,
        db: sqlite3.Connection,
        state: State,
        damage: Damage,
        listing: Callable[[sqlite3.Connection, State], Listing],
    ) -> None:
        self.db, self.state, self.damage, self._listing = db, state, damage, listing

    @cached_property  # other threads may push this version's out of the database's few
    def listing(self) -> Listing:
        """The papers. Raises LibraryDamaged where some are lost."""
        return self._listing(self.db, self.state)

    def rows_of(self, ids: Sequence[int]) -> Iterator[tuple[int, bytes | str]]:
        """(id, its fields as JSON) of the passages, ascending, as far as they are intact."""
        query = "SELECT chunk_id, row FROM chunks WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id"
        rows = self.db.execute(query, (json.dumps(ids),))
        yield from ((chunk_id, content) for (chunk_id,), content in _intact(rows, "chunk"))

    def parts(self, part: str, paper_ids: Collection[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """(paper, its "contents", "outline" or "sketch" as packed) of the papers, or of all."""
        ids = self.listing.rows.keys() if paper_ids is None else self.listing.rows.keys() & set(paper_ids)
        for paper_id in sorted(ids):
            query = "SELECT row FROM parts WHERE part = ? AND paper_id = ?"
            row = self.db.execute(query, (part, paper_id)).fetchone()
            content = opened((part, paper_id), row[0]) if row else None
            if content:
                yield paper_id, content
            else:
                self.damage.note("paper", paper_id)

    def vectors_of(self, ids: Ids) -> Stored:
        """(ids, ascending; vectors, one row each) of the passages, as far as they are intact."""
        query = (
            "SELECT chunk_id, text_hash, row FROM vectors WHERE chunk_id IN (SELECT value FROM json_each(?))"
            " ORDER BY chunk_id"
        )
        rows = self.db.execute(query, (json.dumps(ids.tolist()),))
        intact = {chunk_id: content for (chunk_id, _), content in _intact(rows, "vector")}
        vectors = np.frombuffer(b"".join(intact.values()), "<f4").reshape(len(intact), self.state.dimension)
        return np.array([*intact], np.int64), vectors

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, Matrix]:
        """The intact vectors of texts, by their hashes."""
        found: dict[bytes, Matrix] = {}
        for first in range(0, len(hashes), _HASHES):
            some = hashes[first : first + _HASHES]
            marks = ",".join("?" * len(some))
            query = f"SELECT chunk_id, text_hash, row FROM vectors WHERE text_hash IN ({marks})"  # noqa: S608  # marks
            for (_, key), content in _intact(self.db.execute(query, some), "vector"):
                found[key] = np.frombuffer(content, "<f4").astype(np.float32)
        return found

    def notes(self, kind: str) -> dict[str, str]:
        """The small texts of a kind, by their keys; damaged ones are noted and left out."""
        rows = self.db.execute("SELECT key, row FROM notes WHERE kind = ?", (kind,))
        return {key: text.decode() for (key,), text in _intact(rows, kind, lambda: self.damage.note("note"))}

    def sources(self, md5s: Collection[str] | None = None) -> list[FileSource]:
        """The sources of these files, or of all, by MD5; damaged ones are noted and left out."""
        where, values = "", []
        if md5s is not None:
            where, values = "WHERE md5 IN (SELECT value FROM json_each(?))", [json.dumps(list(md5s))]
        rows = self.db.execute(f"SELECT md5, row FROM sources {where} ORDER BY md5", values)  # noqa: S608  # ours
        return [source_from(md5, row) for (md5,), row in _intact(rows, "source", lambda: self.damage.note("source"))]

    def graph_made(self) -> Iterator[tuple[int, str, str]]:
        """(passage, extractor, its version) of each row of the graph."""
        yield from self.db.execute("SELECT chunk_id, extractor, version FROM graph_passages")

    def graph_rows(self) -> Iterator[tuple[int, str, str]]:
        """(passage, extractor, its JSON) of each row of the graph, by passage and extractor."""
        query = "SELECT chunk_id, extractor, version, row FROM graph_passages ORDER BY chunk_id, extractor"
        rows = _intact(self.db.execute(query), "graph", lambda: self.damage.note("graph"))
        yield from ((chunk_id, extractor, content.decode()) for (chunk_id, extractor, _), content in rows)

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

    def token_bytes(self) -> int:
        """The size of all token vectors in bytes; each question asks for it."""
        return self.state.token_bytes

    def without_tokens(self) -> int:
        """How many passages have no token vectors."""
        query = "SELECT COUNT(*) FROM vectors JOIN tokens USING (text_hash) WHERE LENGTH(tokens.row) <= 4"
        return int(self.db.execute(query).fetchone()[0])

    @property
    def version(self) -> int:
        """Grows with each change of papers or vectors."""
        return self.state.version

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file."""

        def known(md5s: list[str] | None) -> Mapping[str, Metadata]:
            return {one.md5: one.metadata for one in self.sources(md5s)}

        return self.listing.papers(ids, known)

    def outlines(self, paper_ids: Collection[int]) -> Iterator[tuple[int, Outline]]:
        """(first passage, outline) of each of the papers, in the order of their passages."""
        found = dict(self.parts("outline", paper_ids))
        for row in self.listing.rows.values():
            if row.paper_id in found:
                yield row.first_chunk, Outline.unpack(found[row.paper_id])

    def read_passages(self, ids: Sequence[int]) -> Iterator[tuple[int, PaperRow, list[Any]]]:
        """(id, paper, the fields) of the passages, ascending."""
        wanted = {int(one): row for one in ids if (row := self.listing.paper_of(int(one))) is not None}
        for chunk_id, content in self.rows_of(sorted(wanted)):
            yield chunk_id, wanted.pop(chunk_id), json.loads(content)
        for row in wanted.values():
            self.damage.note("paper", row.paper_id)

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The passages in the order of `ids`."""
        return self.listing.chunks(ids, self.read_passages(ids))

    def texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        """(id, searched text) of the passages, ascending."""
        for chunk_id, _, fields in self.read_passages(ids):
            yield chunk_id, searched_text(fields[-1], fields[1])

    def vectors(self, ids: Sequence[int] | Ids | None = None) -> Stored:
        """(ids, ascending, int64; vectors, shape (n, dimension), float32) of the passages, or of all."""
        wanted = self.listing.chunk_ids
        if ids is not None:
            wanted = shared(wanted, np.unique(np.asarray(ids, np.int64)))
        found = np.empty(wanted.size, np.int64)
        vectors = np.empty((wanted.size, self.state.dimension), np.float32)
        row = 0
        for first in range(0, wanted.size, _BATCH):
            numbers, rows = self.vectors_of(wanted[first : first + _BATCH])
            found[row : row + numbers.size] = numbers
            vectors[row : row + numbers.size] = rows
            row += numbers.size
        for chunk_id in wanted[~marked(wanted, found[:row])].tolist() if row < wanted.size else ():
            if (paper := self.listing.paper_of(chunk_id)) is not None:
                self.damage.note("paper", paper.paper_id)
        return found[:row], vectors[:row]


class Database(Protocol):
    """What holds a library."""

    root: str
    """The full path of the home."""
    damage: Damage

    @property
    def may_write(self) -> bool:
        """Whether this process holds the lock."""

    def now(self) -> AbstractContextManager[Snapshot]:
        """The library at one version for this thread; empty if there is none (yet). May be nested."""

    def changed(self, act: Callable[[Any], T]) -> T:
        """What `act` gives for a `Change`, which is committed after it."""

    def close(self) -> None:
        """Release the files and the lock."""
