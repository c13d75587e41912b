"""Token vectors on disk: one append-only file of codes (token_codes.py), and a table of each text's offset in it.

They cost a model pass, so they are not a disposable cache: rows are appended and synced before the
transaction that names them commits. Rows in the file without an entry in the table are left over from a killed run or
from removed papers; `compact` drops them. A missing or damaged row is noted and ignored by searches. A text whose token
vectors are not kept, because there is no room or no model for them, has an entry of no bytes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.library.atomic_files import disk_errors
from ragscience.library.sealed_rows import opened, read_state, sealed, write_state
from ragscience.library.snapshots import Snapshot, Snapshots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Tokens", "token_files"]

_SUFFIX = ".codes"
_BATCH = 500
_PLACE = struct.Struct("<qqI")
"""Where a text's codes start, how many bytes they are, their CRC-32."""


@dataclass(frozen=True, slots=True)
class _TokenFile:
    """The file, as far as it existed when it was mapped."""

    name: str
    content: NDArray[np.uint8]


class Tokens:
    """The token vectors of one library; thread-safe."""

    def __init__(self, folder: Path, snapshots: Snapshots) -> None:
        self._folder = folder
        self._snapshots = snapshots
        self._open: _TokenFile | None = None

    def of(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
        """Codes of the token vectors (token_codes.py), shape (tokens, 28), of the passages that have any."""
        with self._snapshots.now() as at:
            return self._read(at, ids)[0] if at is not None else {}

    def put(self, tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
        """Keep token vectors, codes of shape (n, 28), by the hash of their text. Raises RagScienceError: disk full."""
        with self._snapshots.transactions.writing() as db:
            self.append(db, tokens)
        self._snapshots.damage.forget("token")

    def size_bytes(self) -> int:
        """The size of the token vectors on disk in bytes, waste included."""
        with self._snapshots.now() as at:
            path = self._folder / at.state.tokens_file if at is not None else self._folder
        return path.stat().st_size if path.is_file() else 0

    def not_kept(self) -> int:
        """Of how many passages no token vectors are kept."""
        with self._snapshots.now() as at:
            if at is None:
                return 0
            query = "SELECT text_hash, t.row FROM vectors JOIN tokens AS t USING (text_hash)"
            return sum(place is not None and not place[1] for place in map(_place, at.db.execute(query)))

    def missing(self) -> tuple[list[int], list[int]]:
        """The passages whose token vectors are lost or damaged, and those of which none are kept; reads all of them."""
        with self._snapshots.now() as at:
            if at is None:
                return [], []
            ids = at.listing.chunk_ids.tolist()
            found, unkept = self._read(at, ids)
        return [one for one in ids if one not in found and one not in unkept], sorted(unkept)

    def compact(self) -> int:
        """Drop the data that no passage needs: write the intact rest into a new file; returns the bytes freed."""
        before = self.size_bytes()
        with self._snapshots.transactions.writing() as db:
            old = self._mapped(read_state(db).tokens_file)
            used = {key for (key,) in db.execute("SELECT DISTINCT text_hash FROM vectors")}
            places = {
                row[0]: place for row in db.execute("SELECT text_hash, row FROM tokens") if (place := _place(row))
            }
            db.execute("DELETE FROM tokens")
            write_state(db, replace(read_state(db), tokens_file=""))
            _insert(db, ((key, place) for key, place in places.items() if key in used and not place[1]))
            kept: dict[bytes, NDArray[np.uint8]] = {}
            for key, place in sorted(places.items(), key=lambda item: item[1]):
                codes = _codes(old, place) if key in used and place[1] else None
                if codes is not None:
                    kept[key] = codes
                if len(kept) == _BATCH:
                    self.append(db, kept)
                    kept = {}
            self.append(db, kept)
        self._snapshots.damage.forget("token")
        return before - self.size_bytes()

    def append(self, db: sqlite3.Connection, passages: Mapping[bytes, NDArray[np.uint8]]) -> None:
        """As `put`, in a change that is under way."""
        if not passages:
            return
        name = read_state(db).tokens_file
        if not name:
            name = f"{uuid.uuid4().hex}{_SUFFIX}"
            write_state(db, replace(read_state(db), tokens_file=name))
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / name).open("ab") as file:
                offset = file.tell()
                places = []
                for key, rows in passages.items():
                    content = rows.tobytes()
                    file.write(content)
                    places.append((key, (offset, len(content), zlib.crc32(content))))
                    offset += len(content)
                file.flush()
                os.fsync(file.fileno())
        _insert(db, places)

    def remove_other_files(self) -> None:
        """Delete the files that the library does not name any more: left by a compaction or a killed run."""
        with self._snapshots.now() as at:
            name = at.state.tokens_file if at is not None else ""
        for path in token_files(self._folder):
            if path.name != name:
                path.unlink(missing_ok=True)

    def _read(self, at: Snapshot, ids: Sequence[int]) -> tuple[dict[int, NDArray[np.uint8]], set[int]]:
        """(the codes of the passages that have intact ones, the passages of which none are kept); notes the others."""
        wanted = [int(one) for one in ids]
        hashes: dict[int, bytes] = {}
        places: dict[bytes, tuple[int, int, int]] = {}
        for first in range(0, len(wanted), _BATCH):
            query = (
                "SELECT chunk_id, text_hash, t.row FROM vectors LEFT JOIN tokens AS t USING (text_hash)"
                " WHERE chunk_id IN (SELECT value FROM json_each(?))"
            )
            for chunk_id, key, row in at.db.execute(query, (json.dumps(wanted[first : first + _BATCH]),)):
                hashes[chunk_id] = key
                if (place := _place((key, row))) is not None:
                    places[key] = place
        file = self._mapped(at.state.tokens_file)
        intact = {
            key: codes for key, place in places.items() if place[1] and (codes := _codes(file, place)) is not None
        }
        unkept = {one for one, key in hashes.items() if key in places and not places[key][1]}
        for chunk_id, key in hashes.items():
            if key not in intact and chunk_id not in unkept:
                at.damage.note("token", chunk_id)
        return {one: intact[key] for one, key in hashes.items() if key in intact}, unkept

    def _mapped(self, name: str) -> _TokenFile | None:
        """The file as memory, as far as it exists now, or None if there is none."""
        import numpy as np

        path = self._folder / name
        try:
            size = path.stat().st_size if name else 0
        except OSError:
            size = 0
        if not size:
            return None
        last = self._open
        if last is None or last.name != name or len(last.content) != size:
            last = self._open = _TokenFile(name, np.memmap(path, np.uint8, mode="r", shape=(size,)))
        return last


def mark_not_kept(db: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
    """Note of those of the texts that have no token vectors that none are kept."""
    known = {key for key in hashes if db.execute("SELECT 1 FROM tokens WHERE text_hash = ?", (key,)).fetchone() is None}
    _insert(db, ((key, (0, 0, 0)) for key in known))


def _insert(db: sqlite3.Connection, places: Iterable[tuple[bytes, tuple[int, int, int]]]) -> None:
    db.executemany(
        "INSERT OR REPLACE INTO tokens VALUES (?, ?)",
        ((key, sealed(("token", key), _PLACE.pack(*place))) for key, place in places),
    )


def _place(row: tuple[bytes, object]) -> tuple[int, int, int] | None:
    """The place that a row of `tokens` names; None where it is damaged."""
    content = opened(("token", row[0]), row[1])
    return None if content is None else _PLACE.unpack(content)


def _codes(file: _TokenFile | None, place: tuple[int, int, int]) -> NDArray[np.uint8] | None:
    """The codes at a place, shape (n, 28); None unless they are what was written."""
    from ragscience.models.token_codes import CODE_BYTES

    start, count, checksum = place
    content = file.content[start : start + count] if file is not None else None
    if content is None or len(content) != count or count % CODE_BYTES or zlib.crc32(content.data) != checksum:
        return None
    return content.reshape(-1, CODE_BYTES)


def token_files(folder: Path) -> list[Path]:
    """The files of token vectors in a folder; more than one where a run was killed."""
    return [path for suffix in (_SUFFIX, ".int8") for path in folder.glob(f"*{suffix}")]
