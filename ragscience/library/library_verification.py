"""Verifies a whole library, row by row: every checksum, and each passage against the pages that it is of."""

from __future__ import annotations

import sqlite3

from ragscience.library import row_records as rows
from ragscience.library.content_checks import unlike_their_pages
from ragscience.library.filter_selection import verify_database_indexes
from ragscience.library.library_damage import Kind, described, note, note_passages
from ragscience.library.row_checksums import sql_checksum
from ragscience.library.token_vectors import Tokens
from ragscience.library.transactions import Transactions

__all__ = ["Verification", "verify"]


class Verification:
    """What is known of the damage of a library, and the search for more."""

    def __init__(self, transactions: Transactions, tokens: Tokens) -> None:
        self._reading = transactions.reading
        self._seen = transactions.damage
        self._tokens = tokens

    def damage(self) -> tuple[str, ...]:
        """What was seen of damage so far, a line for each paper with the command that repairs it; empty for none."""
        return tuple(f"{message} {fix}" for message, fix in self._described())

    def verify(self) -> list[tuple[str, str]]:
        """Read every row of the database, every vector and every token vector: (what is damaged, what repairs it).

        Raises LibraryDamaged where the damage is not of single papers.
        """
        with self._reading() as db:
            if db is not None:
                verify(db)
                self._tokens.missing(db, rows.chunk_ids(db).tolist())
        return self._described()

    def _described(self) -> list[tuple[str, str]]:
        if self._seen.is_none:
            return []
        with self._reading() as db:
            found = self._seen.seen(db) if db else {}
            names = rows.file_names(db, {paper_id for _, paper_id in found if paper_id is not None}) if db else {}
        return list(described(found, names))


def verify(db: sqlite3.Connection) -> None:
    """Read every row and note the damaged ones; linear in the bytes of the database.

    Raises LibraryDamaged where `meta`, the list of papers or an index of the database is damaged.
    """
    known = rows.chunk_ids(db).tolist()
    verify_database_indexes(db)
    damaged_papers = {paper_id for (paper_id,) in _damaged(db, "papers", "paper_id")}
    if damaged_papers:
        note(db, "paper", None, damaged_papers)
    for (paper_id,) in _damaged(db, "papers", "paper_id", "parts_checksum"):
        note(db, "part", paper_id, [0])
    for paper_id, number in _damaged(db, "pages", "paper_id, number"):
        note(db, "page", paper_id, [number])
    lacking = (
        "SELECT paper_id, pages FROM papers AS p"
        " WHERE pages <> (SELECT COUNT(*) FROM pages WHERE pages.paper_id = p.paper_id)"
    )
    for paper_id, count in db.execute(lacking).fetchall():
        if paper_id in damaged_papers:
            continue
        numbers = {number for (number,) in db.execute("SELECT number FROM pages WHERE paper_id = ?", (paper_id,))}
        note(db, "page", paper_id, set(range(1, count + 1)) - numbers)
    unlike = unlike_their_pages(db)
    tables: tuple[tuple[str, Kind], ...] = (("chunks", "passage"), ("vectors", "vector"))
    for table, kind in tables:
        damaged = {chunk_id for (chunk_id,) in _damaged(db, table, "chunk_id")}
        present = {chunk_id for (chunk_id,) in db.execute(f"SELECT chunk_id FROM {table} NOT INDEXED")}  # noqa: S608
        lost = set(known) - present
        note_passages(db, kind, sorted(damaged & set(known) | lost | (set(unlike) if kind == "passage" else set())))
    for row in _damaged(db, "sources", "md5"):
        note(db, "source", None, [hash(row)])
    for row in (*_damaged(db, "graph_passages", "chunk_id, extractor"), *_damaged(db, "graph_apart", "name")):
        note(db, "graph", None, [hash(row)])


def _damaged(db: sqlite3.Connection, table: str, key: str, column: str = "checksum") -> list[tuple[int, ...]]:
    """The keys of the rows whose checksum does not fit."""
    query = f"SELECT {key} FROM {table} NOT INDEXED WHERE {column} <> {sql_checksum(table, column)}"  # noqa: S608  # ours
    return db.execute(query).fetchall()
