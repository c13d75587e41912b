"""One-shot questions, alone or from a script: the result on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.answering.query_rewriting import standalone
from ragscience.audit import Request
from ragscience.errors import RagScienceError
from ragscience.records import Answer, Filters, Turn
from ragscience.terminal.cli import say
from ragscience.terminal.filtering import joined
from ragscience.terminal.keeping import Talk
from ragscience.terminal.plain import plain
from ragscience.terminal.question_lines import BadLine, Question, check_question, read_questions
from ragscience.terminal.session import Session
from ragscience.terminal.telling import get_ready, told_answer, told_search

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["ask_all", "ask_once", "console", "search_all"]

SOME_FAILED = 3
REFUSED = 4

Asked = tuple[str | None, str | None]
"""A question, or the name of a file of questions."""


def search_all(session: Session, asked: Asked, *, filters: Filters, as_json: bool) -> int:
    """Show the passages for each question; an exit code."""
    get_ready(session)

    def one(question: Question, filters: Filters) -> int:
        found = told_search(session, standalone(question.text, question.history), filters)
        if as_json:
            from ragscience.json_output import print_json, search_output

            print_json(search_output(found, question.question_id, session.notices))
        else:
            from ragscience.terminal.views import hits_view

            hits_view(found, console())
        return 0

    return _each(session, asked, one, filters, as_json)


def ask_all(
    session: Session,
    asked: Asked,
    *,
    filters: Filters,
    as_json: bool,
    strict: bool,
    chat: str | None,
    go_on: bool,
    highlight: Path | None,
    agent: bool = False,
) -> int:
    """Answer each question, by the agent if asked to; an exit code, REFUSED under `strict` when one was refused.

    Each question is a conversation of its own, but where all go to the one called `chat` or to the last (`go_on`).
    The pages that the answers cite are written to `highlight`, where that is a file's name.
    """
    get_ready(session)
    if highlight is not None:
        from ragscience.terminal.highlighting import check_target

        check_target(highlight)
    talk = Talk(session, name=chat, go_on=go_on)
    answers: list[Answer] = []

    def one(question: Question, filters: Filters) -> int:
        if chat is None and not go_on:
            talk.start_new()
        history = question.history or talk.turns()
        if as_json:
            ask = session.answer_by_agent if agent else session.answer
            asked = partial(ask, question.text, history=history, filters=filters, strict=strict)
            answer = told_answer(session, question.text, asked, agent=agent)
            kept = talk.keep(answer, Request(filters, history, strict, agent))
            from ragscience.json_output import answer_output, print_json

            where, when = kept.conversation_id, kept.created_at
            shown = answer_output(answer, question.question_id, session.notices, conversation=where, created_at=when)
            print_json(shown)
        else:
            answer = ask_once(
                session, question.text, talk=talk, history=history, filters=filters, strict=strict, agent=agent
            )
        answers.append(answer)
        return REFUSED if strict and answer.refused else 0

    code = _each(session, asked, one, filters, as_json)
    if highlight is not None:
        _write_marked(session, answers, highlight)
    return code


def _write_marked(session: Session, answers: Sequence[Answer], target: Path) -> None:
    from ragscience.terminal.highlighting import write_marked_pages

    settings = session.settings
    pages = write_marked_pages(
        answers,
        target,
        timeout_seconds=settings.reading_timeout_seconds,
        memory_bytes=settings.reading_memory_mb << 20,
        notice=session.notice,
    )
    if pages:
        session.notice(f"{'1 page' if pages == 1 else f'{pages} pages'} with marked quotes: {target}")


def ask_once(
    session: Session,
    question: str,
    *,
    talk: Talk,
    history: tuple[Turn, ...],
    filters: Filters,
    strict: bool = False,
    agent: bool = False,
) -> Answer:
    """Show one answer, as it comes where a person watches, with its sources; keep it in the talk, and return it."""
    from ragscience.terminal.views import answer_footer, answer_view

    shown: list[str] = []

    def show(token: str) -> None:
        shown.append(token)
        sys.stdout.write(plain(token))
        sys.stdout.flush()

    on_token = show if sys.stdout.isatty() else None
    asked = (
        partial(_by_agent, session, question, history, filters, strict)
        if agent
        else partial(session.answer, question, history=history, filters=filters, on_token=on_token, strict=strict)
    )
    answer = told_answer(session, question, asked, agent=agent)
    talk.keep(answer, Request(filters, history, strict, agent))
    out = console()
    streamed = "".join(shown)
    if streamed:
        out.print()
    if streamed.strip() != answer.text.strip():
        if streamed:
            out.print("The checked answer:", style="dim")
        answer_view(answer, out)
    answer_footer(answer, out)
    for notice in (*answer.found.notices, *answer.notices):
        session.notice(notice)
    return answer


def _by_agent(session: Session, question: str, history: tuple[Turn, ...], filters: Filters, strict: bool) -> Answer:
    """The agent's answer; its steps are shown as they come, and at the end what it all cost."""
    from ragscience.terminal.agent_view import cost_line, say_step

    on_step = None if session.quiet else say_step
    answer = session.answer_by_agent(question, history=history, filters=filters, strict=strict, on_step=on_step)
    if not session.quiet:
        say(cost_line(answer.trace))
    return answer


def console() -> Console:
    """Stdout for people: no markup is read out of texts, and nothing is wrapped in a pipe."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def _each(
    session: Session,
    asked: Asked,
    one: Callable[[Question, Filters], int],
    filters: Filters,
    as_json: bool,
) -> int:
    text, source = asked
    limit = session.settings.max_question_chars
    if text is not None:
        return one(Question(check_question(text, limit)), filters)
    code = 0
    for item in read_questions(source or "-", limit):
        error, question_id, question = None, None, None
        if isinstance(item, BadLine):
            error, question_id = item.error, item.question_id
        else:
            question_id, question = item.question_id, item.text
            try:
                if not as_json:
                    console().print(f"\n> {plain(item.text)}", style="bold")
                code = max(code, one(item, joined(filters, item.filters)))
            except RagScienceError as problem:
                error = problem
        if error is not None:
            code = SOME_FAILED if code == 0 else code
            if as_json:
                from ragscience.json_output import error_output, print_json

                print_json(error_output(error, question_id, question))
            else:
                say(f"error: {error}")
    return code
