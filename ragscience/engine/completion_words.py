"""What a shell may complete: names of papers and conversations, read without opening the library or writing a file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from ragscience.library.home import Home

__all__ = ["conversation_names", "paper_names"]


def paper_names(home: Path) -> list[str]:
    """The papers' file names, from ingested.json; OSError, ValueError or KeyError where that cannot be read."""
    known = json.loads(Home(home).ledger.read_text(encoding="utf-8"))
    return [str(paper["file"]) for paper in known["files"].values()]


def conversation_names(home: Path) -> list[str]:
    """The conversations' names; those of a running chat may be missing. sqlite3.Error where they cannot be read."""
    address = f"file:{quote(str(Home(home).history.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return [str(name) for (name,) in connection.execute("SELECT name FROM conversations WHERE name IS NOT NULL")]
