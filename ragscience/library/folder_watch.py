"""Watches a folder: reports files that are new, changed or gone, once they are complete.

A reported change only triggers a scan: the work follows from two scans of the folder, so that a superfluous or lost
report does no harm.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import Protocol

from ragscience.library.ingestion import find_pdfs

__all__ = ["Folder", "FolderState", "Mark", "Stop", "Work", "looks_whole", "ticks"]

Mark = tuple[int, int, int, int]
"""Size in bytes, mtime and ctime in ns, inode: any modification of a file changes it."""

TICK_SECONDS = 0.2
"""Maximum time between two ticks of a watch."""
UNFINISHED_FACTOR = 15
"""A file that looks incomplete is read anyway after this many settle times without a change."""
GONE_FACTOR = 2
"""A file counts as gone after this many settle times, so that a new name is seen before the old one goes."""
_HEAD_BYTES = 1024
_TAIL_BYTES = 2048
_DOWNLOADING = (".part", ".partial", ".crdownload", ".download", ".opdownload", ".aria2", ".tmp")
"""Suffixes that browsers and download tools add to the name of an unfinished file."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work to do now; full paths, sorted."""

    read: tuple[Path, ...] = ()
    """Files that are new or changed, and complete."""
    gone: tuple[Path, ...] = ()
    """Files that are gone."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.read or self.gone)


@dataclass(frozen=True, slots=True)
class _File:
    mark: Mark
    since: float
    """When it was first seen in this state."""
    is_done: bool = False


class FolderState:
    """The state of the files of a folder by the caller's clock; it never waits.

    `known` are files that were read earlier: those that no longer exist are gone. A file is work if it has not changed
    for `settle_seconds` and `is_whole` is true of it, or if it has not changed for UNFINISHED_FACTOR times as long.
    """

    def __init__(self, known: Iterable[Path], *, settle_seconds: float, is_whole: Callable[[Path], bool]) -> None:
        self._settle = settle_seconds
        self._is_whole = is_whole
        self._known = set(known)
        self._files: dict[Path, _File] = {}
        self._gone: dict[Path, float] = {}
        self._looked = 0.0

    def look(self, files: Mapping[Path, Mark], now: float, *, wall_ns: int | None = None) -> Work:
        """The work, given the files of the folder; each change is reported once.

        `now` is in seconds on a monotonic clock. With `wall_ns`, the time in ns since 1970, a file's age
        follows from its mtime: for the first scan, so that old files need not settle.
        """
        for path, mark in files.items():
            seen = self._files.get(path)
            if seen is None or seen.mark != mark:
                age = 0.0 if wall_ns is None else max(0.0, (wall_ns - mark[1]) / 1e9)
                self._files[path] = _File(mark, now - age)
            self._gone.pop(path, None)
        for path in (self._known | self._files.keys()) - files.keys():
            self._files.pop(path, None)
            self._gone.setdefault(path, now)
        self._known.clear()
        self._looked = now
        read = [path for path, file in self._files.items() if self._is_ready(path, file, now)]
        for path in read:
            self._files[path] = replace(self._files[path], is_done=True)
        gone = [path for path, since in self._gone.items() if now - since >= GONE_FACTOR * self._settle]
        for path in gone:
            del self._gone[path]
        return Work(tuple(sorted(read)), tuple(sorted(gone)))

    def again(self, work: Work) -> None:
        """Repeat `work` at the next scan, as it failed."""
        for path in work.read:
            if path in self._files:
                self._files[path] = replace(self._files[path], is_done=False)
        for path in work.gone:
            if path not in self._files:
                self._gone[path] = self._looked - GONE_FACTOR * self._settle

    @property
    def due(self) -> float | None:
        """When a scan may give work without a change; None if nothing is waiting."""
        times = [since + GONE_FACTOR * self._settle for since in self._gone.values()]
        for file in self._files.values():
            if not file.is_done:
                settled = file.since + self._settle
                times.append(settled if settled > self._looked else file.since + UNFINISHED_FACTOR * self._settle)
        return min(times, default=None)

    def _is_ready(self, path: Path, file: _File, now: float) -> bool:
        still = now - file.since
        if file.is_done or still < self._settle:
            return False
        return still >= UNFINISHED_FACTOR * self._settle or self._is_whole(path)


def looks_whole(path: Path) -> bool:
    """Whether a file begins and ends like a PDF, and has no unfinished download next to it."""
    try:
        if any(path.with_name(path.name + ending).exists() for ending in _DOWNLOADING):
            return False
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return b"%PDF-" in head and b"%%EOF" in file.read()
    except OSError:
        return False


class Folder:
    """A folder on disk that may vanish and come back."""

    lost = "the folder is gone; its papers stay in the library"
    back = "the folder is there again"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)
        self._device: int | None = None

    @property
    def identity(self) -> tuple[int, int] | None:
        """Device and inode; None while the folder does not exist."""
        try:
            stat = self.path.stat()
            return (stat.st_dev, stat.st_ino) if self.path.is_dir() else None
        except OSError:
            return None

    def files(self) -> dict[Path, Mark] | None:
        """The PDFs in it and its subfolders; None while it does not exist.

        An empty folder on another device than before is the mount point of a missing disk, not an empty folder.
        """
        before = self.identity
        if before is None:
            return None
        found = {}
        for path in find_pdfs([self.path]).pdfs:
            mark = None if path.name.startswith("~$") else _mark(path)
            if mark is not None:
                found[path] = mark
        if self.identity != before or (not found and self._device not in (None, before[0])):
            return None
        self._device = before[0]
        return found


def _mark(path: Path) -> Mark | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino) if S_ISREG(stat.st_mode) else None


class Stop(Protocol):
    """A flag that ends a watch, as `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to end."""


def ticks(folder: Folder, stop: Stop, on_warning: Callable[[str], None]) -> Iterator[bool]:
    """True when something may have changed in the folder, False at least every 0.2 s otherwise, until `stop` is set.

    Waits for a folder that vanishes. If the system has no watches left, the folder is polled, as with
    WATCHFILES_FORCE_POLLING=1 in the environment, for network file systems, which report nothing.
    """
    polling: bool | None = None
    while not stop.is_set():
        identity = folder.identity
        if identity is None:
            yield True
            time.sleep(TICK_SECONDS)
            continue
        try:
            for changed in _changes(folder.path, stop, polling):
                is_same = folder.identity == identity
                yield changed or not is_same
                if not is_same:
                    break
        except OSError as error:
            if folder.identity != identity:
                continue
            if polling:
                raise
            polling = True
            on_warning(f"{folder.path} cannot be watched ({error}): it is searched every second instead.")


def _changes(path: Path, stop: Stop, polling: bool | None) -> Iterator[bool]:
    """Whether there were changes, at least every TICK_SECONDS. Raises OSError if the folder cannot be watched."""
    from watchfiles import watch

    waiting = watch(
        path,
        watch_filter=None,
        debounce=400,
        step=50,
        stop_event=stop,
        rust_timeout=int(TICK_SECONDS * 1000),
        yield_on_timeout=True,
        force_polling=polling,
        poll_delay_ms=1000,
        ignore_permission_denied=True,
    )
    for changes in waiting:
        yield bool(changes)
