"""The rows of the knowledge graph: what each extractor read from each passage, as JSON text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from ragscience.library.library_damage import note, note_passages
from ragscience.library.library_writes import bump
from ragscience.library.row_checksums import is_intact, row_checksum, seal
from ragscience.library.row_records import chunk_ids, counts
from ragscience.library.transactions import Transactions

__all__ = ["GraphTable"]


class GraphTable:
    """The graph's part of a library; empty in a library from an older version until the first write."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def state(self) -> str:
        """Changes whenever a row is added, removed or changed; empty if no passage was read."""
        with self._reading() as db:
            if db is None or db.execute("SELECT 1 FROM graph_passages LIMIT 1").fetchone() is None:
                return ""
            query = "SELECT value FROM meta WHERE key IN ('graph_generation', 'library_id') ORDER BY key"
            return ":".join(value for (value,) in db.execute(query))

    def pending(self, extractor: str, version: str) -> list[int]:
        """Ids of the passages, without reference lists, that this version of `extractor` has not read, ascending."""
        with self._transactions.reading() as whole:
            if whole is None:
                return []
            if not _has_tables(whole):
                query, given = "SELECT chunk_id FROM chunks WHERE kind <> 'reference' ORDER BY chunk_id", ()
                return [chunk_id for (chunk_id,) in whole.execute(query, given)]
            query = (
                "SELECT chunk_id FROM chunks AS c WHERE kind <> 'reference' AND NOT EXISTS"
                " (SELECT 1 FROM graph_passages AS g WHERE g.chunk_id = c.chunk_id AND extractor = ? AND version = ?)"
                " ORDER BY chunk_id"
            )
            return [chunk_id for (chunk_id,) in whole.execute(query, (extractor, version))]

    def put(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """Store what `extractor` read from each passage (id, text) in one transaction, replacing its earlier rows.

        A passage that is no longer in the library is skipped.
        """
        with self._transactions.writing() as db:
            _insert(db, extractor, version, found)

    def replace(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """As `put`, and delete the extractor's other rows: all in one transaction."""
        with self._transactions.writing() as db:
            db.execute("DELETE FROM graph_passages WHERE extractor = ?", (extractor,))
            _insert(db, extractor, version, found)

    def clear(self, extractor: str | None = None) -> int:
        """Delete the rows of `extractor`, or all rows; returns how many there were."""
        with self._transactions.writing() as db:
            where, given = ("WHERE extractor = ?", (extractor,)) if extractor is not None else ("", ())
            count = db.execute(f"DELETE FROM graph_passages {where}", given).rowcount  # noqa: S608  # ours
            bump(db, "graph_generation")
            return int(count)

    def rows(self) -> list[tuple[int, int, str, str]]:
        """(passage id, paper id, extractor, its JSON) of every row, by passage id and extractor.

        Damaged ones are noted and left out.
        """
        with self._reading() as db:
            if db is None:
                return []
            query = (
                "SELECT c.paper_id, g.chunk_id, g.extractor, g.version, g.found, g.checksum FROM graph_passages AS g"
                " JOIN chunks AS c USING (chunk_id) ORDER BY g.chunk_id, g.extractor"
            )
            found = []
            for paper_id, *row in db.execute(query):
                if is_intact(tuple(row)):
                    found.append((row[0], paper_id, row[1], row[3]))
                else:
                    note(db, "graph", None, [row[0]])
            return found

    def counts(self) -> dict[tuple[str, str], int]:
        """How many passages each (extractor, version) has read."""
        with self._reading() as db:
            if db is None:
                return {}
            query = "SELECT extractor, version, COUNT(*) FROM graph_passages GROUP BY extractor, version ORDER BY 1, 2"
            return {(extractor, version): count for extractor, version, count in db.execute(query)}

    def read_passages(self) -> dict[int, tuple[int, int]]:
        """(passages without reference lists, how many of them any extractor has read) by paper id."""
        with self._transactions.reading() as db:
            if db is None:
                return {}
            read = "EXISTS (SELECT 1 FROM graph_passages AS g WHERE g.chunk_id = c.chunk_id)" if _has_tables(db) else 0
            query = (
                f"SELECT paper_id, COUNT(*), SUM({read}) FROM chunks AS c WHERE kind <> 'reference'"  # noqa: S608  # ours
                " GROUP BY paper_id"
            )
            return {paper_id: (total, done) for paper_id, total, done in db.execute(query)}

    def stable_ids(self) -> dict[int, str]:
        """A name for each passage that survives removing and re-adding its paper: "<12 of the MD5>#<ordinal>".

        Lost passages are noted.
        """
        query = "SELECT chunk_id, substr(md5, 1, 12) || '#' || ordinal FROM chunks JOIN papers USING (paper_id)"
        with self._transactions.reading() as db:
            if db is None:
                return {}
            found = {chunk_id: name for chunk_id, name in db.execute(query) if isinstance(name, str)}
            if len(found) < counts(db)[1]:
                note_passages(db, "passage", sorted(set(chunk_ids(db).tolist()) - found.keys()))
            return found

    def apart(self) -> frozenset[str]:
        """Names that must not be merged with others."""
        with self._reading() as db:
            names = db.execute("SELECT name, checksum FROM graph_apart").fetchall() if db else []
            if db is not None and not all(map(is_intact, names)):
                note(db, "graph", None, [0])
            return frozenset(row[0] for row in names if is_intact(row))

    def set_apart(self, names: Iterable[str], *, merge_again: bool = False) -> None:
        """Set or clear the mark that keeps these names from being merged."""
        add, take_out = "INSERT OR IGNORE INTO graph_apart (name) VALUES (?)", "DELETE FROM graph_apart WHERE name = ?"
        with self._transactions.writing() as db:
            db.executemany(take_out if merge_again else add, ((name,) for name in names))
            seal(db, "graph_apart")
            bump(db, "graph_generation")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """The database, or None if it has no graph tables."""
        with self._transactions.reading() as db:
            yield db if db is not None and _has_tables(db) else None


def _insert(db: sqlite3.Connection, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO graph_passages SELECT chunk_id, ?, ?, ?, ? FROM chunks WHERE chunk_id = ?",
        (
            (extractor, version, text, row_checksum(int(chunk_id), extractor, version, text), int(chunk_id))
            for chunk_id, text in found
        ),
    )
    bump(db, "graph_generation")


def _has_tables(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'graph_passages'").fetchone() is not None
