"""A question from the request to the result: searched or answered, measured, and kept in history and audit log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event as Flag
from typing import Any, TypeVar

from ragscience.core.answer_records import Timings, timed
from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Found
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.events import OnEvent
from ragscience.engine.paper_lookup import check_filters, filters_by_name
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import AskRequest, SearchRequest
from ragscience.engine.shared_parts import SharedParts

__all__ = ["answer_of", "ask", "search"]

T = TypeVar("T")


def search(
    shared: SharedParts, request: SearchRequest, *, on_event: OnEvent | None = None, cancel: Flag | None = None
) -> Found:
    """The passages for a question, best first, with the warnings of this search.

    Raises UsageError for a request that cannot be, NothingFound where a filter fits no paper, Cancelled once `cancel`
    is set.
    """
    from ragscience.engine.searches import search_readings
    from ragscience.upkeep.telemetry import of_search

    request = replace(request, filters=filters_by_name(shared.library, request.filters))
    run = QuestionRun(shared, request, on_event=on_event, cancel=cancel)
    timings = Timings()

    def find() -> Found:
        check_filters(shared.library, request.filters)
        with timed(timings, "search_ms"):
            return search_readings(run, request.filters)

    found = _recorded(shared, "search", run.spelled, find)
    found = replace(
        found,
        timings_ms={**found.timings_ms, **timings},
        stages=(*found.stages, *timings.stages),
        warnings=_once(found.warnings, run.all_warnings()),
    )
    if shared.telemetry.is_on:
        shared.telemetry.record(of_search(found, run.models_of_search(found)))
    return found


def ask(
    shared: SharedParts,
    request: AskRequest,
    *,
    dialogue: Dialogue | None = None,
    on_event: OnEvent | None = None,
    cancel: Flag | None = None,
) -> Answer:
    """The answer to a question, checked against its pages, with its own warnings; kept in history and audit log.

    It is a turn of the `dialogue`, without one of a conversation of its own. `on_event` receives tokens, steps of the
    agent and warnings as they come. Raises as `search`.
    """
    from ragscience.upkeep.telemetry import of_answer

    dialogue = dialogue or Dialogue(shared.home, shared.settings, name=None, continue_last=False)
    filters = filters_by_name(shared.library, request.filters)
    focus = dialogue.focus if request.focus is None else request.focus
    request = replace(request, filters=filters, history=request.history or dialogue.context(), focus=focus)
    run = QuestionRun(shared, request, on_event=on_event, cancel=cancel, person=dialogue.person)
    for warning in dialogue.warnings:
        run.warn(warning)

    def find() -> Answer:
        check_filters(shared.library, request.filters)
        return answer_of(run, request)

    answer = _recorded(shared, "agent" if request.agent else "ask", run.question, find)
    warnings = _once((*answer.found.warnings, *answer.warnings), run.all_warnings())
    answer = replace(answer, question=run.question, warnings=warnings)
    if shared.telemetry.is_on:
        shared.telemetry.record(of_answer(answer))
    at = datetime.now(UTC).isoformat(timespec="seconds")
    audit = _audit_record(run, answer, request, at) if dialogue.is_kept and shared.settings.audit else None
    dialogue.keep(answer, at, audit, run.warn)
    return replace(answer, warnings=_once(answer.warnings, run.warnings))


def answer_of(run: QuestionRun, request: AskRequest) -> Answer:
    """The answer, by the agent or from one search, with the place of each quote on its page."""
    if request.agent:
        from ragscience.engine.agent_run import agent_answer

        return agent_answer(run, request)
    from ragscience.engine.passage_answer import passage_answer, routed_answer, small_talk
    from ragscience.engine.places import placed

    if run.understood.kind == "small talk":
        return small_talk(run)
    routed = routed_answer(run, request)
    if isinstance(routed, Answer):
        return placed(routed, run.library)
    return passage_answer(run, request, routed)


def _audit_record(run: QuestionRun, answer: Answer, request: AskRequest, at: str) -> dict[str, Any] | None:
    from ragscience.engine.answer_record import record_for

    try:
        return record_for(run, answer, request, at=at) | {"person": run.person}
    except RagScienceError as error:
        run.warn(f"This answer is not in the audit log: {error}")
        return None


def _recorded(shared: SharedParts, how: str, question: str, act: Callable[[], T]) -> T:
    """What `act` gives; where it fails, the telemetry has a record of the failure."""
    from ragscience.upkeep.telemetry import of_failure

    began, started = time.time(), time.perf_counter()
    try:
        return act()
    except RagScienceError as error:
        took = round((time.perf_counter() - started) * 1000, 3)
        shared.telemetry.record(of_failure(how, question, type(error).__name__, started=began, total_ms=took))
        raise


def _once(first: tuple[str, ...], more: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *more)))
