"""Questions from the command line, a file or a pipe: checked, and numbered where they fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Filters, Turn
from ragscience.core.serialization import from_json
from ragscience.engine.requests import check_question, filters_of

__all__ = ["BadQuestion", "Question", "read_questions"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a script."""

    text: str
    question_id: str | None = None
    history: tuple[Turn, ...] = ()
    filters: Filters = field(default_factory=Filters)
    """The filters of this question, in addition to the options of the command line."""


@dataclass(frozen=True, slots=True)
class BadQuestion:
    """A line that is not a question; it takes a question's place in the output."""

    error: RagScienceError
    question_id: str | None = None


def read_questions(source: str) -> Iterator[Question | BadQuestion]:
    """One question a line from the file `source`, or from stdin for `-`, as the lines come; blank ones are skipped.

    A line is plain text, or a JSON object with `question` and optionally `id`, `history` and filters: `paper`,
    `section`, `kind` and `author` (a text or a list of texts), `year`. Raises UsageError where the file cannot be read.
    """
    with ExitStack() as stack:
        if source == "-":
            lines = sys.stdin.buffer
        else:
            try:
                lines = stack.enter_context(Path(source).open("rb"))
            except OSError as error:
                raise UsageError(f"{source} cannot be read: {error.strerror}.", "Check --from.") from error
        for number, raw in enumerate(lines, start=1):
            if raw.strip():
                yield _parse(raw, number)


def _parse(raw: bytes, number: int) -> Question | BadQuestion:
    question_id: str | None = None
    try:
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            raise UsageError(f"Line {number} is not UTF-8 text.", "Convert the file to UTF-8.") from None
        if not line.startswith("{"):
            return Question(check_question(line))
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            raise UsageError(f"Line {number} is not valid JSON.", _SHAPE) from None
        raw_id = item.get("id")
        question_id = None if raw_id is None else str(raw_id)
        try:
            found = from_json(_Line, item)
        except ValueError as error:
            raise UsageError(f"Line {number}: {str(error).partition(': ')[2]}.", _SHAPE) from None
        return Question(check_question(found.question), question_id, found.history, _filters(found, number))
    except UsageError as error:
        return BadQuestion(error, question_id)


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line may hold beside its id."""

    question: str
    history: tuple[Turn, ...] = ()
    paper: str | tuple[str, ...] = ()
    section: str | tuple[str, ...] = ()
    kind: str | tuple[str, ...] = ()
    author: str | tuple[str, ...] = ()
    year: int | str | None = None


_SHAPE = 'Write {"question": "…", "history": [{"question": "…", "answer": "…"}], "paper": "…"} or plain text.'


def _filters(line: _Line, number: int) -> Filters:
    def texts(value: str | tuple[str, ...]) -> tuple[str, ...]:
        return (value,) if isinstance(value, str) else value

    try:
        return filters_of(
            papers=texts(line.paper),
            sections=texts(line.section),
            kinds=texts(line.kind),
            years=None if line.year is None else str(line.year),
            authors=texts(line.author),
        )
    except UsageError as error:
        raise UsageError(f"Line {number}: {error.message}", error.fix) from None
