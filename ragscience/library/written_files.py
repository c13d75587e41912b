"""Whether LanceDB's files on a disk were written whole: a write that the disk cuts short is no error of its own.

Where a file reaches a limit of its size, or the disk is full in the middle of a write, LanceDB 0.40 may commit a data
file whose end is missing. Each of them ends with the same four bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

from ragscience.core.errors import DiskProblem

__all__ = ["WrittenFiles"]

_END = b"LANC"


class WrittenFiles:
    """The data files of a table on a disk; none of one in object storage, which takes a file whole or not at all."""

    def __init__(self, uri: str, table: str) -> None:
        is_local = uri.startswith("lance://")
        self._folder = Path(uri.removeprefix("lance://")) / f"{table}.lance" / "data" if is_local else None
        self._before = self._names()

    def _names(self) -> set[str]:
        """Those of the files that are written: until then they have names without the ending."""
        if self._folder is None:
            return set()
        try:
            return {name for name in os.listdir(self._folder) if name.endswith(".lance")}  # noqa: PTH208  # a name each
        except FileNotFoundError:
            return set()

    def require_whole(self) -> None:
        """Raise DiskProblem where a file that came since is cut short."""
        if self._folder is None:
            return
        for name in self._names() - self._before:
            if not _is_whole(self._folder / name):
                raise DiskProblem(
                    f"{self._folder / name} was not written whole: the disk is full, or limits the size of files.",
                    "Free disk space and run the command again.",
                )


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-len(_END), os.SEEK_END)
            return file.read() == _END
    except OSError:  # shorter than that, or of a writer that has just removed it
        return not path.exists()
