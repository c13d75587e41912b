"""Small texts that a library keeps by kind and key: which files are left out of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from ragscience.core.serialization import storable
from ragscience.library.damage import Damage
from ragscience.library.sealed_rows import opened, sealed

__all__ = ["read_notes", "write_notes"]


def read_notes(db: sqlite3.Connection, kind: str, damage: Damage) -> dict[str, str]:
    """The texts of a kind, by their keys; damaged ones are noted and left out."""
    found = {}
    for key, row in db.execute("SELECT key, row FROM notes WHERE kind = ?", (kind,)):
        content = opened((kind, key), row)
        if content is None:
            damage.note("note")
        else:
            found[key] = content.decode()
    return found


def write_notes(db: sqlite3.Connection, kind: str, texts: Mapping[str, str | None]) -> None:
    """Keep the texts by their keys; None forgets one."""
    for key, text in texts.items():
        if text is None:
            db.execute("DELETE FROM notes WHERE kind = ? AND key = ?", (kind, key))
        else:
            row = sealed((kind, key), storable(text).encode())
            db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (kind, key, row))
