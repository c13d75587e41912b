"""What the rows of a library say of each other: passages and their pages, vectors, texts without token vectors."""

from __future__ import annotations

import sqlite3
from itertools import groupby

from ragscience.library.row_checksums import row_checksum

__all__ = ["NOT_KEPT", "mark_unkept", "unlike_their_pages", "unusable_vectors"]

_NORM_TOLERANCE = 1e-3
NOT_KEPT = -1
"""In place of the place in the file: no token vectors are kept of this text."""


def unlike_their_pages(db: sqlite3.Connection) -> list[int]:
    """The ids of the passages that are not the characters of their pages that they are said to be."""
    found: list[int] = []
    query = 'SELECT paper_id, number, start, "end", text FROM pages ORDER BY paper_id, number'
    for paper_id, group in groupby(db.execute(query), key=lambda row: row[0]):
        pages = {number: (start, end, text) for _, number, start, end, text in group}
        chunks = 'SELECT chunk_id, start, "end", page_start, page_end, text FROM chunks WHERE paper_id = ?'
        for chunk_id, start, end, first, last, text in db.execute(chunks, (paper_id,)):
            for number in range(first, min(last, first + len(pages)) + 1):
                page_start, page_end, page = pages.get(number, (0, 0, ""))
                low, high = max(start, page_start), min(end, page_end)
                if low < high and text[low - start : high - start] != page[low - page_start : high - page_start]:
                    found.append(chunk_id)
                    break
    return found


def unusable_vectors(db: sqlite3.Connection) -> list[int]:
    """The ids of the passages whose vectors are not finite or not of length 1."""
    import numpy as np

    found: list[int] = []
    for chunk_id, blob in db.execute("SELECT chunk_id, vector FROM vectors"):
        vector = np.frombuffer(blob, "<f4") if len(blob) % 4 == 0 else np.empty(0, np.float32)
        norm = float(np.sqrt(np.vecdot(vector, vector, dtype=np.float64)))
        if not abs(norm - 1) <= _NORM_TOLERANCE:
            found.append(chunk_id)
    return found


def mark_unkept(db: sqlite3.Connection, where: str = "1", values: tuple[object, ...] = ()) -> None:
    """Note of the passages that fit the condition, a constant of this package, which have no token vectors."""
    query = f"SELECT DISTINCT text_hash FROM vectors WHERE {where} AND text_hash NOT IN (SELECT text_hash FROM tokens)"  # noqa: S608  # ours
    places = [(key, NOT_KEPT, 0, 0) for (key,) in db.execute(query, values)]
    db.executemany("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", ((*place, row_checksum(*place)) for place in places))
