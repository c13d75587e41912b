"""Token vectors on disk: one append-only file of int8 rows, and a table of each text's offset in it.

They cost a model pass, so they are not a disposable cache: rows are appended and synced before the
transaction that names them commits. Rows in the file without an entry in the table are left over from a killed run or
from removed papers; `compact` drops them. A missing or damaged row is ignored by searches.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.store.atomic_files import disk_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ROW_BYTES", "Tokens"]

ROW_BYTES = 64
"""A token's vector: 64 dimensions of int8."""
_FILE_KEY = "tokens_file"
_BATCH = 500


class Tokens:
    """The token vectors of one library; every method is called inside a transaction of `db`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: tuple[str, NDArray[np.int8]] | None = None

    def append(self, db: sqlite3.Connection, passages: Mapping[bytes, NDArray[np.int8]]) -> None:
        """Store the token vectors, shape (n, 64), int8, of texts by their hash. Raises RagScienceError: disk full."""
        if not passages:
            return
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / self._name(db)
            with path.open("ab") as file:
                offset = file.tell()
                places = []
                for key, rows in passages.items():
                    content = rows.tobytes()
                    file.write(content)
                    places.append((key, offset, len(content), zlib.crc32(content)))
                    offset += len(content)
                file.flush()
                os.fsync(file.fileno())
        db.executemany("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?)", places)

    def of_chunks(self, db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        """The token vectors, shape (n, 64), int8, of the chunks that have intact ones."""
        found: dict[int, NDArray[np.int8]] = {}
        data = self._mapped(db)
        if data is None:
            return found
        for first in range(0, len(ids), _BATCH):
            batch = [int(chunk_id) for chunk_id in ids[first : first + _BATCH]]
            marks = ",".join("?" * len(batch))
            query = (
                "SELECT chunk_id, start, bytes, checksum FROM vectors JOIN tokens USING (text_hash) "  # noqa: S608
                f"WHERE chunk_id IN ({marks})"
            )
            for chunk_id, start, count, checksum in db.execute(query, batch):
                rows = data[start : start + count]
                if len(rows) == count and count % ROW_BYTES == 0 and zlib.crc32(rows.data) == checksum:
                    found[chunk_id] = rows.reshape(-1, ROW_BYTES)
        return found

    def missing(self, db: sqlite3.Connection) -> int:
        """How many chunks have no token vectors."""
        (count,) = db.execute(
            "SELECT COUNT(*) FROM vectors WHERE text_hash NOT IN (SELECT text_hash FROM tokens)"
        ).fetchone()
        return int(count)

    def size_bytes(self, db: sqlite3.Connection) -> int:
        """The size of the file on disk in bytes, waste included."""
        path = self._path(db)
        return path.stat().st_size if path is not None and path.exists() else 0

    def compact(self, db: sqlite3.Connection) -> int:
        """Copy the intact rows that the table names into a new file next to the old one; returns the bytes dropped."""
        before, old = self.size_bytes(db), self._mapped(db)
        rows = db.execute("SELECT text_hash, start, bytes, checksum FROM tokens ORDER BY start").fetchall()
        used = {key for (key,) in db.execute("SELECT DISTINCT text_hash FROM vectors")}
        db.execute("DELETE FROM tokens")
        db.execute("DELETE FROM meta WHERE key = ?", (_FILE_KEY,))
        kept: dict[bytes, NDArray[np.int8]] = {}
        for key, start, count, checksum in rows:
            content = old[start : start + count] if old is not None else None
            if (
                key in used
                and content is not None
                and len(content) == count
                and zlib.crc32(content.tobytes()) == checksum
            ):
                kept[key] = content
            if len(kept) == _BATCH:
                self.append(db, kept)
                kept = {}
        self.append(db, kept)
        return before - self.size_bytes(db)

    def remove_others(self, db: sqlite3.Connection) -> None:
        """Delete the files that the database does not name; call it after the transaction that renamed it."""
        name = self._name_or_none(db)
        if self._folder.is_dir():
            for path in self._folder.glob("*.int8"):
                if path.name != name:
                    path.unlink(missing_ok=True)

    def _name(self, db: sqlite3.Connection) -> str:
        name = self._name_or_none(db)
        if name is None:
            name = f"{uuid.uuid4().hex}.int8"
            db.execute("INSERT INTO meta VALUES (?, ?)", (_FILE_KEY, name))
        return name

    @staticmethod
    def _name_or_none(db: sqlite3.Connection) -> str | None:
        row = db.execute("SELECT value FROM meta WHERE key = ?", (_FILE_KEY,)).fetchone()
        return None if row is None else str(row[0])

    def _path(self, db: sqlite3.Connection) -> Path | None:
        name = self._name_or_none(db)
        return None if name is None else self._folder / name

    def _mapped(self, db: sqlite3.Connection) -> NDArray[np.int8] | None:
        """The file as memory, as far as it exists now, or None if there is none."""
        import numpy as np

        path = self._path(db)
        try:
            size = path.stat().st_size if path is not None else 0
        except OSError:
            size = 0
        if path is None or not size:
            return None
        last = self._open
        if last is None or last[0] != path.name or len(last[1]) != size:
            last = self._open = path.name, np.memmap(path, np.int8, mode="r", shape=(size,))
        return last[1]
