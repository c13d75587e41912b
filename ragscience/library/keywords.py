"""The keyword index: SQLite's FTS5 over the terms of core/tokenizing.py, in the library's own database.

It changes in the transaction that changes the papers, so it is never behind them. It says where each term of a question
is: where these are few, all passages that have one are scored. FTS5's own function `bm25` has a fixed k1 of 1.2 and
another floor, but takes about a microsecond a passage: where terms are common, its best passages by the rarest terms
are the candidates, and these are scored by their texts.
"""

import json
import math
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate

import numpy as np

from ragscience.core.errors import LibraryDamaged
from ragscience.core.tokenizing import tokenize
from ragscience.library.dense_index import Ids, Ranked, Scores, best_first, nothing, places, shared
from ragscience.library.sealed_rows import REBUILD_INDEXES, read_state
from ragscience.library.snapshots import Database, Snapshot

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


K1, B, EPSILON = 1.5, 0.75, 0.25


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How common terms are in a library."""

    passages: int
    """How many there are."""
    mean_terms: float
    """How many terms a passage has on average."""
    having: dict[str, int] = field(default_factory=dict)
    """How many passages have each term."""
    mean_idf: float = 0.0
    """The mean inverse document frequency of all terms, for `idf`; any where each term is in half of them at most."""

    def idf(self, term: str) -> float:
        """ln((N - n + 0.5) / (n + 0.5)), N being the passages and n those with the term.

        Where that is negative, a quarter of the mean (epsilon) stands in for it; 0 for a term that no passage has.
        """
        having = self.having.get(term, 0)
        if not having:
            return 0.0
        idf = math.log(self.passages - having + 0.5) - math.log(having + 0.5)
        return idf if idf >= 0 else EPSILON * self.mean_idf


def mean_idf_of(numbers: Mapping[int, int], passages: int) -> float:
    """The mean inverse document frequency of all terms, negative ones as they are.

    `numbers` are how many terms so many passages have each.
    """
    terms = sum(numbers.values())
    total = sum(
        count * (math.log(max(passages - having, 0) + 0.5) - math.log(having + 0.5))
        for having, count in numbers.items()
    )
    return total / terms if terms else 0.0


def bm25(terms: Sequence[str], passages: Sequence[Sequence[str]], known: Frequencies) -> Scores:
    """The score of each passage, given by all its terms, float64, shape (len(passages),).

    A term counts as often as `terms`, those of the question, have it.
    """
    return scores_of(terms, counts_in(terms, passages), norms_of([len(each) for each in passages], known), known)


def scores_of(terms: Sequence[str], counts: Scores, norms: Scores, known: Frequencies) -> Scores:
    """The scores, shape (passages,), from the counts, shape (terms, passages), and the norms, shape (passages,)."""
    idf = np.array([known.idf(term) for term in terms], np.float64)
    return np.asarray((idf[:, np.newaxis] * counts * (K1 + 1) / (counts + norms)).sum(axis=0))


def counts_in(terms: Sequence[str], passages: Sequence[Sequence[str]]) -> Scores:
    """How often each term occurs in each passage, shape (terms, passages)."""
    found = [Counter(passage) for passage in passages]
    return np.array([[one[term] for one in found] for term in terms], np.float64).reshape(len(terms), len(found))


def norms_of(lengths: Sequence[int], known: Frequencies) -> Scores:
    """`k1 * (1 - b + b * length / mean length)` of passages of so many terms, shape (passages,)."""
    relative = np.array(lengths, np.float64) / max(known.mean_terms, 1e-9)
    return np.asarray(K1 * (1 - B + B * relative), np.float64)


class Keywords:
    """Searches by words; thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._checked: tuple[str, int] | None = None

    def search(self, text: str, k: int, allowed: Ids | None) -> Ranked:
        """(ids, int64; scores above 0, float64) of the `k` best passages, best first; of equal scores the lower id.

        `allowed` are ids, ascending; None: all. Raises LibraryDamaged.
        """
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
        with self._intact(at):
            at.db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, keywords, instance)")
            query = "SELECT json_group_array(doc) FROM temp.places WHERE term = ?"
            listed = {term: at.db.execute(query, (term,)).fetchone()[0] for term in set(terms)}
            found = {term: np.array(json.loads(one), np.int64) for term, one in listed.items()}
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
        state = at.state
        try:
            if self._checked != (state.library_id, state.version):
                if state.keywords_at == state.version and is_damaged(at.db, _CHECKED_BYTES):
                    raise _damaged()
                self._checked = state.library_id, state.version
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
                raise _damaged() from error
            raise


def _damaged() -> LibraryDamaged:
    return LibraryDamaged("The keyword index is damaged.", REBUILD_INDEXES)


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


# The rows of the index

_SHADOWS = (
    "SELECT id, block FROM keywords_data ORDER BY id",
    "SELECT segid, term, pgno FROM keywords_idx ORDER BY segid, term",
    "SELECT id, sz FROM keywords_docsize ORDER BY id",
    "SELECT term, passages FROM terms ORDER BY term",
)


def add_terms(db: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> int:
    """Index passages, as (id, searched text); returns how many terms they have."""
    rows, having, total = _counted(texts)
    db.executemany("INSERT INTO keywords (rowid, terms) VALUES (?, ?)", rows)
    query = "INSERT INTO terms VALUES (?, ?) ON CONFLICT DO UPDATE SET passages = passages + excluded.passages"
    db.executemany(query, sorted(having.items()))
    return total


def _counted(texts: Iterable[tuple[int, str]]) -> tuple[list[tuple[int, str]], Counter[str], int]:
    """(the rows of passages, how many passages have each term, how many terms there are)."""
    terms = [(chunk_id, tokenize(text)) for chunk_id, text in texts]
    having = Counter(term for _, each in terms for term in set(each))
    return [(one, " ".join(each)) for one, each in terms], having, sum(len(each) for _, each in terms)


def remove_terms(db: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> int:
    """The inverse of `add_terms`. A passage whose text is lost leaves terms that no search finds any more."""
    rows, having, total = _counted(texts)
    db.executemany("INSERT INTO keywords (keywords, rowid, terms) VALUES ('delete', ?, ?)", rows)
    db.executemany("UPDATE terms SET passages = passages - ? WHERE term = ?", ((n, term) for term, n in having.items()))
    db.executemany("DELETE FROM terms WHERE term = ? AND passages <= 0", ((term,) for term in having))
    return total


def mean_idf(db: sqlite3.Connection, passages: int) -> float:
    """The mean inverse document frequency of all terms of so many passages."""
    return mean_idf_of(dict(db.execute("SELECT passages, COUNT(*) FROM terms GROUP BY passages")), passages)


def is_damaged(db: sqlite3.Connection, most_bytes: int | None = None) -> bool:
    """Whether the index is not what was written; not checked where it has more than `most_bytes`."""
    state = read_state(db)
    (blocks,) = db.execute("SELECT COUNT(*) FROM keywords_data").fetchone()
    if state.keywords_at != state.version or (most_bytes is not None and blocks * 4096 > most_bytes):
        return False
    return sum_of(db) != state.keywords_sum


def sum_of(db: sqlite3.Connection) -> int:
    """A CRC-32 of the whole index."""
    checksum = 0
    for query in _SHADOWS:
        for row in db.execute(query):
            for value in row:
                checksum = zlib.crc32(value if isinstance(value, bytes) else str(value).encode(), checksum)
    return checksum
