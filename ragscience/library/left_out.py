"""What is left out of a library, and why: older versions, removed papers, duplicates, files that are no papers."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.records import Paper
from ragscience.library.atomic_files import Home, disk_errors, read_checked_json, write_checked_json
from ragscience.library.paper_contents import NewPaper
from ragscience.library.paper_rows import path_from, path_within
from ragscience.library.similarity import Duplicate, near_duplicates
from ragscience.library.store_protocol import Store

if TYPE_CHECKING:
    from ragscience.library.store import Store


_ASIDE, _REMOVED = "aside", "removed"


def set_aside(library: Store, newer: Mapping[str, Paper]) -> None:
    """Suppress files, by MD5: they are not ingested while the library has the paper that is the newer version."""
    library.note(_ASIDE, {md5: paper.md5 for md5, paper in newer.items()})


def aside(library: Store) -> dict[str, Paper]:
    """By MD5, the suppressed files: for each the newer version, which is in the library.

    If that one is itself suppressed, the version that replaced it. A file that was added again is not suppressed.
    """
    noted = library.noted(_ASIDE)
    papers = {paper.md5: paper for paper in library.papers()} if noted else {}
    found = {}
    for md5 in noted.keys() - papers.keys():
        newer, seen = noted[md5], {md5}
        while newer not in papers and newer in noted and newer not in seen:
            seen.add(newer)
            newer = noted[newer]
        if newer in papers:
            found[md5] = papers[newer]
    return found


def inherit_aside(library: Store, older: Collection[str], paper: Paper) -> None:
    """Reassign the files suppressed in favour of the papers `older`, by MD5, to what replaced them."""
    reassigned = {file: paper.md5 for file, newer in library.noted(_ASIDE).items() if newer in older}
    reassigned.pop(paper.md5, None)
    if reassigned:
        library.note(_ASIDE, reassigned)


def versions_aside(library: Store, new: NewPaper) -> set[str]:
    """The MD5s of the papers that a new one replaces, is the same paper as, and for which files are suppressed.

    To be asked before the new one is added, and given to `inherit_aside` after.
    """
    noted = set(library.noted(_ASIDE).values()) if new.replaces else set()
    found = {paper.file: paper.md5 for paper in library.papers(new.replaces) if paper.md5 in noted} if noted else {}
    mine = replace(new.fingerprint, paper="") if found else None
    known = library.fingerprints(new.replaces) if found else []
    return {found[one.paper] for one in known if one.paper in found and mine and near_duplicates([one, mine])}


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


def keep_newest(library: Store) -> list[Paper]:
    """Remove the older ones of duplicate papers from the library, never their files; returns those removed.

    A paper is removed only if a newer duplicate of it stays: of a chain of versions in which only neighbours are
    similar, more than one may stay. The library must be open for writing.
    """
    papers = {paper.file: paper for paper in library.papers()}
    newer: defaultdict[str, set[str]] = defaultdict(set)
    for pair in duplicates(library):
        newer[pair.older].add(pair.newer)
    leaving = [papers[file] for file in _dominated(list(papers), newer)]
    if leaving:
        library.remove_papers([paper.paper_id for paper in leaving])
    return leaving


def _dominated(files: list[str], newer: dict[str, set[str]]) -> list[str]:
    """Those of `files` of which a newer one stays; `newer` gives the newer ones of each file."""
    undecided, leaving = list(files), []
    while undecided:
        left = set(undecided)
        stay = {file for file in undecided if not newer.get(file, set()) & left}
        gone = {file for file in undecided if newer.get(file, set()) & stay}
        if not stay:
            # Version, year and date contradict each other in a circle: one with fewest newer ones counts as newest.
            newest = min(undecided, key=lambda file: len(newer[file] & left))
            stay = {newest}
            gone = {file for file in undecided if newest in newer[file]} | (newer[newest] & left)
        leaving += [file for file in undecided if file in gone]
        undecided = [file for file in undecided if file not in stay | gone]
    return leaving


NOT_FAILED = frozenset({"removed", "older-version", "same-bytes", "other-format"})
"""Reasons of files that could be read, or need not be."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not in the library."""

    path: str
    """Full."""
    reason: str
    """A stable word: that of a FileProblem, or "removed", "older-version", "same-bytes", "other-format"."""
    message: str
    fix: str = ""
    md5: str = ""
    """Of its bytes; empty where they could not be read."""
    read_by: str = ""
    """How it was tried to be read: the reader's version and limits."""

    def is_like(self, other: SkippedFile | None) -> bool:
        """Whether the same was known before: the same file with the same bytes, for the same reason."""
        return other is not None and (self.path, self.md5, self.reason) == (other.path, other.md5, other.reason)


class SkippedFiles:
    """What runs before this one skipped, and what this one does."""

    def __init__(self, home: Home, exists: Callable[[str], bool] = os.path.lexists) -> None:
        """`exists` says whether a file is still there."""
        self._home = home
        self._exists = exists
        self._files = {file.path: file for file in _read(home)}
        self._has_changed = False

    def get(self, path: Path) -> SkippedFile | None:
        """What is known of a file by its full path."""
        return self._files.get(str(path))

    def note(self, file: SkippedFile) -> bool:
        """Remember a file; whether it is news."""
        before = self._files.get(file.path)
        self._has_changed |= before != file
        self._files[file.path] = file
        return not file.is_like(before)

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
