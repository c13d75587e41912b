"""The keyword index in the library's database: FTS5's table of terms, and how many passages have each.

It changes in the transaction that changes the papers, so it is never behind them.
"""

from __future__ import annotations

import math
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import tokenize
from ragscience.library.sealed_rows import read_state

if TYPE_CHECKING:
    from ragscience.library.top_scores import Scores


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
    import numpy as np

    idf = np.array([known.idf(term) for term in terms], np.float64)
    return np.asarray((idf[:, np.newaxis] * counts * (K1 + 1) / (counts + norms)).sum(axis=0))


def counts_in(terms: Sequence[str], passages: Sequence[Sequence[str]]) -> Scores:
    """How often each term occurs in each passage, shape (terms, passages)."""
    import numpy as np

    found = [Counter(passage) for passage in passages]
    return np.array([[one[term] for one in found] for term in terms], np.float64).reshape(len(terms), len(found))


def norms_of(lengths: Sequence[int], known: Frequencies) -> Scores:
    """`k1 * (1 - b + b * length / mean length)` of passages of so many terms, shape (passages,)."""
    import numpy as np

    relative = np.array(lengths, np.float64) / max(known.mean_terms, 1e-9)
    return np.asarray(K1 * (1 - B + B * relative), np.float64)


_SHADOWS = (
    "SELECT id, block FROM keywords_data ORDER BY id",
    "SELECT segid, term, pgno FROM keywords_idx ORDER BY segid, term",
    "SELECT id, sz FROM keywords_docsize ORDER BY id",
    "SELECT term, passages FROM terms ORDER BY term",
)


def add_terms(db: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> int:
    """Index passages, as (id, searched text); returns how many terms they have."""
    rows, total = [], 0
    having = Counter[str]()
    for chunk_id, text in texts:
        terms = tokenize(text)
        total += len(terms)
        having.update(set(terms))
        rows.append((chunk_id, " ".join(terms)))
    db.executemany("INSERT INTO keywords (rowid, terms) VALUES (?, ?)", rows)
    query = "INSERT INTO terms VALUES (?, ?) ON CONFLICT DO UPDATE SET passages = passages + excluded.passages"
    db.executemany(query, sorted(having.items()))
    return total


def remove_terms(db: sqlite3.Connection, texts: Iterable[tuple[int, str]]) -> int:
    """The inverse of `add_terms`. A passage whose text is lost leaves terms that no search finds any more."""
    total = 0
    having = Counter[str]()
    for chunk_id, text in texts:
        terms = tokenize(text)
        total += len(terms)
        having.update(set(terms))
        query = "INSERT INTO keywords (keywords, rowid, terms) VALUES ('delete', ?, ?)"
        db.execute(query, (chunk_id, " ".join(terms)))
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
