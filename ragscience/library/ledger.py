"""The ledger: ingested.json, the files that were read, by MD5. For people and scripts; it is never read back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ragscience.core.records import Paper
from ragscience.library.atomic_files import disk_errors, write_atomically

_SCHEMA = 1
_PART = 10
_END = b"\n"


class LedgerState(NamedTuple):
    """What tells whether a ledger is of the library as it is now."""

    library: str
    """The library's id."""
    generation: int
    home: str
    """The folder that relative paths of papers are relative to."""
    papers: int
    """How many there are."""


class Ledger:
    """A library's ledger, written from what it holds: now and then while papers come in, and at the end.

    What a killed process leaves unwritten is written by the next one that opens the library for writing. The last line
    of the file says which state of the library it is of, with a CRC-32 of the lines before.
    """

    def __init__(self, path: Path, papers: Callable[[], list[Paper]], state: Callable[[], LedgerState]) -> None:
        self._path = path
        self._papers = papers
        self._state = state
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

    def write(self) -> None:
        """Bring it up to date: the papers are listed only if the file is of another state. Raises RagScienceError."""
        state = self._state()  # before the papers: of what changes meanwhile the file claims too little
        with disk_errors(self._path):
            if self._is_of(state):
                self._changed, self._listed = 0, state.papers
                return
        papers = self._papers()
        content = _content(papers)
        with disk_errors(self._path):
            write_atomically(self._path, content + _last_line(content, state))
        self._changed, self._listed = 0, len(papers)

    def _is_of(self, state: LedgerState) -> bool:
        try:
            content, _, last = self._path.read_bytes().removesuffix(_END).rpartition(_END)
        except FileNotFoundError:
            return False
        return last + _END == _last_line(content + _END, state)


def _content(papers: Sequence[Paper]) -> bytes:
    entries = [f"{json.dumps(paper.md5)}: {json.dumps(_entry(paper), ensure_ascii=False)}" for paper in papers]
    # Bytes of a file name that are not text become a JSON escape, so that the ledger is always valid UTF-8.
    text = f'{{"schema": {_SCHEMA}, "files": {{\n' + ",\n".join(entries) + "\n},\n"
    return text.encode("utf-8", "backslashreplace")


def _entry(paper: Paper) -> dict[str, object]:
    return {
        "file": paper.file,
        "path": paper.path,
        "pages": paper.pages,
        "chunks": paper.chunks,
        "added_at": paper.added_at,
        "warnings": list(paper.warnings),
    }


def _last_line(content: bytes, state: LedgerState) -> bytes:
    library = {"id": state.library, "generation": state.generation, "home": state.home, "crc32": zlib.crc32(content)}
    return f'"library": {json.dumps(library)}}}\n'.encode()
