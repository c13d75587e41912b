"""The files that ingest runs saw and did not read, each with the reason: vectorstore/skipped.json.

A run names a file when it is not in there. It is a cache: where it is lost or damaged, the files are named once more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ragscience.library.atomic_files import disk_errors, read_checked_json, write_checked_json
from ragscience.library.home import Home

__all__ = ["NOT_FAILED", "SkippedFile", "SkippedFiles"]

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
    within = os.path.join(os.path.abspath(home.root), "")  # noqa: PTH100, PTH118  # with a separator at its end
    return {**asdict(file), "path": file.path.removeprefix(within)}


def _read(home: Home) -> Iterable[SkippedFile]:
    root = os.path.abspath(home.root)  # noqa: PTH100  # a link keeps its own name
    try:
        rows = read_checked_json(home.skipped)
        return [SkippedFile(**{**row, "path": os.path.join(root, row["path"])}) for row in rows]  # noqa: PTH118
    except (OSError, ValueError, KeyError, TypeError):
        return []
