"""The keyword index: SQLite's FTS5 over the terms of core/tokenizing.py, in the library's own database.

keyword_index.py has the formula.
The index says where each term of a question is: where these are few, all passages that have one are scored. FTS5's own
function `bm25` has a fixed k1 of 1.2 and another floor, but takes about a microsecond a passage: where terms are
common, its best passages by the rarest terms are the candidates, and these are scored by their texts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING

from ragscience.core.errors import LibraryDamaged
from ragscience.core.tokenizing import TOKENIZER_VERSION, tokenize
from ragscience.library.changes import Change
from ragscience.library.keyword_index import (
    Frequencies,
    add_terms,
    bm25,
    is_damaged,
    mean_idf,
    norms_of,
    scores_of,
    sum_of,
)
from ragscience.library.sealed_rows import REBUILD_INDEXES
from ragscience.library.snapshots import Database, Snapshot

if TYPE_CHECKING:
    from ragscience.library.top_scores import Ids, Ranked


_ROWS_COUNTED = 8_000
"""Passages that have the terms of a question, each term's added, up to which all of them are scored: about 30 ms."""
_ROWS_SCORED = 40_000
"""Passages that FTS5 scores for a question, about 50 ms; more where the rarest term alone has more."""
_RESCORED = 3
"""Times as many candidates as are asked for are scored again by all terms."""
_SMALL = 300
"""Of so many allowed passages each is scored by its text."""
_CHECKED_BYTES = 1 << 26
"""Up to this size the index is held against its checksum when it is first searched; `verify` checks any."""
_BATCH = 4096


class Keywords:
    """Searches by words; thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._checked: tuple[str, int] | None = None

    def search(self, text: str, k: int, allowed: Ids | None) -> Ranked:
        """(ids, int64; scores above 0, float64) of the `k` best passages, best first; of equal scores the lower id.

        `allowed` are ids, ascending; None: all. Raises LibraryDamaged.
        """
        import numpy as np

        from ragscience.library.top_scores import best_first, nothing

        terms = tokenize(text)
        with self._database.now() as at:
            if not terms or k <= 0:
                return nothing()
            known = self.frequencies(terms)
            terms = [term for term in terms if known.having[term]]
            if not terms:
                return nothing()
            usable = at.listing.chunk_ids if allowed is None else allowed
            if sum(known.having.values()) <= _ROWS_COUNTED:
                ids, scores = self._all_scored(at, terms, known, usable)
            else:
                rarest = _rarest(sorted(set(terms), key=lambda term: (known.having[term], term)), known)
                few = usable.size <= _SMALL
                texts = dict(at.texts(usable.tolist() if few else self._best(at, rarest, k * _RESCORED, usable)))
                scores = bm25(terms, [tokenize(one) for one in texts.values()], known)
                ids = np.array([*texts], np.int64)
            above = scores > 0
            return best_first(ids[above], scores[above], k)

    def having(self, terms: Sequence[str], allowed: Ids | None) -> Ids:
        """The ids of the passages that have all of the terms, ascending; `allowed` as for `search`."""
        import numpy as np

        from ragscience.library.top_scores import shared

        with self._database.now() as at:
            if not terms:
                return np.empty(0, np.int64)
            with self._intact(at):
                query = "SELECT rowid FROM keywords WHERE keywords MATCH ? AND rowid BETWEEN ? AND ?"
                span = (1, at.state.next_chunk) if allowed is None or not allowed.size else _span(allowed)
                rows = at.db.execute(query, (_all_of(terms, " AND "), *span))
                found = np.fromiter((chunk_id for (chunk_id,) in rows), np.int64)
        return shared(at.listing.chunk_ids if allowed is None else allowed, found)

    def frequencies(self, terms: Iterable[str]) -> Frequencies:
        """How many passages have each of the terms."""
        having = dict.fromkeys(terms, 0)
        with self._database.now() as at, self._intact(at):
            for term in having:
                row = at.db.execute("SELECT passages FROM terms WHERE term = ?", (term,)).fetchone()
                having[term] = int(row[0]) if row else 0
            state = at.state
            mean = 0.0
            if any(2 * n > state.chunks for n in having.values()):
                mean = state.mean_idf if state.keywords_at == state.version else mean_idf(at.db, state.chunks)
        return Frequencies(state.chunks, state.terms / max(state.chunks, 1), having, mean)

    def _all_scored(self, at: Snapshot, terms: Sequence[str], known: Frequencies, usable: Ids) -> Ranked:
        """(ids, ascending; scores) of all usable passages that have any of the terms."""
        import numpy as np

        from ragscience.library.top_scores import places, shared

        with self._intact(at):
            at.db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, keywords, instance)")
            query = "SELECT json_group_array(doc) FROM temp.places WHERE term = ?"
            found = {
                term: np.array(json.loads(at.db.execute(query, (term,)).fetchone()[0]), np.int64) for term in set(terms)
            }
            ids = shared(usable, np.unique(np.concatenate([*found.values()])))
            query = "SELECT id, sz FROM keywords_docsize WHERE id IN (SELECT value FROM json_each(?))"
            lengths = {one: _varint(size) for one, size in at.db.execute(query, (json.dumps(ids.tolist()),))}
        counts = np.zeros((len(terms), ids.size))
        for row, term in enumerate(terms if ids.size else ()):
            counts[row] = np.bincount(places(ids, found[term])[0], minlength=ids.size)
        norms = norms_of([lengths.get(one, 0) for one in ids.tolist()], known)
        return ids, scores_of(terms, counts, norms, known)

    def _best(self, at: Snapshot, terms: Sequence[str], k: int, ids: Ids) -> list[int]:
        """The `k` best passages of `ids` by these terms, as FTS5 scores them."""
        import numpy as np

        from ragscience.library.top_scores import places

        span = _span(ids) if ids.size else (1, 0)
        query = (
            "SELECT rowid FROM keywords WHERE keywords MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rank, rowid LIMIT ?"
        )
        wanted = 2 * k
        while True:
            with self._intact(at):
                rows = at.db.execute(query, (_all_of(terms, " OR "), *span, wanted)).fetchall()
            found = np.array(rows, np.int64).ravel()
            kept: list[int] = found[places(ids, found)[1]][:k].tolist()
            if len(kept) == k or len(rows) < wanted:
                return kept
            wanted *= 8

    @contextmanager
    def _intact(self, at: Snapshot) -> Iterator[None]:
        """Raises LibraryDamaged where the index is not what was written, as far as that is checked or FTS5 sees it."""
        damaged = LibraryDamaged("The keyword index is damaged.", REBUILD_INDEXES)
        state = at.state
        try:
            if self._checked != (state.library_id, state.version):
                if state.keywords_at == state.version and is_damaged(at.db, _CHECKED_BYTES):
                    raise damaged
                self._checked = state.library_id, state.version
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
                raise damaged from error
            raise


def _span(ids: Ids) -> tuple[int, int]:
    return int(ids[0]), int(ids[-1])


def _rarest(terms: Sequence[str], known: Frequencies) -> list[str]:
    """As many of the terms, which are the rarest first, as FTS5 scores quickly; at least one."""
    totals = accumulate(known.having[term] for term in terms)
    return [term for term, total in zip(terms, totals, strict=True) if total <= _ROWS_SCORED] or list(terms[:1])


def _varint(size: bytes) -> int:
    """FTS5's number of terms of a passage: seven bits a byte, the highest first."""
    return reduce(lambda value, byte: value << 7 | byte & 0x7F, size, 0)


def _all_of(terms: Iterable[str], operator: str) -> str:
    """A query of FTS5's for terms, each in quotes."""
    return operator.join('"' + term.replace('"', '""') + '"' for term in terms)


def index_all(change: Change) -> None:
    """Make the index again.

    `seal_keywords` comes in a transaction of its own: FTS5 writes its tables when this one is committed.
    """
    change.db.execute("INSERT INTO keywords (keywords) VALUES ('delete-all')")
    change.db.execute("DELETE FROM terms")
    ids: list[int] = change.before.listing.chunk_ids.tolist()
    total = sum(
        add_terms(change.db, change.before.texts(ids[first : first + _BATCH])) for first in range(0, len(ids), _BATCH)
    )
    change.note(terms=total, tokenizer=TOKENIZER_VERSION, keywords_at=-1)


def seal_keywords(change: Change) -> None:
    """Keep a checksum of the index as it is now, and the terms' mean inverse document frequency."""
    mean = mean_idf(change.db, change.state.chunks)
    change.note(keywords_sum=sum_of(change.db), keywords_at=change.state.version, mean_idf=mean)
