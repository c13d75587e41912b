"""One writer at a time.

The lock is the operating system's (flock), so a killed owner holds nothing; the pid inside the file is only
for the message.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import WeakSet

from ragscience.errors import LibraryBusy
from ragscience.store.atomic_files import disk_errors

__all__ = ["WriterLock"]

_CACHES = "caches"


class WriterLock:
    """The right to write a library, held until `release`."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle: int | None = handle
        _held.add(self)

    @classmethod
    def acquire(cls, path: Path) -> WriterLock:
        """Take the lock. Raises LibraryBusy while another process writes, RagScienceError where `path` is not writable.

        Waits for a reader that is saving its caches: that takes a moment and is not an error.
        """
        with disk_errors(path):
            handle = _open(path)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner, _, purpose = _owner(path).partition(" ")
                if purpose != _CACHES:
                    raise LibraryBusy(
                        f"The library is being written by process {owner or 'unknown'}.",
                        "Wait until it is done, or stop that process.",
                    ) from None
                fcntl.flock(handle, fcntl.LOCK_EX)
            with disk_errors(path):
                _write(handle, f"{os.getpid()} writing")
        except BaseException:
            os.close(handle)
            raise
        return cls(path, handle)

    @classmethod
    def acquire_for_caches(cls, path: Path) -> WriterLock | None:
        """Take the lock if it is free and the folder is writable; None otherwise, without waiting."""
        try:
            handle = _open(path)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write(handle, f"{os.getpid()} {_CACHES}")
        except OSError:
            os.close(handle)
            return None
        return cls(path, handle)

    def release(self) -> None:
        """Release the lock; may be called twice."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _write(handle: int, text: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode(), 0)


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
