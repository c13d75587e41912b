"""Watches a folder: reports files that are new, changed or gone, once they are complete.

A reported change only triggers a scan: the work follows from two scans of the folder, so that a superfluous or lost
report does no harm.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from threading import Event as Flag
from typing import Protocol
from zlib import crc32

from ragscience.core.errors import SourceError
from ragscience.library.bucket import BucketFiles
from ragscience.library.ingestion import find_pdfs

Mark = tuple[int, int, int, int]
"""Size in bytes, mtime and ctime in ns, inode: any modification of a file changes it."""

SETTLE_SECONDS = 2.0
"""A file is read once it has not changed for so long."""
POLL_SECONDS = 60.0
"""A bucket, which reports nothing, is listed this often: one request for 1,000 objects."""
HEARTBEAT_SECONDS = 10.0
"""A folder is searched this often even without a report of a change."""
_TICK_SECONDS = 0.2
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

    @property
    def is_waiting(self) -> bool:
        """Whether a scan may give work without a change."""
        return any(mark is None or self._done.get(path) != mark for path, (mark, _) in self._seen.items())

    def _is_ready(self, path: Path, still: float) -> bool:
        return still >= self._settle and (still >= UNFINISHED_FACTOR * self._settle or self._is_whole(path))


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


class Watched(Protocol):
    """A place whose files are followed."""

    path: Path
    """The folder of its files in the library."""
    shown: str
    lost: str
    """Why its files cannot be seen now."""
    back: str
    pause: float
    """Most seconds between two scans."""
    settle: float
    """Seconds between them while a file is not complete yet."""

    def files(self) -> dict[Path, Mark] | None:
        """The PDFs in it; None while it cannot be seen."""

    def ticks(self, stop: Flag, on_warning: Callable[[str], None]) -> Iterator[bool]:
        """True when something may have changed, False several times a second otherwise, until `stop` is set."""

    def state(self, known: Iterable[Path]) -> FolderState:
        """The state of its files, before the first scan."""


class Folder:
    """A folder on disk that may vanish and come back."""

    lost = "the folder is gone; its papers stay in the library"
    back = "the folder is there again"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)
        self.pause, self.settle = HEARTBEAT_SECONDS, SETTLE_SECONDS
        self._device: int | None = None

    def state(self, known: Iterable[Path]) -> FolderState:
        """The state of its files, before the first scan."""
        return FolderState(known, settle_seconds=self.settle, is_whole=looks_whole)

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

    def ticks(self, stop: Flag, on_warning: Callable[[str], None]) -> Iterator[bool]:
        """True when something may have changed in the folder, False several times a second otherwise.

        Waits for a folder that vanishes. If the system has no watches left, the folder is polled, as with
        WATCHFILES_FORCE_POLLING=1 in the environment, for network file systems, which report nothing.
        """
        from watchfiles import watch

        polling: bool | None = None
        while not stop.is_set():
            identity = self.identity
            if identity is None:
                yield True
                time.sleep(_TICK_SECONDS)
                continue
            try:
                for changes in watch(
                    self.path,
                    watch_filter=None,
                    debounce=400,
                    step=50,
                    stop_event=stop,
                    rust_timeout=int(_TICK_SECONDS * 1000),
                    yield_on_timeout=True,
                    force_polling=polling,
                    poll_delay_ms=1000,
                    ignore_permission_denied=True,
                ):
                    is_same = self.identity == identity
                    yield bool(changes) or not is_same
                    if not is_same:
                        break
            except OSError as error:
                if self.identity != identity:
                    continue
                if polling:
                    raise
                polling = True
                on_warning(f"{self.path} cannot be watched ({error}): it is searched every second instead.")


def _mark(path: Path) -> Mark | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino) if S_ISREG(stat.st_mode) else None


class BucketFolder:
    """The PDFs of a bucket, in place of the folder `path`; listed now and then, as it reports nothing by itself."""

    back = "it can be read again"

    def __init__(self, files: BucketFiles, path: Path) -> None:
        self.path = path
        self.shown = files.address
        self.lost = ""
        self.pause = self.settle = POLL_SECONDS
        self._files = files
        self._was_listed = False

    def state(self, known: Iterable[Path]) -> FolderState:
        """The state of its objects, before the first listing: one appears when it is whole."""
        return FolderState(known, settle_seconds=0.0, is_whole=lambda _: True)

    def files(self) -> dict[Path, Mark] | None:
        """The objects by their paths in the library; None while they cannot be listed, or all of them are missing.

        Raises SourceError where they cannot be listed the first time.
        """
        had_some = self._files.knows_papers
        try:
            found = self._files.listing()
        except SourceError as error:
            if not self._was_listed:
                raise
            self.lost = f"{error} Its papers stay in the library."
            return None
        self._was_listed = True
        if not found and had_some:
            self.lost = f"{self.shown} has no PDF any more; its papers stay in the library."
            return None
        return {path: (each.size_bytes, each.modified_ns, crc32(each.etag.encode()), 0) for path, each in found.items()}

    def ticks(self, stop: Flag, on_warning: Callable[[str], None]) -> Iterator[bool]:
        """False several times a second until `stop` is set: nothing is known of changes."""
        del on_warning
        while not stop.wait(_TICK_SECONDS):
            yield False
