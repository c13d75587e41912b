"""One writer at a time.

The locks are the operating system's (flock), so a killed owner holds nothing. There are two files: the writer holds
both, and a reader that saves its caches holds the second one alone; so a writer that finds the first one taken knows
that it is another writer's, and waits for the second one. The pid in the first file is only for the message.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import WeakSet

from ragscience.core.errors import LibraryBusy
from ragscience.library.atomic_files import disk_errors

__all__ = ["WriterLock"]

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
