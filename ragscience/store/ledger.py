"""ingested.json: what became of each file, by the MD5 of its bytes. Written for people and scripts, never read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ragscience.records import Paper
from ragscience.store.atomic_files import disk_errors, write_atomically

__all__ = ["LEDGER_SCHEMA", "write_ledger"]

LEDGER_SCHEMA = 1


def write_ledger(path: Path, papers: Sequence[Paper]) -> bool:
    """Make the ledger say what `papers` says; whether it had to be written. Raises RagScienceError where it cannot."""
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
    # What is not text in a file's name becomes a JSON escape, so that the ledger is always valid UTF-8.
    text = json.dumps({"schema": LEDGER_SCHEMA, "files": files}, ensure_ascii=False, indent=1) + "\n"
    content = text.encode("utf-8", "backslashreplace")
    with disk_errors(path):
        try:
            if path.read_bytes() == content:
                return False
        except FileNotFoundError:
            pass
        write_atomically(path, content)
        return True
