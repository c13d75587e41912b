"""The ledger: ingested.json, the files that were read, by MD5. For people and scripts; it is never read back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ragscience.core.records import Paper
from ragscience.library.atomic_files import disk_errors, write_atomically

_SCHEMA = 1
_END = b"\n"


def write_ledger(path: Path, state: Mapping[str, object], papers: Callable[[], list[Paper]]) -> None:
    """Bring the ledger up to date: the papers are listed only if the file is of another state. Raises RagScienceError.

    The last line of the file says which state of the library it is of, with a CRC-32 of the lines before. What a killed
    process leaves unwritten is written by the next one that opens the library for writing.
    """
    with disk_errors(path):
        with suppress(FileNotFoundError):
            content, _, last = path.read_bytes().removesuffix(_END).rpartition(_END)
            if last + _END == _last_line(content + _END, state):
                return
        content = _content(papers())
        write_atomically(path, content + _last_line(content, state))


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


def _last_line(content: bytes, state: Mapping[str, object]) -> bytes:
    return f'"library": {json.dumps({**state, "crc32": zlib.crc32(content)})}}}\n'.encode()
