"""Token vectors on disk: one append-only file of codes (token_codes.py), and a table of each text's offset in it.

They cost a model pass, so they are not a disposable cache: rows are appended and synced before the
transaction that names them commits. Rows in the file without an entry in the table are left over from a killed run or
from removed papers; `compact` drops them. A missing or damaged row is noted and ignored by searches. A text whose token
vectors are not kept, because there is no room or no model for them, has an entry that says so.

A file of a version before schema 8 has rows of 64 numbers of int8, a unit vector times 127. They become codes as they
are read, and `compact`, which opening such a library for writing calls, writes the codes.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ragscience.library.atomic_files import disk_errors
from ragscience.library.content_checks import NOT_KEPT
from ragscience.library.library_damage import note
from ragscience.library.library_schema import connect_for_reading
from ragscience.library.row_checksums import row_checksum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Tokens", "token_files"]

_SUFFIX, _INT8_SUFFIX = ".codes", ".int8"
_FILE_KEY = "tokens_file"
_BATCH = 500
_PLACES = "SELECT text_hash, start, bytes, checksum, row_checksum FROM tokens"
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class _TokenFile:
    """The file, as far as it existed when it was mapped."""

    name: str
    content: NDArray[np.uint8]


class Tokens:
    """The token vectors of one library; every method is called inside a transaction of `db`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: _TokenFile | None = None

    def append(self, db: sqlite3.Connection, passages: Mapping[bytes, NDArray[np.uint8]]) -> None:
        """Store the codes, shape (n, 28), of texts by their hash. Raises RagScienceError: disk full."""
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

    def of_chunks(self, db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
        """The codes, shape (n, 28), of the chunks that have intact ones; lost ones are noted."""
        hashes: dict[int, bytes] = {}
        for batch in _batches([int(chunk_id) for chunk_id in ids]):
            query = f"SELECT chunk_id, text_hash FROM vectors WHERE chunk_id IN ({_marks(batch)})"  # noqa: S608
            hashes.update(db.execute(query, batch).fetchall())
        intact: dict[bytes, NDArray[np.uint8]] = {}
        unkept: set[bytes] = set()
        with self._current(db) as (table, file):
            for keys in _batches(list(set(hashes.values()))):
                for place in table.execute(f"{_PLACES} WHERE text_hash IN ({_marks(keys)})", keys):
                    codes = _intact_codes(file, place)
                    if codes is not None:
                        intact[place[0]] = codes
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

    def compact(self, db: sqlite3.Connection, on_done: Callable[[int, int], None] = lambda *_: None) -> int:
        """Copy the intact rows that the table names into a new file next to the old one; returns the bytes dropped.

        `on_done` gets how many passages are done, and of how many, after every 500.
        """
        before, old = self.size_bytes(db), self._mapped(db)
        rows = db.execute(f"{_PLACES} ORDER BY start").fetchall()
        used = {key for (key,) in db.execute("SELECT DISTINCT text_hash FROM vectors")}
        db.execute("DELETE FROM tokens")
        db.execute("DELETE FROM meta WHERE key = ?", (_FILE_KEY,))
        db.executemany(
            "INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", (row for row in rows if row[0] in used and _is_unkept(row))
        )
        kept: dict[bytes, NDArray[np.uint8]] = {}
        for number, row in enumerate(rows, 1):
            content = _intact_codes(old, row) if row[0] in used else None
            if content is not None:
                kept[row[0]] = content
            if len(kept) == _BATCH:
                self.append(db, kept)
                kept = {}
            if number % _BATCH == 0 or number == len(rows):
                on_done(number, len(rows))
        self.append(db, kept)
        return before - self.size_bytes(db)

    def remove_others(self, db: sqlite3.Connection) -> None:
        """Delete the files that the database does not name; call it after the transaction that renamed it."""
        name = self._name_or_none(db)
        for path in token_files(self._folder):
            if path.name != name:
                path.unlink(missing_ok=True)

    def are_int8(self, db: sqlite3.Connection) -> bool:
        """Whether the file is one of a version before schema 8."""
        return (self._name_or_none(db) or "").endswith(_INT8_SUFFIX)

    def _name(self, db: sqlite3.Connection) -> str:
        name = self._name_or_none(db)
        if name is None:
            name = f"{uuid.uuid4().hex}{_SUFFIX}"
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
    def _current(self, db: sqlite3.Connection) -> Iterator[tuple[sqlite3.Connection, _TokenFile | None]]:
        """A table of places and the file that it belongs to, None if that is lost.

        The table is that of `db`, unless another process has compacted the file that this snapshot names and deleted
        it: then it is the present one. Token vectors go by the hash of their text, so both mean the same.
        """
        table, file = db, self._mapped(db)
        try:
            while file is None and (name := self._name_or_none(table)) and not (self._folder / name).exists():
                newer = _connected_again(table)
                if newer is None:
                    break
                if self._name_or_none(newer) == name:
                    newer.close()
                    break
                if table is not db:
                    table.close()
                table, file = newer, self._mapped(newer)
            yield table, file
        finally:
            if table is not db:
                table.close()

    def _mapped(self, db: sqlite3.Connection) -> _TokenFile | None:
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
        if last is None or last.name != path.name or len(last.content) != size:
            last = self._open = _TokenFile(path.name, np.memmap(path, np.uint8, mode="r", shape=(size,)))
        return last


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


def _intact_codes(file: _TokenFile | None, place: _Place) -> NDArray[np.uint8] | None:
    """The codes at a place, shape (n, 28); None unless they are made from what was written."""
    import numpy as np

    from ragscience.models.token_codes import CODE_BYTES, DIMENSION, codes_of_int8

    key, start, count, checksum, of_row = place
    if of_row is None or start == NOT_KEPT or row_checksum(key, start, count, checksum) != of_row:
        return None
    content = file.content[start : start + count] if file is not None else np.empty(0, np.uint8)
    is_int8 = file is not None and file.name.endswith(_INT8_SUFFIX)
    if len(content) != count or count % (DIMENSION if is_int8 else CODE_BYTES) or zlib.crc32(content.data) != checksum:
        return None
    if is_int8:
        return codes_of_int8(content.view(np.int8))
    return content.reshape(-1, CODE_BYTES)


def _is_unkept(place: _Place) -> bool:
    return bool(place[1] == NOT_KEPT) and row_checksum(*place[:4]) == place[4]


def token_files(folder: Path) -> list[Path]:
    """The files of token vectors in a folder; more than one where a run was killed."""
    return [path for suffix in (_SUFFIX, _INT8_SUFFIX) for path in folder.glob(f"*{suffix}")]
