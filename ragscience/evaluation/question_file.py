"""A file of questions with known answers: JSON Lines, one question a line.

    {"id": "q1", "question": "…", "answerable": true, "must_contain": ["3.5 days"], "type": "number",
     "evidence": [{"file": "a.pdf", "page": 8}], "alternatives": [{"file": "a.pdf", "page": 7, "for": 0}],
     "history": [{"question": "…", "answer": "…"}]}

`question` is needed, and `must_contain` and `evidence` where it is answerable; pages count from 1. A list within
`must_contain` holds wordings of which one is enough: `["BERT", ["7,000", "7 thousand"]]`. An alternative is
another page with the same fact; `for` is the index of the evidence that it can replace, 0 by default.
`"draft": true` marks a question that a program wrote and that nobody has corrected.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from ragscience.core.errors import UsageError
from ragscience.core.records import Turn

__all__ = ["BadLine", "KnownQuestion", "Place", "as_listed", "read_known_questions"]

Place = tuple[str, int]
"""File and page."""


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """A question, and what is known of its answer."""

    question_id: str
    """As in the file, or the number of its line."""
    question: str
    answerable: bool
    must_contain: tuple[str | tuple[str, ...], ...]
    """What all must occur in a right answer; of a tuple one is enough."""
    evidence: tuple[frozenset[Place], ...]
    """For each fact that the answer needs, the pages that contain it; any of them will do."""
    kind: str
    history: tuple[Turn, ...] = ()
    draft: bool = False
    """Whether it was drafted by a program and has not been corrected yet."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a question."""

    number: int
    """From 1."""
    reason: str


class _NoQuestion(Exception):
    """Why a line is left out."""


def as_listed(questions: Iterable[KnownQuestion], listed: Mapping[str, str]) -> list[KnownQuestion]:
    """The questions with their files called as the library calls them: `listed` has that name for each full path.

    A file may be given by any end of its path, cut at a folder; one that the library does not have stays as it is.
    Raises UsageError for a name that several papers have: nothing that was measured by it would mean anything.
    """
    known = set(listed.values())

    def name(file: str, question: str) -> str:
        if file in known:
            return file
        ends = PurePath(file).parts
        meant = [short for path, short in listed.items() if PurePath(path).parts[-len(ends) :] == ends]
        if len(meant) > 1:
            raise UsageError(
                f"{file}, in question {question}, is the name of {len(meant)} papers: {', '.join(sorted(meant))}.",
                "Write one of these.",
            )
        return meant[0] if meant else file

    return [
        replace(
            question,
            evidence=tuple(
                frozenset((name(file, question.question_id), page) for file, page in places)
                for places in question.evidence
            ),
        )
        for question in questions
    ]


def read_known_questions(path: Path, max_chars: int) -> Iterator[KnownQuestion | BadLine]:
    """The questions of a file in order, and its bad lines; blank lines are skipped.

    A question of more than `max_chars` is a bad line, and so is one whose id came before. Raises UsageError where the
    file cannot be read.
    """
    seen: set[str] = set()
    try:
        with path.open("rb") as lines:
            for number, raw in enumerate(lines, start=1):
                if not raw.strip():
                    continue
                try:
                    question = _parsed(raw, number, max_chars)
                    if question.question_id in seen:
                        raise _NoQuestion(f"the id {question.question_id!r} came before")
                except _NoQuestion as problem:
                    yield BadLine(number, str(problem))
                    continue
                seen.add(question.question_id)
                yield question
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a file of questions.") from error


def _parsed(raw: bytes, number: int, max_chars: int) -> KnownQuestion:
    try:
        item = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        raise _NoQuestion("it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise _NoQuestion("it is not JSON") from None
    if not isinstance(item, dict):
        raise _NoQuestion("it is not a JSON object")
    question = item.get("question")
    if not isinstance(question, str) or not question.strip():
        raise _NoQuestion('it has no "question"')
    if len(question) > max_chars:
        raise _NoQuestion(f"its question has {len(question):,} characters; {max_chars:,} are allowed")
    answerable = item.get("answerable", True)
    if not isinstance(answerable, bool):
        raise _NoQuestion('"answerable" is neither true nor false')
    must_contain = _wanted(item)
    evidence = _evidence(item)
    if answerable and not (must_contain and evidence):
        raise _NoQuestion('it is answerable but has no "must_contain" or no "evidence"')
    if not answerable and (must_contain or evidence):
        raise _NoQuestion("it is not answerable, and says what answers it")
    return KnownQuestion(
        str(item.get("id", number)),
        question.strip(),
        answerable,
        must_contain,
        evidence,
        str(item.get("type") or "other"),
        tuple(Turn(*_turn(each)) for each in _objects(item, "history")),
        item.get("draft") is True,
    )


def _wanted(item: dict[str, Any]) -> tuple[str | tuple[str, ...], ...]:
    value = item.get("must_contain") or []
    choices = [each for each in value if isinstance(each, list)] if isinstance(value, list) else []
    for each in [*choices, [each for each in value if each not in choices] if choices else value]:
        _texts({"must_contain": each}, "must_contain")
    if [] in choices:
        raise _NoQuestion('a list in "must_contain" is empty')
    return tuple(tuple(each) if isinstance(each, list) else each for each in value)


def _evidence(item: dict[str, Any]) -> tuple[frozenset[Place], ...]:
    pages = [{_place(each)} for each in _objects(item, "evidence")]
    for other in _objects(item, "alternatives"):
        index = other.get("for", 0)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(pages):
            raise _NoQuestion(f"an alternative is for evidence {index!r}, of {len(pages)} (counted from 0)")
        pages[index].add(_place(other))
    return tuple(frozenset(each) for each in pages)


def _place(value: dict[str, Any]) -> Place:
    file, page = value.get("file"), value.get("page")
    if not isinstance(file, str) or not file or isinstance(page, bool) or not isinstance(page, int) or page < 1:
        raise _NoQuestion('a page is written {"file": "a.pdf", "page": 3}')
    return file, page


def _turn(value: dict[str, Any]) -> tuple[str, str]:
    question, answer = value.get("question"), value.get("answer")
    if not isinstance(question, str) or not isinstance(answer, str):
        raise _NoQuestion('a turn of "history" is written {"question": "…", "answer": "…"}')
    return question, answer


def _objects(item: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = item.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _NoQuestion(f'"{name}" is not a list of objects')
    return value


def _texts(item: dict[str, Any], name: str) -> list[str]:
    value = item.get(name) or []
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise _NoQuestion(f'"{name}" is not a list of texts')
    return value
