"""Questions from the command line, a file or a pipe: checked, and numbered where they fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Filters, Turn
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
            raise UsageError(f"Line {number} is not valid JSON.", 'Write {"question": "…"} or plain text.') from None
        raw_id = item.get("id")
        question_id = None if raw_id is None else str(raw_id)
        if not isinstance(item.get("question"), str):
            raise UsageError(f'Line {number} has no "question".', 'Write {"question": "…"} or plain text.')
        return Question(
            check_question(item["question"]),
            question_id,
            _history(item.get("history"), number),
            _filters(item, number),
        )
    except UsageError as error:
        return BadQuestion(error, question_id)


def _history(value: Any, number: int) -> tuple[Turn, ...]:
    if value is None:
        return ()
    shape = 'Write "history": [{"question": "…", "answer": "…"}].'
    if not isinstance(value, list):
        raise UsageError(f'Line {number}: "history" is not a list.', shape)
    turns = []
    for item in value:
        question, answer = (item.get("question"), item.get("answer")) if isinstance(item, dict) else (None, None)
        if not (isinstance(question, str) and isinstance(answer, str)):
            raise UsageError(f'Line {number}: a turn of "history" has no question or no answer.', shape)
        turns.append(Turn(question, answer))
    return tuple(turns)


def _filters(item: dict[str, Any], number: int) -> Filters:
    year = item.get("year")
    if year is not None and (isinstance(year, bool) or not isinstance(year, int | str)):
        raise UsageError(f'Line {number}: "year" is neither a year nor a range.', 'Write "year": "2015-2020".')
    try:
        return filters_of(
            papers=_texts(item, "paper", number),
            sections=_texts(item, "section", number),
            kinds=_texts(item, "kind", number),
            years=None if year is None else str(year),
            authors=_texts(item, "author", number),
        )
    except UsageError as error:
        at = f"Line {number}: "
        if error.message.startswith(at):
            raise
        raise UsageError(at + error.message, error.fix) from None


def _texts(item: dict[str, Any], name: str, number: int) -> list[str]:
    value = item.get(name)
    texts = [value] if isinstance(value, str) else value
    if texts is None:
        return []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UsageError(
            f'Line {number}: "{name}" is neither a name nor a list of names.',
            f'Write "{name}": "…" or a list of such names.',
        )
    return texts
