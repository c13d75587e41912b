"""One line a question, appended to a file: a time, a level, and `key=value` pairs that nothing in a value can forge."""

from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from ragscience.core.errors import UsageError
from ragscience.upkeep.asked import STAGES, AskedQuestion

__all__ = ["LogFile", "log_line"]

LONGEST_QUESTION = 200
"""Characters of a question that are logged; the answer's JSON and the history have all of it."""


def log_line(asked: AskedQuestion) -> str:
    """The line of one question, without a newline: `<time> [INFO] trace_id=… ask query="…" retrieval_ms=12.3 …`.

    The time is when the question began, ISO 8601 in UTC. Stages that did not run are left out. A value in quotes is a
    JSON string in which every character that is not printable is escaped.
    """
    answer, times = asked.answer, asked.timings_ms
    when = datetime.fromtimestamp(asked.started, UTC).isoformat(timespec="milliseconds")
    pairs: list[str] = [f"trace_id={answer.trace_id}", asked.how, f"query={_quoted(answer.question)}"]
    pairs += [f"answer_id={_safe(answer.answer_id)}"] if answer.answer_id else []
    names = [*(f"{stage.name}_ms" for stage in STAGES), "total_ms"]
    pairs += [f"{name}={times[name]:.1f}" for name in names if name in times]
    if asked.error:
        return " ".join([when, "[ERROR]", *pairs, f"error={_safe(asked.error)}"])
    pairs += [f"passages={len(answer.found.hits)}", f"profile={_safe(answer.found.profile)}"]
    if answer.answer_id:
        tokens = answer.tokens.get("prompt", 0) + answer.tokens.get("answer", 0)
        pairs += [f"tokens={tokens}", f"mode={_safe(answer.mode)}", f"refused={'yes' if answer.refused else 'no'}"]
        pairs += [f"{verdict}={count}" for verdict, count in asked.citations.items()]
        pairs.append(f"llm={_safe(answer.models.get('llm') or '-')}")
    return " ".join([when, "[INFO]", *pairs])


class LogFile:
    """A file to which several processes may append lines at once."""

    def __init__(self, path: Path) -> None:
        """Create the file if it does not exist. Raises UsageError where it cannot be written."""
        self._path = path
        try:
            self._append(b"")
        except OSError as error:
            raise UsageError(
                f"The log {path} cannot be written: {error.strerror}.", "Use another file for --log (RAG_LOG_FILE)."
            ) from error

    def record(self, asked: AskedQuestion) -> None:
        """Append the line of one question. Raises OSError."""
        self._append(f"{log_line(asked)}\n".encode())

    def close(self) -> None:
        """Do nothing: each line is written at once."""

    def _append(self, line: bytes) -> None:
        # Opened each time, so that a rotated log is created again. One write in append mode is not torn by another
        # process. A pipe without a reader is an error, not a wait.
        how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        handle = os.open(self._path, how, 0o666)
        try:
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)


def _quoted(text: str) -> str:
    short = text if len(text) <= LONGEST_QUESTION else f"{text[:LONGEST_QUESTION]}…"
    line = json.dumps(short, ensure_ascii=False)
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _safe(value: str) -> str:
    """The value, quoted unless it is one plain word."""
    plain = value.isascii() and value.isprintable() and not set(value) & set(' "=\\')
    return value if value and plain else _quoted(value)
