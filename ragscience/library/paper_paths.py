"""Paths of papers as the database keeps them: relative to the home for files within it, so that a home may be moved."""

from __future__ import annotations

import os
import sqlite3

from ragscience.library.library_damage import Database
from ragscience.library.row_checksums import seal

__all__ = ["full_path", "full_paths", "make_relative", "path_from", "path_within", "stored_path"]


def stored_path(db: sqlite3.Connection, path: str) -> bytes:
    """A full path as it is kept, in the bytes that the file system knows."""
    return path_within(_root(db), path)


def full_path(db: sqlite3.Connection, stored: bytes) -> str:
    """The full path of one that is kept."""
    return path_from(_root(db), stored)


def path_within(root: str, path: str) -> bytes:
    """A full path as it is kept in the library of the home `root`; empty: of no home."""
    within, encoded = _with_separator(root), os.fsencode(path)
    return encoded[len(within) :] if within and encoded.startswith(within) else encoded


def path_from(root: str, stored: bytes) -> str:
    """The inverse of `path_within`."""
    return os.fsdecode(stored if stored.startswith(b"/") else _with_separator(root) + stored)


def full_paths(db: sqlite3.Connection) -> list[tuple[int, bytes]]:
    """(paper id, path) of the papers within the home that are kept by their full paths, as by older versions."""
    within = _within(db)
    query = "SELECT paper_id, path FROM papers WHERE path >= ? AND path < ?"
    return db.execute(query, (within, within[:-1] + b"0")).fetchall()  # "0" comes after "/"


def make_relative(db: sqlite3.Connection) -> None:
    """Make the full paths of papers within the home relative."""
    for paper_id, path in full_paths(db):
        short = path[len(_within(db)) :]
        if db.execute("SELECT 1 FROM papers WHERE path = ?", (short,)).fetchone() is None:
            db.execute("UPDATE papers SET path = ? WHERE paper_id = ?", (short, paper_id))
            seal(db, "papers", "paper_id = ?", (paper_id,))


def _within(db: sqlite3.Connection) -> bytes:
    return _with_separator(_root(db))


def _root(db: sqlite3.Connection) -> str:
    return db.root if isinstance(db, Database) else ""


def _with_separator(root: str) -> bytes:
    """What the full paths of files within the home begin with."""
    return os.fsencode(os.path.join(root, "")) if root else b""  # noqa: PTH118  # with a separator at its end
