"""One-shot questions, alone or from a script: the result on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ragscience.cli.answer_view import answer_footer, answer_view, brief_line, quotes_below
from ragscience.cli.output import console, paged, print_json, put
from ragscience.cli.running import NOTHING_FOUND, SOME_FAILED, say, say_error
from ragscience.cli.screen import Screen, cost_line
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import UNCITED, Answer, Turn
from ragscience.core.serialization import from_json
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.library_engine import Engine
from ragscience.engine.places import cited_by
from ragscience.engine.printable import answer_output, counted, error_output, plain, search_output
from ragscience.engine.requests import LISTS, AskRequest, SearchRequest, check_question, filters_of, joined

Request = TypeVar("Request", bound=SearchRequest)
Asked = tuple[str | None, str | None]
"""A question, or the name of a file of questions."""
Line = tuple[str | None, SearchRequest | RagScienceError]
"""The id of a question in a file; the question with its own history and filters, or why the line is none."""


def search_all(engine: Engine, asked: Asked, request: SearchRequest, *, screen: Screen, as_json: bool) -> int:
    """Show the passages for each question, as `request` says; an exit code, NOTHING_FOUND where one has none."""
    from ragscience.cli.source_views import hits_view

    def one(question_id: str | None, question: SearchRequest) -> int:
        screen.doing("searching")
        found = engine.search(_request(request, question), on_event=screen)
        STATUS.hide()
        if as_json:
            print_json(search_output(found, question_id))
        else:
            with paged(is_long=asked[0] is not None) as out:
                hits_view(found, out)
        return 0 if found.hits else NOTHING_FOUND

    return each_asked(asked, one, screen, as_json=as_json)


def ask_all(
    engine: Engine,
    asked: Asked,
    request: AskRequest,
    *,
    screen: Screen,
    as_json: bool,
    dialogue: Dialogue | None,
    highlight: Path | None,
) -> int:
    """Answer each question as `request` says; an exit code, NOTHING_FOUND where it is strict and one was refused.

    Each question is a conversation of its own, but where all belong to one `dialogue`. The pages that the answers cite
    are written to `highlight`, where that is a file's name.
    """
    answers: list[Answer] = []

    def one(question_id: str | None, question: SearchRequest) -> int:
        wanted, talk = _request(request, question), dialogue or engine.dialogue()
        if as_json:
            screen.doing("searching")
            answer = engine.ask(wanted, dialogue=talk, on_event=screen)
            STATUS.hide()
            kept = talk.turns[-1]
            where, when = kept.conversation_id, kept.created_at
            print_json(answer_output(answer, question_id, conversation=where, created_at=when))
        else:
            answer = ask_once(engine, wanted, dialogue=talk, screen=screen)
        answers.append(answer)
        return NOTHING_FOUND if wanted.strict and answer.refused else 0

    code = each_asked(asked, one, screen, as_json=as_json)
    if highlight is not None:
        cited = [citation for answer in answers for citation in answer.citations]
        pages = engine.papers.write_marked_pages(cited, highlight, on_event=screen)
        if pages:
            screen.warn(f"{counted(pages, 'page')} with marked quotes: {highlight}")
    return code


def ask_once(engine: Engine, request: AskRequest, *, dialogue: Dialogue, screen: Screen) -> Answer:
    """Show one answer, as it comes where a person watches, with its sources, and return it."""
    screen.doing("searching")
    screen.begin_answer(shows_tokens=sys.stdout.isatty() and not request.agent)
    answer = engine.ask(request, dialogue=dialogue, on_event=screen)
    STATUS.hide()
    out, shown = console(), cited_by(answer, screen.cite) if screen.cite else answer
    if screen.brief:
        put(out, brief_line(shown, screen.cite))
        screen.warn_all(answer.warnings)
        return answer
    if request.agent and not screen.quiet:
        say(cost_line(answer.trace))
    screen.end_stream()
    if screen.every or screen.streamed.strip() != answer.text.strip():
        if screen.streamed:
            put(out, "The checked answer:", style="dim")
        answer_view(shown, out, every=screen.every, cite=screen.cite)
    elif answer.mode == "llm":
        quotes_below(answer, out)
    answer_footer(shown, out, every=screen.every)
    screen.warn_all(each for each in answer.warnings if each != UNCITED)  # the footer says so
    return answer


def _request(template: Request, own: SearchRequest) -> Request:
    return replace(template, question=own.question, history=own.history, filters=joined(template.filters, own.filters))


def each_asked(asked: Asked, one: Callable[[str | None, SearchRequest], int], screen: Screen, *, as_json: bool) -> int:
    """Do `one` with the question, or with each of the file; an exit code."""
    text, source = asked
    if text is not None:
        return one(None, SearchRequest(text))
    code = 0
    source = source or "-"
    total = f" of {sum(1 for _ in read_questions(source))}" if Path(source).is_file() else ""
    for number, (question_id, question) in enumerate(read_questions(source), start=1):
        screen.task = f"question {number}{total}: "
        try:
            if isinstance(question, RagScienceError):
                raise question
            if not as_json:
                put(console(), f"\n> {plain(question.question)}", style="bold")
            code = max(code, one(question_id, question))
        except RagScienceError as error:
            code = code or SOME_FAILED
            if as_json:
                said = None if isinstance(question, RagScienceError) else question.question
                print_json(error_output(error, question_id, said))
            else:
                say_error(error)
    return code


# Questions of a file or a pipe


_LONGEST_LINE = 1 << 20  # bytes: of a question with its history


def read_questions(source: str) -> Iterator[Line]:
    """One question a line from the file `source`, or from stdin for `-`, as the lines come; blank ones are skipped.

    A line is plain text, or a JSON object with `question` and optionally `id`, `history` and filters: `paper`,
    `section`, `kind`, `author`, `collection`, `tag` and `item_type` (a text or a list of texts), `year`. Raises
    UsageError where the file cannot be read.
    """
    try:
        file = nullcontext(sys.stdin.buffer) if source == "-" else Path(source).open("rb")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"{source} cannot be read: {error.strerror}.", "Check --from.") from error
    with file as lines:
        for number, raw in enumerate(iter(lambda: lines.readline(_LONGEST_LINE), b""), start=1):
            if len(raw) == _LONGEST_LINE:
                raise UsageError(f"Line {number} of {source} is longer than {_LONGEST_LINE:,} bytes.", _SHAPE)
            if raw.strip():
                yield _parse(raw, number)


def _parse(raw: bytes, number: int) -> Line:
    question_id: str | None = None
    try:
        line = raw.decode("utf-8-sig").strip()
        if not line.startswith("{"):
            return None, SearchRequest(check_question(line))
        item = json.loads(line)
        question_id = None if item.get("id") is None else str(item["id"])
        found = from_json(_Line, item)
        lists: dict[str, Any] = {
            field: (given,) if isinstance(given := getattr(found, name), str) else given
            for name, field in LISTS.items()
        }
        filters = filters_of(years=None if found.year is None else str(found.year), **lists)
        return question_id, SearchRequest(check_question(found.question), filters, found.history)
    except UsageError as error:
        return question_id, UsageError(f"Line {number}: {error.message}", error.fix)
    except (ValueError, RecursionError) as error:
        return question_id, UsageError(f"Line {number} is no question: {error}.", _SHAPE)


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line may hold beside its id."""

    question: str
    history: tuple[Turn, ...] = ()
    paper: str | tuple[str, ...] = ()
    section: str | tuple[str, ...] = ()
    kind: str | tuple[str, ...] = ()
    author: str | tuple[str, ...] = ()
    collection: str | tuple[str, ...] = ()
    tag: str | tuple[str, ...] = ()
    item_type: str | tuple[str, ...] = ()
    year: int | str | None = None


_SHAPE = 'Write {"question": "…", "history": [{"question": "…", "answer": "…"}], "paper": "…"} or plain text.'
