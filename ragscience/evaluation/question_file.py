"""A file of questions with known answers: JSON Lines, one question a line.

    {"id": "q1", "question": "…", "answerable": true, "must_contain": ["3.5 days"], "type": "number",
     "evidence": [{"file": "a.pdf", "page": 8}], "alternatives": [{"file": "a.pdf", "page": 7, "for": 0}],
     "history": [{"question": "…", "answer": "…"}]}

`question` is needed, and `must_contain` and `evidence` where it is answerable; pages count from 1. A list within
`must_contain` holds wordings of which one is enough: `["BERT", ["7,000", "7 thousand"]]`. An alternative is
another page with the same fact; `for` is the index of the evidence that it can replace, 0 by default.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Annotated

from pydantic import Field

from ragscience.core.errors import UsageError
from ragscience.core.records import Turn
from ragscience.core.serialization import from_json

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


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line without a question."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """A page of a line; `replaces` is the index of the evidence that an alternative can replace."""

    file: str
    page: int
    replaces: Annotated[int, Field(validation_alias="for")] = 0


@dataclass(frozen=True, slots=True)
class QuestionLine:
    """A line as it is written; other fields are left out."""

    question: str
    id: str | int | None = None
    answerable: bool = True
    must_contain: tuple[str | tuple[str, ...], ...] = ()
    evidence: tuple[EvidencePage, ...] = ()
    alternatives: tuple[EvidencePage, ...] = ()
    history: tuple[Turn, ...] = ()
    type: str = "other"


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
            what = f"{file}, in question {question}, is the name of {len(meant)} papers: {', '.join(sorted(meant))}."
            raise UsageError(what, "Write one of these.")
        return meant[0] if meant else file

    def called(question: KnownQuestion) -> KnownQuestion:
        pages = (frozenset((name(file, question.question_id), page) for file, page in one) for one in question.evidence)
        return replace(question, evidence=tuple(pages))

    return [called(question) for question in questions]


def read_known_questions(path: Path, max_chars: int) -> Iterator[KnownQuestion | BadLine]:
    """The questions of a file in order, and its bad lines; blank lines are skipped.

    A question of more than `max_chars` is a bad line, and so is one whose id came before. Raises UsageError where the
    file cannot be read.
    """
    seen: set[str] = set()
    try:
        with path.open("rb") as lines:
            for number, raw in enumerate(lines, start=1):
                found = _parsed(raw, number, max_chars) if raw.strip() else None
                if isinstance(found, KnownQuestion) and found.question_id in seen:
                    found = BadLine(number, f"the id {found.question_id!r} came before")
                if isinstance(found, KnownQuestion):
                    seen.add(found.question_id)
                if found is not None:
                    yield found
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name a file of questions.") from error


def _parsed(raw: bytes, number: int, max_chars: int) -> KnownQuestion | BadLine:
    try:
        item = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return BadLine(number, "it is not UTF-8")
    except (ValueError, RecursionError):
        return BadLine(number, "it is not JSON")
    try:
        line = from_json(QuestionLine, item)
    except ValueError as error:
        return BadLine(number, f"its fields do not fit: {error}")
    wanted = [[each] if isinstance(each, str) else each for each in line.must_contain]
    pages = [{(each.file, each.page)} for each in line.evidence]
    for other in line.alternatives:
        if not 0 <= other.replaces < len(pages):
            return BadLine(number, f"an alternative is for evidence {other.replaces}, of {len(pages)} (from 0)")
        pages[other.replaces].add((other.file, other.page))
    complaints = {
        'it has no "question"': not line.question.strip(),
        f"its question has more than {max_chars:,} characters": len(line.question) > max_chars,
        'something in "must_contain" is empty': not all(each and all(map(str.strip, each)) for each in wanted),
        'a page is written {"file": "a.pdf", "page": 3}': any(
            page < 1 or not file for one in pages for file, page in one
        ),
        'it is answerable but has no "must_contain" or no "evidence"': line.answerable and not (wanted and pages),
        "it is not answerable, and says what answers it": not line.answerable and bool(wanted or pages),
    }
    for complaint, holds in complaints.items():
        if holds:
            return BadLine(number, complaint)
    return KnownQuestion(
        str(number if line.id is None else line.id),
        line.question.strip(),
        line.answerable,
        line.must_contain,
        tuple(frozenset(each) for each in pages),
        line.type,
        line.history,
    )
