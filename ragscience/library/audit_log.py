"""The audit log's file: one line per answer, on the disk before the answer is shown, never torn or mixed.

Writers take turns with an operating system lock on the file itself, so that a killed writer holds nothing. A full file
is renamed while it is locked; a writer that waited for the lock then finds another file under the name and opens it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ragscience.core.errors import LibraryUnavailable
from ragscience.library.atomic_files import disk_errors

__all__ = ["AuditLog", "lock", "rotated_files", "unsealed"]

LOCK_SECONDS = 10.0
"""A writer holds the file for a few milliseconds."""
_PAUSE_SECONDS = 0.005
_CHECKSUM = b', "checksum": '
"""The last field of a line: the CRC-32 of the bytes before it. Records of earlier versions have none."""


class AuditLog:
    """`path` and its rotated files: `path`.1 is the newest of at most `keep` files that reached `max_bytes`."""

    def __init__(self, path: Path, *, max_bytes: int, keep: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record to the disk, usually with one open, one write and one fsync.

        Only the last byte of the file is read, to begin a new line after one that was cut short. After an error the
        file ends as before. Raises RagScienceError for a disk error, LibraryUnavailable where another process holds
        the file for LOCK_SECONDS.
        """
        line = _sealed(json.dumps(record, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace"))
        with disk_errors(self._path):
            handle = self._open_for(len(line))
            try:
                is_new = _append(handle, line)
            finally:
                os.close(handle)
            if is_new:
                _sync_folder(self._path.parent)

    def _open_for(self, size: int) -> int:
        """The locked file, with space for `size` bytes; a full file is rotated."""
        while True:
            handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                lock(handle, self._path)
                if _is_at(self._path, handle):
                    present = os.fstat(handle).st_size
                    if not present or present + size <= self._max_bytes:
                        return handle
                    self._rotate()
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def _rotate(self) -> None:
        """Give each file the next number, up to the first free one; without a free one the oldest is deleted."""
        places = [self._path, *(_numbered(self._path, number) for number in range(1, self._keep + 1))]
        free = next((number for number, place in enumerate(places) if not place.exists()), self._keep)
        for number in range(free, 0, -1):
            places[number - 1].replace(places[number])
        for number, old in rotated_files(self._path):
            if number > self._keep:
                old.unlink(missing_ok=True)
        _sync_folder(self._path.parent)


def lock(handle: int, path: Path, *, shared: bool = False) -> None:
    """Hold the file until `handle` is closed. Raises LibraryUnavailable after LOCK_SECONDS."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    last = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > last:
                raise LibraryUnavailable(
                    f"Another process has held {path} for {LOCK_SECONDS:g} s.", "Wait until it is done, or stop it."
                ) from None
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def rotated_files(path: Path) -> list[tuple[int, Path]]:
    """(number, file) of each rotated file, the newest first. Raises OSError."""
    start = f"{path.name}."
    if not path.parent.is_dir():
        return []
    numbered = ((item.name.removeprefix(start), item) for item in path.parent.iterdir() if item.name.startswith(start))
    return sorted((int(end), item) for end, item in numbered if end.isascii() and end.isdecimal())


def _sealed(record: bytes) -> bytes:
    """The line of a JSON object, with the checksum as its last field."""
    body = record.removesuffix(b"}")
    return body + _CHECKSUM + str(zlib.crc32(body)).encode() + b"}\n"


def unsealed(line: bytes) -> bytes | None:
    """The JSON object of a line without its checksum; None for one that is not what was written."""
    body, mark, checksum = line.rstrip().rpartition(_CHECKSUM)
    if not mark:
        return line
    return body + b"}" if checksum == str(zlib.crc32(body)).encode() + b"}" else None


def _append(handle: int, line: bytes) -> bool:
    """Append the whole line or nothing; gives whether the file was empty. Raises OSError."""
    size = os.fstat(handle).st_size
    is_whole = not size or os.pread(handle, 1, size - 1) == b"\n"
    rest = memoryview(line if is_whole else b"\n" + line)
    try:
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise
    return not size


def _is_at(path: Path, handle: int) -> bool:
    """Whether the open file still has that name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
