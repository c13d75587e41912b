"""Atomic file writes, checksums of files, the lock of the one writer, and operating-system errors as messages."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragscience.core.errors import DiskProblem, LibraryBusy

_PART_BYTES = 1 << 20
_ELSEWHERE = "use another folder with --home."
_DISK = (
    ({errno.ENOSPC, errno.EDQUOT, errno.EFBIG}, "could not be written, the disk is full", "Make room."),
    ({errno.EACCES, errno.EPERM, errno.EROFS}, "cannot be written", f"Give this user write access, or {_ELSEWHERE}"),
    (
        {errno.ENOTDIR, errno.EEXIST}, "cannot be made",
        f"A file has the name of a needed folder: move it away, or {_ELSEWHERE}",
    ),
)  # fmt: skip
"""What an error of the system means, and what helps."""


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about `path` into DiskProblem with a fix."""
    try:
        yield
    except OSError as error:
        what, fix = next(
            (words for codes, *words in _DISK if error.errno in codes), ("could not be written", "Check the disk.")
        )
        raise DiskProblem(f"{path} {what}: {error.strerror or error}.", fix) from error


def write_atomically(path: Path, content: bytes | memoryview, *, private: bool = False) -> None:
    """Replace `path` atomically: a reader, or a crash, finds the old content or the new. Raises OSError.

    Only its owner may read a `private` one.
    """
    # Nobody else can have put a link there: the name cannot be guessed, and the file has to be new.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb", opener=_open_private if private else None) as file:
            file.write(content)
        put_in_place(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class DamagedFile(ValueError):
    """A file is not what was written."""


def write_checked_json(path: Path, content: object) -> None:
    """Replace `path` atomically with `content` as JSON and its CRC-32. Raises OSError."""
    checksum = zlib.crc32(json.dumps(content).encode())
    # Without indentation, for which Python has a slow encoder only.
    text = json.dumps({"checksum": checksum, "content": content}) + "\n"
    write_atomically(path, text.encode())


def read_checked_json(path: Path) -> Any:
    """What `write_checked_json` wrote. Raises OSError, ValueError, KeyError or TypeError where that is not there."""
    whole = json.loads(path.read_bytes())
    if zlib.crc32(json.dumps(whole["content"]).encode()) != whole["checksum"]:
        raise DamagedFile(f"{path} is not what was written")
    return whole["content"]


def put_in_place(temporary: Path, path: Path) -> None:
    """Sync a finished file, rename it, then sync the folder. Raises OSError."""
    _sync(temporary)
    temporary.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def file_signature(path: Path) -> dict[str, object]:
    """The size of a file and its CRC-32; size -1 where it cannot be read."""
    checksum = 0
    try:
        with path.open("rb") as file:
            while part := file.read(_PART_BYTES):
                checksum = zlib.crc32(part, checksum)
            return {"size": file.tell(), "digest": f"{checksum:08x}"}
    except OSError:
        return {"size": -1, "digest": ""}


class WriterLock:
    """The right to write a library, held until `release`."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    @classmethod
    def acquire(cls, path: Path) -> WriterLock:
        """Take the lock. Raises LibraryBusy while another process writes, RagScienceError for a path not writable."""
        with disk_errors(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with disk_errors(path):
                os.ftruncate(handle, 0)
                os.pwrite(handle, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            owner = os.pread(handle, 20, 0).decode(errors="replace").strip()
            os.close(handle)
            raise LibraryBusy(
                f"The library is being written by process {owner or 'unknown'}.",
                "Wait until it is done, or stop that process.",
            ) from None
        except BaseException:
            os.close(handle)
            raise
        return cls(handle)

    def release(self) -> None:
        """Release the lock; may be called twice."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
