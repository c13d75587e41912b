"""One-shot questions, alone or from a script: the result on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ragscience.cli.cli import say, say_error
from ragscience.cli.line_wrap import put
from ragscience.cli.screen import Screen, console
from ragscience.cli.status_line import STATUS
from ragscience.cli.step_words import cost_line
from ragscience.core.errors import RagScienceError
from ragscience.core.records import UNCITED, Answer
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.filter_words import joined
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import counted, plain
from ragscience.engine.question_lines import BadLine, Question, read_questions
from ragscience.engine.requests import AskRequest, SearchRequest

__all__ = ["Asked", "ask_all", "ask_once", "search_all"]

SOME_FAILED = 3
NOTHING_FOUND = 4

Request = TypeVar("Request", bound=SearchRequest)

Asked = tuple[str | None, str | None]
"""A question, or the name of a file of questions."""


def search_all(engine: Engine, asked: Asked, request: SearchRequest, *, screen: Screen, as_json: bool) -> int:
    """Show the passages for each question, as `request` says; an exit code, NOTHING_FOUND where one has none."""

    def one(question: Question) -> int:
        screen.doing("searching")
        found = engine.search(_request(request, question), on_event=screen)
        STATUS.hide()
        if as_json:
            from ragscience.cli.screen import print_json
            from ragscience.engine.answer_output import search_output

            print_json(search_output(found, question.question_id))
        else:
            from ragscience.cli.pager import paged
            from ragscience.cli.views import hits_view

            with paged(is_long=asked[0] is not None) as out:
                hits_view(found, out)
        return 0 if found.hits else NOTHING_FOUND

    return _each(asked, one, screen, as_json=as_json)


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

    def one(question: Question) -> int:
        screen.doing("searching")
        wanted, talk = _request(request, question), dialogue or engine.dialogue()
        if as_json:
            answer = engine.ask(wanted, dialogue=talk, on_event=screen)
            STATUS.hide()
            from ragscience.cli.screen import print_json
            from ragscience.engine.answer_output import answer_output

            kept = talk.turns[-1]
            where, when = kept.conversation_id, kept.created_at
            print_json(answer_output(answer, question.question_id, conversation=where, created_at=when))
        else:
            answer = ask_once(engine, wanted, dialogue=talk, screen=screen)
        answers.append(answer)
        return NOTHING_FOUND if wanted.strict and answer.refused else 0

    code = _each(asked, one, screen, as_json=as_json)
    if highlight is not None:
        pages = engine.papers.write_marked_pages(answers, highlight, on_event=screen)
        if pages:
            screen.warn(f"{counted(pages, 'page')} with marked quotes: {highlight}")
    return code


def ask_once(engine: Engine, request: AskRequest, *, dialogue: Dialogue, screen: Screen) -> Answer:
    """Show one answer, as it comes where a person watches, with its sources, and return it."""
    from ragscience.cli.views import answer_footer, answer_view

    screen.doing("searching")
    screen.begin_answer(shows_tokens=sys.stdout.isatty() and not request.agent)
    answer = engine.ask(request, dialogue=dialogue, on_event=screen)
    STATUS.hide()
    out = console()
    if screen.brief:
        from ragscience.cli.brief_view import brief_line
        from ragscience.cli.line_wrap import put

        put(out, brief_line(answer))
        screen.warn_all(answer.warnings)
        return answer
    if request.agent and not screen.quiet:
        say(cost_line(answer.trace))
    screen.end_stream()
    if screen.streamed.strip() != answer.text.strip():
        if screen.streamed:
            put(out, "The checked answer:", style="dim")
        answer_view(answer, out)
    answer_footer(answer, out)
    screen.warn_all(each for each in answer.warnings if each != UNCITED)  # the footer says so
    return answer


def _request(template: Request, question: Question) -> Request:
    return replace(
        template,
        question=question.text,
        history=question.history,
        filters=joined(template.filters, question.filters),
    )


def _each(asked: Asked, one: Callable[[Question], int], screen: Screen, *, as_json: bool) -> int:
    text, source = asked
    if text is not None:
        return one(Question(text))
    code = 0
    source = source or "-"
    of = ""
    if Path(source).is_file():
        of = f" of {sum(1 for _ in read_questions(source))}"
    for number, item in enumerate(read_questions(source), start=1):
        screen.task = f"question {number}{of}: "
        error, question = None, None
        if isinstance(item, BadLine):
            error = item.error
        else:
            question = item.text
            try:
                if not as_json:
                    put(console(), f"\n> {plain(item.text)}", style="bold")
                code = max(code, one(item))
            except RagScienceError as problem:
                error = problem
        if error is not None:
            code = SOME_FAILED if code == 0 else code
            if as_json:
                from ragscience.cli.screen import print_json
                from ragscience.engine.answer_output import error_output

                print_json(error_output(error, item.question_id, question))
            else:
                say_error(error)
    return code
