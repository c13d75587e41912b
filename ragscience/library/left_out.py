"""What is left out of a library, and why: removed papers, duplicates, files that are no papers or cannot be read."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem
from ragscience.core.records import Paper
from ragscience.core.tokenizing import counted, some_of
from ragscience.library.atomic_files import Home, disk_errors, read_checked_json, write_checked_json
from ragscience.library.ingestion import AS_PDF, Failure, FileState, IngestPlan
from ragscience.library.paper_rows import path_from, path_within
from ragscience.library.similarity import Duplicate, near_duplicates
from ragscience.library.store_protocol import Store

if TYPE_CHECKING:
    from ragscience.library.store import Store


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


def duplicates(library: Store, on_step: Callable[[str, int, int], None] = lambda *_: None) -> list[Duplicate]:
    """Each pair of papers that are the same, named by `Paper.file`.

    `on_step` is told what is done next, its number from 1, and how many steps there are.
    """
    on_step("texts of the papers", 1, 2)
    fingerprints = library.fingerprints()
    on_step(f"pairs of papers ({len(fingerprints)})", 2, 2)
    return near_duplicates(fingerprints)


def duplicates_of(library: Store, files: Collection[str]) -> list[Duplicate]:
    """The pairs that include the papers `files` (`Paper.file`); the others are not compared with each other."""
    return near_duplicates(library.fingerprints(), files) if files else []


def without_older(pairs: Iterable[Duplicate]) -> list[Duplicate]:
    """The pairs whose older paper may go: a paper goes only once, and only if the newer one of its pair stays.

    Of a chain of versions in which only neighbours are similar, more than one may stay.
    """
    pairs = list(pairs)
    newer_than = Counter(pair.older for pair in pairs)
    going: dict[str, Duplicate] = {}
    staying: set[str] = set()
    for pair in sorted(pairs, key=lambda pair: newer_than[pair.newer]):
        if pair.newer not in going and pair.older not in staying:
            going.setdefault(pair.older, pair)
            staying.add(pair.newer)
    return list(going.values())


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
            self._is_told(
                SkippedFile(str(state.path), "same-bytes", f"It has the same bytes as {other}.", md5=state.md5)
            )

    def note_others(self, paths: Iterable[Path]) -> None:
        """Documents in other formats than PDF."""
        files = [SkippedFile(str(path), "other-format", "Only PDFs can be added.", AS_PDF) for path in paths]
        if names := [Path(file.path).name for file in files if self._note(file)]:
            self._tell(f"not read, as only PDFs are: {counted(len(names), 'file')}, {some_of(names)}. {AS_PDF}")

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
    try:
        rows = read_checked_json(home.skipped)
        return [SkippedFile(**{**row, "path": path_from(root, os.fsencode(row["path"]))}) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []
