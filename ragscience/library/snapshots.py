"""What a thread reads of the library's database at one version."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import Paper, StoredChunk
from ragscience.library.damage import Damage
from ragscience.library.database import Transactions
from ragscience.library.home import Home
from ragscience.library.paper_rows import Listing, Outline, texts_of
from ragscience.library.sealed_rows import LIST_DAMAGED, State, opened, read_state
from ragscience.library.sources_table import read_sources

__all__ = ["Snapshot", "Snapshots"]

_KEPT = 3
"""Listings that stay in memory: threads that began before a change still read the older one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The database in a transaction, with its papers."""

    db: sqlite3.Connection
    state: State
    listing: Listing
    damage: Damage

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The passages in the order of `ids`, as far as they are known and intact."""
        return self.listing.chunks(ids, self.listing.read_passages(self.db, ids, self.damage))

    def texts(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        """(id, searched text) of the passages, ascending, as far as they are known and intact."""
        return texts_of(self.listing.read_passages(self.db, ids, self.damage))

    @property
    def version(self) -> int:
        """Grows with each change of papers or vectors."""
        return self.state.version

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file."""
        return self.listing.papers(ids, lambda md5s: read_sources(self.db, md5s, self.damage))

    def outlines(self, paper_ids: Collection[int]) -> Iterator[tuple[int, Outline]]:
        """(first passage, outline) of each of the papers, in the order of their passages; damaged ones are noted."""
        query = "SELECT row FROM parts WHERE part = 'outline' AND paper_id = ?"
        for row in self.listing.rows.values():
            if row.paper_id in paper_ids:
                kept = self.db.execute(query, (row.paper_id,)).fetchone()
                content = opened(("outline", row.paper_id), kept[0]) if kept else None
                if content is None:
                    self.damage.note("paper", row.paper_id)
                else:
                    yield row.first_chunk, Outline.unpack(content)


class Snapshots:
    """The snapshots of one library, for any number of threads."""

    def __init__(self, home: Home, transactions: Transactions) -> None:
        self.transactions = transactions
        self.damage = Damage()
        self.root = os.path.abspath(home.root)  # noqa: PTH100  # a link keeps its own name
        self._listings: dict[tuple[str, int], Listing] = {}

    @contextmanager
    def now(self) -> Iterator[Snapshot | None]:
        """The library as this thread's transaction sees it; None if there is no library (yet). Raises LibraryDamaged.

        Not to be called in a change once it has written.
        """
        with self.transactions.reading() as db:
            yield self.of(db) if db is not None else None

    def of(self, db: sqlite3.Connection) -> Snapshot:
        """As `now`, in a transaction that is there. Damaged papers are left out by readers; a writer refuses them."""
        state = read_state(db)
        key = state.library_id, state.version
        listing = self._listings.get(key)
        if listing is None:
            listing = Listing.read(db, state, self.root)
            if listing.damaged and self.transactions.may_write:
                raise LibraryDamaged(*LIST_DAMAGED)
            for paper_id in listing.damaged:
                self.damage.note("list", paper_id)
            self.keep(state, listing)
        return Snapshot(db, state, listing, self.damage)

    def keep(self, state: State, listing: Listing) -> None:
        """Know the papers of a version that is committed."""
        key = state.library_id, state.version
        self._listings = dict([*self._listings.items(), (key, listing)][-_KEPT:])
