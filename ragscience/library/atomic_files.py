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
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from ragscience.core.errors import DiskProblem, LibraryBusy

_PART_BYTES = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_NOT_A_FOLDER = {errno.ENOTDIR, errno.EEXIST}


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn an OSError about `path` into DiskProblem with a fix."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            raise DiskProblem(f"The disk is full: {path} could not be written ({reason}).", "Make room.") from error
        if error.errno in _FORBIDDEN:
            fix = "Give this user write permission, or use another folder with --home."
            raise DiskProblem(f"{path} cannot be written: {reason}.", fix) from error
        if error.errno in _NOT_A_FOLDER:
            fix = "A file has the name of a needed folder: move it away, or use another folder with --home."
            raise DiskProblem(f"{path} cannot be made: {reason}.", fix) from error
        raise DiskProblem(f"{path} could not be written: {reason}.", "Check the disk.") from error


def write_atomically(path: Path, content: bytes, *, private: bool = False) -> None:
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


@dataclass(frozen=True, slots=True)
class Signature:
    """Identifies the content of a cache file: by size and time if unchanged, else by digest."""

    size: int
    modified_ns: int
    digest: str
    """CRC-32, in hexadecimal."""

    @classmethod
    def of(cls, path: Path) -> Signature:
        """The signature of the file as it is now. Raises OSError."""
        stat = path.stat()
        return cls(stat.st_size, stat.st_mtime_ns, _digest(path))

    def is_of(self, path: Path) -> bool:
        """Whether the file holds what the signature is of: all of it is read."""
        try:
            return path.stat().st_size == self.size and _digest(path) == self.digest
        except OSError:
            return False

    def fits(self, path: Path) -> bool:
        """Whether the file matches the signature; its content is read only if its time differs (a copied home)."""
        try:
            stat = path.stat()
            if stat.st_size != self.size:
                return False
            return stat.st_mtime_ns == self.modified_ns or _digest(path) == self.digest
        except OSError:
            return False


def _digest(path: Path) -> str:
    checksum = 0
    with path.open("rb") as file:
        while part := file.read(_PART_BYTES):
            checksum = zlib.crc32(part, checksum)
    return f"{checksum:08x}"


_CACHES = ".caches"
"""Behind the lock's name: the file that a reader holds while it saves its caches."""


class WriterLock:
    """The right to write a library, held until `release`."""

    def __init__(self, handles: list[int]) -> None:
        self._handles = handles
        _held.add(self)

    @classmethod
    def acquire(cls, path: Path) -> WriterLock:
        """Take the lock. Raises LibraryBusy while another process writes, RagScienceError where `path` is not writable.

        Waits for a reader that is saving its caches: that takes a moment and is not an error.
        """
        handles: list[int] = []
        try:
            with disk_errors(path):
                handles += [_open(path), _open(_caches(path))]
            try:
                fcntl.flock(handles[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LibraryBusy(
                    f"The library is being written by process {_owner(path) or 'unknown'}.",
                    "Wait until it is done, or stop that process.",
                ) from None
            with disk_errors(path):
                os.ftruncate(handles[0], 0)
                os.pwrite(handles[0], str(os.getpid()).encode(), 0)
            fcntl.flock(handles[1], fcntl.LOCK_EX)
        except BaseException:
            _close(handles)
            raise
        return cls(handles)

    @classmethod
    def acquire_for_caches(cls, path: Path) -> WriterLock | None:
        """Take what saving caches needs if it is free and the folder is writable; None otherwise, without waiting."""
        handles: list[int] = []
        try:
            handles.append(_open(_caches(path)))
            fcntl.flock(handles[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            _close(handles)
            return None
        return cls(handles)

    def release(self) -> None:
        """Release the lock; may be called twice."""
        _close(self._handles)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _caches(path: Path) -> Path:
    return path.with_name(path.name + _CACHES)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _close(handles: list[int]) -> None:
    while handles:
        os.close(handles.pop())


def _owner(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


_held: WeakSet[WriterLock] = WeakSet()


def _forget_in_child() -> None:
    """A forked worker that outlives a killed writer must not hold the lock; closing its copy does not release ours."""
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget_in_child)
