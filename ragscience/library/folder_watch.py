"""Watches a folder: reports files that are new, changed or gone, once they are complete.

The work follows from two scans of the folder: no report of the system is needed, which network file systems do not
give.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from ragscience.library.ingestion import find_pdfs

Mark = tuple[int, int, int, int]
"""Size in bytes, mtime and ctime in ns, inode: any modification of a file changes it."""

SETTLE_SECONDS = 2.0
"""A file is read once it has not changed for so long."""
LOOK_SECONDS = 1.0
"""A folder is searched this often."""
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


class FolderState:
    """The state of the files of a folder by the caller's clock; it never waits.

    `known` are files that were read earlier: those that no longer exist are gone. A file is work if it has not changed
    for `settle_seconds` and `is_whole` is true of it, or if it has not changed for UNFINISHED_FACTOR times as long.
    """

    def __init__(self, known: Iterable[Path], *, settle_seconds: float, is_whole: Callable[[Path], bool]) -> None:
        self._settle = settle_seconds
        self._is_whole = is_whole
        self._seen: dict[Path, tuple[Mark | None, float]] = {}
        """The state of each file, None of one that is gone, and since when."""
        self._done: dict[Path, Mark | None] = dict.fromkeys(known)
        """The files that were given out to be read, each in the state that it had; without those that are gone."""

    def look(self, files: Mapping[Path, Mark], now: float, *, wall_ns: int | None = None) -> Work:
        """The work, given the files of the folder; each change is reported once.

        `now` is in seconds on a monotonic clock. With `wall_ns`, the time in ns since 1970, a file's age
        follows from its mtime: for the first scan, so that old files need not settle.
        """
        read, gone = [], []
        for path in sorted(self._seen.keys() | self._done.keys() | files.keys()):
            mark = files.get(path)
            if path not in self._seen or self._seen[path][0] != mark:
                age = 0.0 if wall_ns is None or mark is None else max(0.0, (wall_ns - mark[1]) / 1e9)
                self._seen[path] = mark, now - age
            still = now - self._seen[path][1]
            if mark is not None:
                if self._done.get(path) != mark and self._is_ready(path, still):
                    self._done[path] = mark
                    read.append(path)
            elif still >= GONE_FACTOR * self._settle:
                del self._seen[path]
                if path in self._done:
                    del self._done[path]
                    gone.append(path)
        return Work(tuple(read), tuple(gone))

    def again(self, work: Work) -> None:
        """Repeat `work` at the next scan, as it failed."""
        self._done |= dict.fromkeys((*work.read, *work.gone))
        self._seen |= {path: (None, float("-inf")) for path in work.gone}

    def _is_ready(self, path: Path, still: float) -> bool:
        return still >= self._settle and (still >= UNFINISHED_FACTOR * self._settle or self._is_whole(path))


class Folder:
    """A folder on disk that may vanish and come back."""

    def __init__(self, path: Path) -> None:
        self.path = path
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
        pdfs = (path for path in find_pdfs([self.path]).pdfs if not path.name.startswith("~$"))
        found = {path: mark for path in pdfs if (mark := _mark(path)) is not None}
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
