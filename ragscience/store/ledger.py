"""The ledger: ingested.json, the files that were read, by MD5. For people and scripts; it is never read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from ragscience.records import Paper
from ragscience.store.atomic_files import disk_errors, write_atomically

__all__ = ["Ledger"]

_SCHEMA = 1
_PART = 10


class Ledger:
    """A library's ledger, written from what it holds: now and then while papers come in, and at the end.

    What a killed process leaves unwritten is written by the next one that opens the library for writing.
    """

    def __init__(self, path: Path, papers: Callable[[], list[Paper]]) -> None:
        self._path = path
        self._papers = papers
        self._changed = self._listed = 0
        """Papers that changed since it was written, and papers in it."""

    def note_changes(self, papers: int) -> None:
        """Write it if a tenth of its papers have changed: a paper costs ten entries in a library of any size."""
        self._changed += papers
        if self._changed * _PART > self._listed:
            self.write()

    def finish(self) -> None:
        """Write it if papers have changed since it was written."""
        if self._changed:
            self.write()

    def write(self) -> bool:
        """Bring it up to date; whether a write was needed. Raises RagScienceError where the write fails."""
        papers = self._papers()
        content = _content(papers)
        with disk_errors(self._path):
            try:
                was_needed = self._path.read_bytes() != content
            except FileNotFoundError:
                was_needed = True
            if was_needed:
                write_atomically(self._path, content)
        self._changed, self._listed = 0, len(papers)
        return was_needed


def _content(papers: Sequence[Paper]) -> bytes:
    files = {
        paper.md5: {
            "file": paper.file,
            "path": paper.path,
            "pages": paper.pages,
            "chunks": paper.chunks,
            "added_at": paper.added_at,
            "warnings": list(paper.warnings),
        }
        for paper in papers
    }
    # Bytes of a file name that are not text become a JSON escape, so that the ledger is always valid UTF-8.
    text = json.dumps({"schema": _SCHEMA, "files": files}, ensure_ascii=False, indent=1) + "\n"
    return text.encode("utf-8", "backslashreplace")
