"""The keyword index in the library's database: FTS5's table of terms, and how many passages have each.

It changes in the transaction that changes the papers, so it is never behind them.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable

from ragscience.core.tokenizing import tokenize
from ragscience.library.keyword_scores import mean_idf_of
from ragscience.library.sealed_rows import read_state

__all__ = ["add_terms", "is_damaged", "mean_idf", "remove_terms", "sum_of"]

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
