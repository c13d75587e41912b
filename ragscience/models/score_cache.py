"""A cache of LLM scores of passages, so that the same question costs no second call: a small SQLite file.

A failure of the cache never stops a search. Unreadable or unwritable files are ignored, a damaged one is renamed, and a
killed process leaves what was committed. Each use opens the file again, so that many processes may share it.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

__all__ = ["ScoreCache"]

_BUSY_SECONDS = 0.2
_TABLE = "CREATE TABLE IF NOT EXISTS scores_1 (key BLOB PRIMARY KEY, score REAL NOT NULL)"
_TRIM = "DELETE FROM scores_1 WHERE rowid <= (SELECT MAX(rowid) FROM scores_1) - ?"
_MOST_VARIABLES = 500


class ScoreCache:
    """Scores by key in the file `path`; the newest `most` are kept."""

    def __init__(self, path: Path, *, most: int, on_warning: Callable[[str], None]) -> None:
        self._path = path
        self._most = most
        self._on_warning = on_warning

    def get(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The finite scores of those of `keys` that are cached."""
        found: dict[bytes, float] = {}

        def read(connection: sqlite3.Connection) -> None:
            for start in range(0, len(keys), _MOST_VARIABLES):
                wanted = keys[start : start + _MOST_VARIABLES]
                marks = ", ".join("?" * len(wanted))
                query = f"SELECT key, score FROM scores_1 WHERE key IN ({marks})"  # noqa: S608  # question marks alone
                found.update({key: score for key, score in connection.execute(query, wanted) if _is_score(key, score)})

        if self._path.exists():
            self._use("ro", read)
        return found

    def put(self, scores: Mapping[bytes, float]) -> None:
        """Store the scores; failures are ignored."""

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.executemany("INSERT OR REPLACE INTO scores_1 VALUES (?, ?)", list(scores.items()))
            connection.execute(_TRIM, (self._most,))
            connection.execute("COMMIT")

        if scores:
            self._use("rwc", write)

    def _use(self, mode: str, work: Callable[[sqlite3.Connection], None]) -> None:
        uri = f"file:{quote(os.fsencode(self._path.absolute()))}?mode={mode}"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                work(connection)
        except sqlite3.OperationalError:
            return  # busy, read-only, a full disk, no table yet: it is only a cache
        except sqlite3.DatabaseError:
            self._set_aside()

    def _set_aside(self) -> None:
        aside = self._path.with_name(f"{self._path.name}.damaged")
        with suppress(OSError):
            self._path.replace(aside)
            self._on_warning(f"{self._path.name} is damaged and set aside as {aside.name}; a new one is started.")


def _is_score(key: object, score: object) -> bool:
    return isinstance(key, bytes) and isinstance(score, float) and math.isfinite(score)
