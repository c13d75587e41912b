"""What is seen of files: which are skipped, and why; and which of a watched folder are new, changed or gone.

A watch follows from two scans of the folder: no report of the system is needed, which network file systems do not give.
"""

import os
import shlex
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from stat import S_ISREG

from ragscience.core.errors import FileProblem
from ragscience.core.paper_records import has_pages
from ragscience.core.records import Paper
from ragscience.library.atomic_files import Home, disk_errors, read_checked_json, write_checked_json
from ragscience.library.ingestion import Failure, FileState, IngestPlan, find_pdfs, other_format
from ragscience.library.paper_rows import path_from, path_within
from ragscience.library.store_protocol import Store

_REMOVED = "removed"
_PASSING = frozenset({"changed", "missing", "other-format", "no-model", "network", "cache-size", "worker-failed"})
"""Reasons that are not kept: they may be gone the next time, or concern what was named."""


def note_removed(library: Store, papers: Collection[Paper]) -> None:
    """Remember that these papers were removed: their files are left out once the library lacks them."""
    library.note(_REMOVED, {paper.md5: paper.path for paper in papers})


def removed(library: Store) -> dict[str, str]:
    """The path that each removed paper had, by the MD5 of its file; without those that were added again."""
    noted = library.noted(_REMOVED)
    present = {paper.md5 for paper in library.papers()} if noted else set()
    return {md5: path for md5, path in noted.items() if md5 not in present}


def forget_removed(library: Store, md5s: Collection[str]) -> None:
    """Forget that the papers with these bytes were removed."""
    if known := library.noted(_REMOVED).keys() & set(md5s):
        library.note(_REMOVED, dict.fromkeys(known))


NOT_FAILED = frozenset({"removed", "same-bytes", "other-format"})
"""Reasons of files that could be read, or need not be."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not in the library."""

    path: str
    """Full."""
    reason: str
    """A stable word: that of a FileProblem, or "removed", "same-bytes", "other-format"."""
    message: str
    fix: str = ""
    md5: str = ""
    """Of its bytes; empty where they could not be read."""
    read_by: str = ""
    """How it was tried to be read: the reader's version and limits."""


class SkippedFiles:
    """The files that runs skip: what those before this one skipped, and what this one does, told where it is news."""

    def __init__(
        self, home: Home, exists: Callable[[str], bool] = os.path.lexists, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """`exists` says whether a file is still there, `tell` gets a line about what is news."""
        self.again = 0
        """Files that are skipped as they were before."""
        self._home = home
        self._exists = exists
        self._tell = tell
        self._files = {file.path: file for file in _read(home)}
        self._has_changed = False

    def leave_out(self, library: Store, plan: IngestPlan, named: Collection[Path], read_by: str) -> IngestPlan:
        """The plan without removed papers and what could not be read before; what is named itself is tried again.

        `read_by` says how files are read now: one that failed is read again where that has changed.
        """
        gone = removed(library)
        kept: list[FileState] = []
        for state in plan.to_read:
            if state.path in named:
                kept.append(state)
            elif state.md5 in gone:
                again = f"`python ingest.py add {shlex.quote(str(state.path))}` reads it again."
                why = "It was removed from the library."
                if not self._is_told(SkippedFile(str(state.path), "removed", why, again, state.md5)):
                    self.again += 1
            elif self._is_as_unreadable(state, read_by):
                self.again += 1
            else:
                kept.append(state)
        forget_removed(library, {state.md5 for state in kept} & gone.keys())
        failures = []
        for failure in plan.failures:
            is_news = failure.problem.reason in _PASSING or self._note(_unreadable(failure.path, failure.problem))
            if is_news or failure.path in named:
                failures.append(failure)
            else:
                self.again += 1
        return replace(plan, to_read=tuple(kept), failures=tuple(failures))

    def note_copies(self, copies: Iterable[tuple[FileState, str]]) -> None:
        """Files that have the bytes of another one."""
        for state, other in copies:
            why = f"It has the same bytes as {other}."
            self._is_told(SkippedFile(str(state.path), "same-bytes", why, md5=state.md5))

    def note_others(self, paths: Iterable[Path]) -> None:
        """Documents in formats that are not read here."""
        lacking: dict[bool, list[Path]] = {}
        for path in paths:
            problem = other_format([path])
            if self._note(SkippedFile(str(path), problem.reason, problem.message, problem.fix)):
                lacking.setdefault(not has_pages(path.name), []).append(path)
        for some in lacking.values():
            self._tell(str(other_format(some)))

    def note_failures(self, failures: Iterable[Failure], states: Mapping[Path, FileState], read_by: str) -> None:
        """Files that could not be read, unless the next run may have more luck."""
        for path, problem in ((failure.path, failure.problem) for failure in failures):
            if problem.reason not in _PASSING:
                self._note(_unreadable(path, problem, states[path].md5, read_by))

    def present(self, read: Collection[str]) -> list[SkippedFile]:
        """Those that still exist and whose paths are not in `read`, by path."""
        return sorted(
            (file for path, file in self._files.items() if path not in read and self._exists(path)),
            key=lambda file: file.path,
        )

    def save(self, read: Collection[str]) -> None:
        """Write those that still exist and whose paths are not in `read`. Raises RagScienceError."""
        kept = self.present(read)
        if not (self._has_changed or len(kept) < len(self._files)):
            return
        target = self._home.skipped
        with disk_errors(target):
            write_checked_json(target, [_row(file, self._home) for file in kept])
        self._has_changed = False

    def _is_told(self, file: SkippedFile) -> bool:
        """Remember a file and say it, unless that was said before."""
        is_news = self._note(file)
        if is_news:
            self._tell(f"not read: {Path(file.path).name}: {file.message} {file.fix}".rstrip())
        return is_news

    def _note(self, file: SkippedFile) -> bool:
        """Remember a file; whether it is news: another file, other bytes or another reason."""
        before = self._files.get(file.path)
        self._has_changed |= before != file
        self._files[file.path] = file
        return before is None or (before.md5, before.reason) != (file.md5, file.reason)

    def _is_as_unreadable(self, state: FileState, read_by: str) -> bool:
        known = self._files.get(str(state.path))
        if known is None or known.reason == "unreadable":  # the disk, or a permission, failed it: its bytes are good
            return False
        return (known.md5, known.read_by) == (state.md5, read_by)


def _unreadable(path: Path, problem: FileProblem, md5: str = "", read_by: str = "") -> SkippedFile:
    return SkippedFile(str(path), problem.reason, problem.message, problem.fix, md5, read_by)


def _row(file: SkippedFile, home: Home) -> dict[str, str]:
    """As JSON; the path relative to the home within it, so that a home may be moved."""
    return {**asdict(file), "path": os.fsdecode(path_within(os.path.abspath(home.root), file.path))}  # noqa: PTH100


def _read(home: Home) -> Iterable[SkippedFile]:
    root = os.path.abspath(home.root)  # noqa: PTH100  # a link keeps its own name
    rows = read_checked_json(home.skipped) or ()
    return [SkippedFile(**{**row, "path": path_from(root, os.fsencode(row["path"]))}) for row in rows]


# A watched folder

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
    """Whether a PDF begins and ends like one, another file has content, and no unfinished download is next to it."""
    try:
        if any(path.with_name(path.name + ending).exists() for ending in _DOWNLOADING):
            return False
        if not has_pages(path.name):
            is_packed = path.suffix.lower() in (".docx", ".epub")
            return zipfile.is_zipfile(path) if is_packed else path.stat().st_size > 0
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
        found = {path: mark for path in find_pdfs([self.path]).pdfs if (mark := _mark(path)) is not None}
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
