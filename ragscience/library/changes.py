"""Changes of a library in SQLite, and its database for many threads."""

import json
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from ragscience.core.errors import LibraryDamaged
from ragscience.core.serialization import storable
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library import sealed_rows
from ragscience.library.database import Transactions
from ragscience.library.dense_index import Codes, Matrix
from ragscience.library.keywords import add_terms, mean_idf, remove_terms, sum_of
from ragscience.library.paper_contents import NewPaper, parts_of, passage_rows, row_of, text_hash
from ragscience.library.paper_rows import Listing, PaperRow
from ragscience.library.sealed_rows import Damage, State, sealed
from ragscience.library.snapshots import Snapshot, read_listing

T = TypeVar("T")
_BATCH = 4096
_KEPT = 3
"""Listings that stay in memory: threads that began before a change still read the older one."""


class Change:
    """Changes of a library that are committed together, or not at all: of the database, in its transaction."""

    def __init__(self, before: Snapshot, root: str) -> None:
        self.before = before
        """The library as it was."""
        self.state = before.state
        """What the library says of itself from then on."""
        self.db = before.db
        self.listing: Listing | None = None
        """The papers after it, where that is known without reading them."""
        self._root = root
        self._removed: list[int] = []
        self._left: set[bytes] = set()
        """Hashes of texts that passages left."""

    def note(self, **fields: Any) -> None:
        """Change fields of the state."""
        self.state = replace(self.state, **fields)

    def _count(self, paper: PaperRow, row: bytes, sign: int) -> None:
        """Count a paper in, or out with a sign of -1."""
        self.note(papers=self.state.papers + sign, chunks=self.state.chunks + sign * paper.chunks)
        self.note(papers_sum=self.state.papers_sum + sign * sealed_rows.checksum_of(row))

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
        """Add a paper with its passages, vectors and terms; its id."""
        db, first, count = self.db, self.state.next_chunk, len(new.chunks)
        place = db.execute("SELECT COALESCE(MAX(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'papers'").fetchone()[0]
        paper = row_of(new, place, first, self._root)
        db.execute("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, x'')", paper.key)
        self._write(paper)
        parts = ((part, place, sealed((part, place), content)) for part, content in parts_of(new).items())
        db.executemany("INSERT INTO parts VALUES (?, ?, ?)", parts)
        rows = enumerate(passage_rows(new), first)
        passages = ((one, sealed(("chunk", one), row.encode())) for one, row in rows)
        db.executemany("INSERT INTO chunks VALUES (?, ?)", passages)
        hashes = [text_hash(chunk.searched) for chunk in new.chunks]
        self._put_vectors(zip(range(first, first + count), hashes, new.vectors, strict=True))
        self.put_tokens(new.tokens or {})
        none = ((key, sealed(("token", key), b"")) for key in hashes)
        db.executemany("INSERT OR IGNORE INTO tokens VALUES (?, ?)", none)
        terms = add_terms(db, ((first + place, chunk.searched) for place, chunk in enumerate(new.chunks)))
        self.note(next_chunk=first + count, terms=self.state.terms + terms)
        self.listing = self.before.listing.changed(self._removed, paper)
        return paper.paper_id

    def remove(self, paper_ids: Collection[int]) -> int:
        """Remove papers with all their rows; how many there were; to be done before all else."""
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
            query = "DELETE FROM parts WHERE part IN ('contents', 'outline', 'sketch') AND paper_id = ?"
            db.execute(query, (paper.paper_id,))
            self._count(paper, self._row(paper), -1)
            db.execute("DELETE FROM papers WHERE paper_id = ?", (paper.paper_id,))
        return len(self._removed)

    def rename(self, rows: Sequence[PaperRow]) -> None:
        """Replace the rows of papers, of which two may have changed paths."""
        for paper in rows:
            self._count(paper, self._row(paper), -1)
            moving = b"\0moving %d" % paper.paper_id
            self.db.execute("UPDATE papers SET path = ? WHERE paper_id = ?", (moving, paper.paper_id))
        for paper in rows:
            self._write(paper)

    def begin_vectors(self, dimension: int) -> None:
        """All passages get new vectors of that dimension."""
        del dimension
        self.note(vectors_epoch=self.state.vectors_epoch + 1)

    def put_vectors(self, ids: Sequence[int], vectors: Matrix, tokens: Mapping[bytes, Codes]) -> None:
        """Replace the vectors of passages; token vectors are by the hash of their text."""
        query = "SELECT chunk_id, text_hash FROM vectors WHERE chunk_id IN (SELECT value FROM json_each(?))"
        known = dict(self.db.execute(query, (json.dumps(ids),)))
        self._put_vectors((one, known[one], row) for one, row in zip(ids, vectors, strict=True))
        self.put_tokens(tokens)

    def _put_vectors(self, rows: Iterable[tuple[int, bytes, Matrix]]) -> None:
        self.db.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
            ((one, key, sealed(("vector", one, key), row.astype("<f4").tobytes())) for one, key, row in rows),
        )

    def put_tokens(self, tokens: Mapping[bytes, Codes]) -> None:
        """Keep the token vectors of texts."""
        query = "SELECT LENGTH(row) FROM tokens WHERE text_hash = ?"
        for key, codes in tokens.items():
            (size,) = self.db.execute(query, (key,)).fetchone() or (sealed_rows.CHECKSUM_BYTES,)
            row = sealed(("token", key), codes.tobytes())
            self.db.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?)", (key, row))
            self.note(token_bytes=self.state.token_bytes + len(row) - size)

    def put_notes(self, kind: str, texts: Mapping[str, str | None]) -> None:
        """Keep small texts of a kind by their keys; None forgets one."""
        for key, text in texts.items():
            if text is None:
                self.db.execute("DELETE FROM notes WHERE kind = ? AND key = ?", (kind, key))
            else:
                row = sealed((kind, key), storable(text).encode())
                self.db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (kind, key, row))

    def put_sources(self, contents: Mapping[str, str]) -> None:
        """Keep the sources of files, by their MD5."""
        rows = ((md5, sealed(("source", md5), content.encode())) for md5, content in contents.items())
        self.db.executemany("INSERT OR REPLACE INTO sources VALUES (?, ?)", rows)

    def put_graph(self, extractor: str, version: str, texts: Mapping[int, str]) -> None:
        """Keep what an extractor read from passages, replacing its earlier rows of them."""
        rows = (
            (one, extractor, version, sealed(("graph", one, extractor, version), text.encode()))
            for one, text in texts.items()
        )
        self.db.executemany("INSERT OR REPLACE INTO graph_passages VALUES (?, ?, ?, ?)", rows)

    def delete_graph(self, extractor: str) -> None:
        """Delete the rows of an extractor."""
        self.db.execute("DELETE FROM graph_passages WHERE extractor = ?", (extractor,))

    def index_words(self) -> None:
        """Make the keyword index again.

        `seal_words` comes in a transaction of its own: FTS5 writes its tables when this one is committed.
        """
        self.db.execute("INSERT INTO keywords (keywords) VALUES ('delete-all')")
        self.db.execute("DELETE FROM terms")
        ids: list[int] = self.before.listing.chunk_ids.tolist()
        total = sum(add_terms(self.db, self.before.texts(ids[at : at + _BATCH])) for at in range(0, len(ids), _BATCH))
        self.note(terms=total, tokenizer=TOKENIZER_VERSION, keywords_at=-1)

    def seal_words(self) -> None:
        """Keep a checksum of the keyword index as it is now, and the terms' mean inverse document frequency."""
        mean = mean_idf(self.db, self.state.chunks)
        self.note(keywords_sum=sum_of(self.db), keywords_at=self.state.version, mean_idf=mean)

    def finish(self) -> None:
        """Delete the token vectors of texts that no passage has any more, and write the state."""
        for key in self._left:
            where = "text_hash = ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE text_hash = tokens.text_hash)"
            row = self.db.execute(f"DELETE FROM tokens WHERE {where} RETURNING LENGTH(row)", (key,)).fetchone()  # noqa: S608
            self.note(token_bytes=self.state.token_bytes - (row[0] - sealed_rows.CHECKSUM_BYTES if row else 0))
        if self.state != self.before.state:
            sealed_rows.write_state(self.db, self.state)


class SqlDatabase(Transactions):
    """A home's database, for many threads."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.damage = Damage()
        if self.lost_commits:
            self.damage.note("log")
        self.root = os.path.abspath(self._home.root)  # noqa: PTH100  # a link keeps its own name
        self._listings: dict[tuple[str, int], Listing] = {}

    @contextmanager
    def now(self) -> Iterator[Snapshot]:
        """The library as this thread's transaction sees it; empty if there is none (yet). Raises LibraryDamaged.

        In a change it is the library before it, and not to be read once the change has written.
        """
        with self.reading() as db:
            yield Snapshot(db, sealed_rows.read_state(db), self.damage, self.listing)

    def changed(self, act: Callable[[Change], T]) -> T:
        """What `act` gives for a change, which is committed after it."""
        with self.writing() as db:
            change = Change(Snapshot(db, sealed_rows.read_state(db), self.damage, self.listing), self.root)
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
                raise LibraryDamaged(*sealed_rows.LIST_DAMAGED)
            for paper_id in listing.damaged:
                self.damage.note("list", paper_id)
            self._keep(state, listing)
        return listing

    def _keep(self, state: State, listing: Listing) -> None:
        key = state.library_id, state.version
        if self._listings:  # what was written since is what there is
            self.damage.forget("log")
        self._listings = dict([*self._listings.items(), (key, listing)][-_KEPT:])
