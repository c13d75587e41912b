"""Reading the audit log, the newest record first; invalid lines are skipped and counted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragscience.core.answer_records import VERSION_1_NAMES
from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.serialization import renamed
from ragscience.library.atomic_files import disk_errors
from ragscience.library.audit_log import lock, rotated_files, unsealed
from ragscience.library.audit_record import SCHEMA_VERSION

__all__ = ["AuditReader", "delete_log"]

SHOWN_MATCHES = 5

_REQUIRED: dict[str, type] = {
    "answer_id": str, "at": str, "question": str, "searched": str, "answer": str, "mode": str, "refused": bool,
    "agent": bool, "strict": bool, "filters": dict, "history": list, "settings": dict, "library": dict,
    "models": dict, "passages": list, "citations": list, "sentences": list, "warnings": list,
}  # fmt: skip
_OF_A_PASSAGE: dict[str, type] = {
    "rank": int, "md5": str, "start": int, "end": int, "file": str, "path": str, "page_start": int, "page_end": int,
    "text_sha256": str, "scores": dict,
}  # fmt: skip
_OF_A_SENTENCE: dict[str, type] = {"text": str, "verdict": str}
_OF_A_CITATION: dict[str, type] = {"file": str, "page": int, "supported": bool, "start": int, "end": int}


class AuditReader:
    """The records of one log. `skipped` and `newer` count the lines left out so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.skipped = 0
        """Records that are incomplete, as of a process that was killed while it wrote, or not what was written."""
        self.newer = 0
        """Records of a newer version of the program."""

    def records(self, having: bytes = b"") -> Iterator[dict[str, Any]]:
        """The records, the newest first; only lines with the bytes `having` are parsed.

        Raises RagScienceError where a file cannot be read, LibraryUnavailable where a writer holds it too long.
        """
        for content in self._contents():
            for line in reversed(content.split(b"\n")):
                if having in line and line.strip() and (record := self._record(line)) is not None:
                    yield record

    def last(self, number: int) -> list[dict[str, Any]]:
        """At most `number` records, the newest first. Raises as `records`."""
        found = []
        for record in self.records():
            found.append(record)
            if len(found) == number:
                break
        return found

    def find(self, start: str) -> dict[str, Any] | None:
        """The record of the answer whose id begins with `start`, or None. Raises UsageError where several do."""
        having = b'"answer_id": ' + json.dumps(start).encode()[:-1]
        found = {
            record["answer_id"]: record for record in self.records(having) if record["answer_id"].startswith(start)
        }
        if start in found or len(found) < 2:
            return found.get(start) or next(iter(found.values()), None)
        shown = ", ".join(sorted(found)[:SHOWN_MATCHES])
        raise UsageError(f"Several answers begin with {start!r}: {shown}.", "Give more of the id.")

    def _contents(self) -> Iterator[bytes]:
        """The content of each file, the newest first; a file rotated meanwhile is read once."""
        seen: set[tuple[int, int]] = set()
        yield self._read(self._path, seen)
        with _reading(self._path):
            older = [file for _, file in rotated_files(self._path)]
        for file in older:
            yield self._read(file, seen)

    @staticmethod
    def _read(file: Path, seen: set[tuple[int, int]]) -> bytes:
        try:
            with _reading(file), file.open("rb") as opened:
                lock(opened.fileno(), file, shared=True)
                stat = os.fstat(opened.fileno())
                if (stat.st_dev, stat.st_ino) in seen:
                    return b""
                seen.add((stat.st_dev, stat.st_ino))
                return opened.read()
        except FileNotFoundError:
            return b""

    def _record(self, line: bytes) -> dict[str, Any] | None:
        whole = unsealed(line)
        try:
            value: Any = None if whole is None else json.loads(whole)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and isinstance(value.get("schema"), int) and value["schema"] > SCHEMA_VERSION:
            self.newer += 1
            return None
        if isinstance(value, dict) and value.get("schema") == 1:
            value = renamed(value, VERSION_1_NAMES) | {"schema": SCHEMA_VERSION}
        if not _is_record(value):
            self.skipped += 1
            return None
        found: dict[str, Any] = value
        return found


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise RagScienceError(
            f"The audit log {path} cannot be read: {reason}.", "Look at its rights and the disk."
        ) from error


def delete_log(path: Path) -> int:
    """Delete the log with its rotated files; gives how many files that were. Raises RagScienceError."""
    with disk_errors(path):
        if not path.parent.is_dir():
            return 0
        files = [file for _, file in rotated_files(path)]
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            handle = None
        try:
            if handle is not None:
                lock(handle, path)
                files = [path, *(file for _, file in rotated_files(path))]
            for file in files:
                file.unlink(missing_ok=True)
        finally:
            if handle is not None:
                os.close(handle)
    return len(files)


def _is_record(value: object) -> bool:
    if not isinstance(value, dict) or not _has(value, _REQUIRED):
        return False
    return all(
        isinstance(item, dict) and _has(item, wanted)
        for name, wanted in (
            ("passages", _OF_A_PASSAGE), ("sentences", _OF_A_SENTENCE), ("citations", _OF_A_CITATION)
        )
        for item in value[name]
    )  # fmt: skip


def _has(value: Mapping[str, Any], wanted: Mapping[str, type]) -> bool:
    return all(isinstance(value.get(name), kind) for name, kind in wanted.items())
