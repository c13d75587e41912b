"""Checksums of database rows: each row carries the CRC-32 of its columns, and is verified when it is read.

A CRC-32 differs for every single flipped bit and for every burst of at most 32 bits; of other damage it misses one in
2**32 (Koopman, 32-bit cyclic redundancy codes for internet applications, 2002). It guards against failing disks, not
against forgery.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping

__all__ = [
    "CHECKED_COLUMNS",
    "FILTER_MARK",
    "META_KEY",
    "REFERENCE_MARK",
    "add_to_sums",
    "is_intact",
    "mark_papers",
    "meta_checksum",
    "row_checksum",
    "seal",
    "seal_all",
    "seal_meta",
    "sql_checksum",
    "sum_papers",
]

CHECKED_COLUMNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "papers": {
        "checksum": (
            "paper_id",
            "path",
            "name",
            "md5",
            "size_bytes",
            "modified_ns",
            "title",
            "added_at",
            "warnings",
            "pages",
            "first_chunk",
            "chunks",
            "stated_title",
            "authors",
            "year",
            "venue",
            "doi",
            "arxiv_id",
            "confidence",
            "publication",
            "references_mark",
            "filters_mark",
        ),
        "parts_checksum": ("paper_id", "sketch", "elements"),
    },
    "pages": {"checksum": ("paper_id", "number", "start", "end", "warning", "text", "lines", "furniture")},
    "chunks": {
        "checksum": (
            "chunk_id",
            "paper_id",
            "ordinal",
            "text",
            "start",
            "end",
            "page_start",
            "page_end",
            "section",
            "kind",
            "page_breaks",
            "header",
        )
    },
    "vectors": {"checksum": ("chunk_id", "text_hash", "vector")},
    "tokens": {"row_checksum": ("text_hash", "start", "bytes", "checksum")},
    "graph_passages": {"checksum": ("chunk_id", "extractor", "version", "found")},
    "graph_apart": {"checksum": ("name",)},
    "sources": {"checksum": ("md5", "url", "fetched_at", "metadata")},
}
"""For each table its columns that hold a checksum, each with the columns that it is of, in order."""


def _blob(column: str) -> str:
    """A column as `row_checksum` takes it; cast, so that text that is no UTF-8 any more reaches the function, too."""
    return f"COALESCE(CAST(\"{column}\" AS BLOB), 'None')"


FILTER_COLUMNS = ("chunk_id", "paper_id", "page_start", "page_end", "kind", "section")

FILTER_MARK = f"SUM(row_checksum({', '.join(_blob(n) for n in FILTER_COLUMNS)}))"
"""A paper's `filters_mark`: over its passages, of the columns that filters go by."""
REFERENCE_MARK = "SUM(1099511627776 + chunk_id)"
"""A paper's `references_mark`: over its passages that are reference lists; 2**40 for each, and its id."""

META_KEY = "checksum"
"""The row of `meta` that holds the checksum of all others."""


def row_checksum(*values: object) -> int:
    """CRC-32 of the values, 0 to 2**32 - 1: bytes as they are, others as their text in UTF-8, a zero byte between."""
    try:
        parts = [value if type(value) is bytes else str(value).encode() for value in values]
    except (
        UnicodeEncodeError
    ):  # half of a surrogate pair, as paths may have; the usual case takes half the time without
        parts = [value if type(value) is bytes else str(value).encode("utf-8", "surrogatepass") for value in values]
    return zlib.crc32(b"\0".join(parts))


def is_intact(row: tuple[object, ...]) -> bool:
    """Whether the last value is the checksum of those before it."""
    return row_checksum(*row[:-1]) == row[-1]


def sql_checksum(table: str, column: str = "checksum") -> str:
    """The checksum of a row as an SQL expression; `row_checksum` must be a function of the connection."""
    return f"row_checksum({', '.join(_blob(name) for name in CHECKED_COLUMNS[table][column])})"


def seal(db: sqlite3.Connection, table: str, where: str = "1", values: tuple[object, ...] = ()) -> None:
    """Write the checksums of the rows that fit the condition, a constant of this package."""
    sets = ", ".join(f"{column} = {sql_checksum(table, column)}" for column in CHECKED_COLUMNS[table])
    db.execute(f"UPDATE {table} SET {sets} WHERE {where}", values)  # noqa: S608  # constants of this package


def meta_checksum(meta: Mapping[str, str]) -> str:
    """The checksum of the rows of `meta`, as it is stored among them."""
    return str(row_checksum(*(part for key in sorted(meta) if key != META_KEY for part in (key, meta[key]))))


def seal_meta(db: sqlite3.Connection) -> None:
    """Write the checksum of `meta`; the last step of every change."""
    meta = dict(db.execute("SELECT key, value FROM meta"))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (META_KEY, meta_checksum(meta)))


def mark_papers(db: sqlite3.Connection, where: str = "1", values: tuple[object, ...] = ()) -> None:
    """Write the sums over passages of the papers that fit the condition, a constant of this package."""
    of_paper = "FROM chunks WHERE chunks.paper_id = papers.paper_id"
    db.execute(
        f"UPDATE papers SET filters_mark = COALESCE((SELECT {FILTER_MARK} {of_paper}), 0),"  # noqa: S608  # ours
        f" references_mark = COALESCE((SELECT {REFERENCE_MARK} {of_paper} AND kind = 'reference'), 0) WHERE {where}",
        values,
    )


def sum_papers(db: sqlite3.Connection) -> None:
    """Write the sums over all papers into `meta`."""
    query = (
        "SELECT COUNT(*), COALESCE(SUM(first_chunk), 0), COALESCE(SUM(chunks), 0), COALESCE(SUM(references_mark), 0),"
        " COALESCE(SUM(filters_mark), 0) FROM papers"
    )
    sums = list(db.execute(query).fetchone())
    db.execute("INSERT OR REPLACE INTO meta VALUES ('papers', ?)", (json.dumps(sums),))


def add_to_sums(db: sqlite3.Connection, paper_id: int, sign: int) -> None:
    """Add a paper to the sums in `meta`, or take it out with a sign of -1."""
    query = "SELECT 1, first_chunk, chunks, references_mark, filters_mark FROM papers WHERE paper_id = ?"
    row = db.execute(query, (paper_id,)).fetchone()
    (stored,) = db.execute("SELECT value FROM meta WHERE key = 'papers'").fetchone()
    sums = [total + sign * number for total, number in zip(json.loads(stored), row, strict=True)]
    db.execute("UPDATE meta SET value = ? WHERE key = 'papers'", (json.dumps(sums),))


def seal_all(db: sqlite3.Connection) -> None:
    """Write every checksum and every sum anew: of what is there now."""
    mark_papers(db)
    sum_papers(db)
    for table in CHECKED_COLUMNS:
        seal(db, table)
    seal_meta(db)
