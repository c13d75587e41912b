"""The rows of the knowledge graph: what each extractor read from each passage, as JSON text."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ragscience.core.serialization import storable
from ragscience.library.sealed_rows import opened, read_state, sealed, write_state
from ragscience.library.snapshots import Snapshot, Snapshots

__all__ = ["GraphTable"]


class GraphTable:
    """The graph's part of a library."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    def state(self) -> str:
        """Changes whenever a row is added, removed or changed; empty if no passage was read."""
        with self._snapshots.now() as at:
            if at is None or at.db.execute("SELECT 1 FROM graph_passages LIMIT 1").fetchone() is None:
                return ""
            return f"{at.state.graph_version}:{at.state.library_id}"

    def pending(self, extractor: str, version: str) -> list[int]:
        """Ids of the passages, without reference lists, that this version of `extractor` has not read, ascending."""
        with self._snapshots.now() as at:
            if at is None:
                return []
            query = "SELECT chunk_id FROM graph_passages WHERE extractor = ? AND version = ?"
            done = {chunk_id for (chunk_id,) in at.db.execute(query, (extractor, version))}
            return [one for one in _read_ids(at) if one not in done]

    def put(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """Store what `extractor` read from each passage (id, text) in one transaction, replacing its earlier rows.

        A passage that is no longer in the library is skipped.
        """
        with self._snapshots.transactions.writing() as db:
            _insert(self._snapshots.of(db), extractor, version, found)

    def replace(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """As `put`, and delete the extractor's other rows: all in one transaction."""
        with self._snapshots.transactions.writing() as db:
            at = self._snapshots.of(db)
            db.execute("DELETE FROM graph_passages WHERE extractor = ?", (extractor,))
            _insert(at, extractor, version, found)
        self._snapshots.damage.forget("graph")

    def clear(self, extractor: str | None = None) -> int:
        """Delete the rows of `extractor`, or all rows; returns how many there were."""
        with self._snapshots.transactions.writing() as db:
            where, given = ("WHERE extractor = ?", (extractor,)) if extractor is not None else ("", ())
            count = db.execute(f"DELETE FROM graph_passages {where}", given).rowcount  # noqa: S608  # ours
            _bump(db)
        self._snapshots.damage.forget("graph")
        return int(count)

    def rows(self) -> list[tuple[int, int, str, str]]:
        """(passage id, paper id, extractor, its JSON) of every row, by passage id and extractor.

        Damaged ones are noted and left out.
        """
        found = []
        with self._snapshots.now() as at:
            query = "SELECT chunk_id, extractor, version, row FROM graph_passages ORDER BY chunk_id, extractor"
            for chunk_id, extractor, version, row in at.db.execute(query) if at is not None else ():
                content = opened(("graph", chunk_id, extractor, version), row)
                paper = at.listing.paper_of(chunk_id) if at is not None and content is not None else None
                if content is not None and paper is not None:
                    found.append((chunk_id, paper.paper_id, extractor, content.decode()))
                else:
                    self._snapshots.damage.note("graph")
        return found

    def counts(self) -> dict[tuple[str, str], int]:
        """How many passages each (extractor, version) has read."""
        with self._snapshots.now() as at:
            if at is None:
                return {}
            query = "SELECT extractor, version, COUNT(*) FROM graph_passages GROUP BY extractor, version ORDER BY 1, 2"
            return {(extractor, version): count for extractor, version, count in at.db.execute(query)}

    def read_passages(self) -> dict[int, tuple[int, int]]:
        """(passages without reference lists, how many of them any extractor has read) by paper id."""
        with self._snapshots.now() as at:
            if at is None:
                return {}
            read = {chunk_id for (chunk_id,) in at.db.execute("SELECT DISTINCT chunk_id FROM graph_passages")}
            total, done = Counter[int](), Counter[int]()
            for chunk_id in _read_ids(at):
                if (paper := at.listing.paper_of(chunk_id)) is not None:
                    total[paper.paper_id] += 1
                    done[paper.paper_id] += chunk_id in read
            return {paper_id: (count, done[paper_id]) for paper_id, count in total.items()}

    def stable_ids(self) -> dict[int, str]:
        """A name for each passage that survives removing and re-adding its paper: "<12 of the MD5>#<ordinal>"."""
        with self._snapshots.now() as at:
            rows = at.listing.rows.values() if at is not None else ()
            return {row.first_chunk + place: f"{row.md5[:12]}#{place}" for row in rows for place in range(row.chunks)}


def _read_ids(at: Snapshot) -> list[int]:
    """The passages that extractors read: all but reference lists."""
    kept = at.listing.without_references
    return [int(one) for one in (at.listing.chunk_ids if kept is None else kept)]


def _insert(at: Snapshot, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
    rows = (
        (one, extractor, version, sealed(("graph", one, extractor, version), storable(text).encode()))
        for one, text in ((int(chunk_id), text) for chunk_id, text in found)
        if at.listing.paper_of(one) is not None
    )
    at.db.executemany("INSERT OR REPLACE INTO graph_passages VALUES (?, ?, ?, ?)", rows)
    _bump(at.db)


def _bump(db: sqlite3.Connection) -> None:
    state = read_state(db)
    write_state(db, replace(state, graph_version=state.graph_version + 1))
