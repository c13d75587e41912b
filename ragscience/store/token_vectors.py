"""Token vectors on disk: one append-only file of int8 rows, and a table of each text's offset in it.

They cost a model pass, so they are not a disposable cache: rows are appended and synced before the
transaction that names them commits. Rows in the file without an entry in the table are left over from a killed run or
from removed papers; `compact` drops them. A missing or damaged row is noted and ignored by searches. A text whose token
vectors are not kept, because there is no room or no model for them, has an entry that says so.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragscience.store.atomic_files import disk_errors
from ragscience.store.content_checks import NOT_KEPT
from ragscience.store.library_damage import note
from ragscience.store.library_schema import connect_for_reading
from ragscience.store.row_checksums import row_checksum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ROW_BYTES", "Tokens"]

ROW_BYTES = 64
"""A token's vector: 64 dimensions of int8."""
_FILE_KEY = "tokens_file"
_BATCH = 500
_PLACES = "SELECT text_hash, start, bytes, checksum, row_checksum FROM tokens"
_Value = TypeVar("_Value")


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
        db.executemany(
            "INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?)", ((*row, row_checksum(*row)) for row in places)
        )

    def of_chunks(self, db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        """The token vectors, shape (n, 64), int8, of the chunks that have intact ones; lost ones are noted."""
        hashes: dict[int, bytes] = {}
        for batch in _batches([int(chunk_id) for chunk_id in ids]):
            query = f"SELECT chunk_id, text_hash FROM vectors WHERE chunk_id IN ({_marks(batch)})"  # noqa: S608
            hashes.update(db.execute(query, batch).fetchall())
        intact: dict[bytes, NDArray[np.int8]] = {}
        unkept: set[bytes] = set()
        with self._current(db) as (table, data):
            for keys in _batches(list(set(hashes.values()))):
                for place in table.execute(f"{_PLACES} WHERE text_hash IN ({_marks(keys)})", keys):
                    rows = _intact_rows(data, place)
                    if rows is not None:
                        intact[place[0]] = rows
                    elif _is_unkept(place):
                        unkept.add(place[0])
            lost = [one for one, key in hashes.items() if key not in intact and key not in unkept]
            if lost and table is db:  # a newer table lacks papers that were removed since
                note(db, "token", None, lost)
        return {chunk_id: intact[key] for chunk_id, key in hashes.items() if key in intact}

    def missing(self, db: sqlite3.Connection, ids: Sequence[int]) -> tuple[list[int], list[int]]:
        """Those of `ids` whose token vectors are lost or damaged, and those of which none are kept."""
        found = self.of_chunks(db, ids)
        query = (
            "SELECT chunk_id, text_hash, start, bytes, t.checksum, row_checksum FROM vectors"
            " JOIN tokens AS t USING (text_hash) WHERE start = ?"
        )
        unkept = {row[0] for row in db.execute(query, (NOT_KEPT,)) if _is_unkept(row[1:])}
        absent = [chunk_id for chunk_id in ids if chunk_id not in found]
        return [one for one in absent if one not in unkept], [one for one in absent if one in unkept]

    def unkept(self, db: sqlite3.Connection) -> int:
        """Of how many chunks no token vectors are kept."""
        query = "SELECT COUNT(*) FROM vectors JOIN tokens USING (text_hash) WHERE start = ?"
        return int(db.execute(query, (NOT_KEPT,)).fetchone()[0])

    def size_bytes(self, db: sqlite3.Connection) -> int:
        """The size of the file on disk in bytes, waste included."""
        path = self._path(db)
        return path.stat().st_size if path is not None and path.exists() else 0

    def compact(self, db: sqlite3.Connection) -> int:
        """Copy the intact rows that the table names into a new file next to the old one; returns the bytes dropped."""
        before, old = self.size_bytes(db), self._mapped(db)
        rows = db.execute(f"{_PLACES} ORDER BY start").fetchall()
        used = {key for (key,) in db.execute("SELECT DISTINCT text_hash FROM vectors")}
        db.execute("DELETE FROM tokens")
        db.execute("DELETE FROM meta WHERE key = ?", (_FILE_KEY,))
        db.executemany(
            "INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", (row for row in rows if row[0] in used and _is_unkept(row))
        )
        kept: dict[bytes, NDArray[np.int8]] = {}
        for row in rows:
            content = _intact_rows(old, row) if row[0] in used else None
            if content is not None:
                kept[row[0]] = content
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

    @contextmanager
    def _current(self, db: sqlite3.Connection) -> Iterator[tuple[sqlite3.Connection, NDArray[np.int8] | None]]:
        """A table of places and the file that it belongs to, None if that is lost.

        The table is that of `db`, unless another process has compacted the file that this snapshot names and deleted
        it: then it is the present one. Token vectors go by the hash of their text, so both mean the same.
        """
        table, data = db, self._mapped(db)
        try:
            while data is None and (name := self._name_or_none(table)) and not (self._folder / name).exists():
                newer = _connected_again(table)
                if newer is None:
                    break
                if self._name_or_none(newer) == name:
                    newer.close()
                    break
                if table is not db:
                    table.close()
                table, data = newer, self._mapped(newer)
            yield table, data
        finally:
            if table is not db:
                table.close()

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


def _connected_again(db: sqlite3.Connection) -> sqlite3.Connection | None:
    """A connection to the same database as it is now, in a transaction; None for one in memory."""
    path = next(file for _, name, file in db.execute("PRAGMA database_list") if name == "main")
    newer = connect_for_reading(Path(path)) if path else None
    if newer is not None:
        newer.execute("BEGIN")
    return newer


def _batches(values: list[_Value]) -> Iterator[list[_Value]]:
    return (values[first : first + _BATCH] for first in range(0, len(values), _BATCH))


def _marks(values: list[Any]) -> str:
    return ",".join("?" * len(values))


_Place = tuple[Any, ...]
"""A row of `tokens`: hash of the text, place and bytes in the file, checksum of these, checksum of the row."""


def _intact_rows(data: NDArray[np.int8] | None, place: _Place) -> NDArray[np.int8] | None:
    """The token vectors at a place, shape (n, 64), int8; None unless they are what was written."""
    key, start, count, checksum, of_row = place
    if of_row is None or start == NOT_KEPT or row_checksum(key, start, count, checksum) != of_row:
        return None
    if data is None:
        import numpy as np

        data = np.empty(0, np.int8)
    rows = data[start : start + count]
    if len(rows) != count or count % ROW_BYTES or zlib.crc32(rows.data) != checksum:
        return None
    return rows.reshape(-1, ROW_BYTES)


def _is_unkept(place: _Place) -> bool:
    return bool(place[1] == NOT_KEPT) and row_checksum(*place[:4]) == place[4]
