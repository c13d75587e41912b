"""What a session tells of each question: to a log, a metrics file and OpenTelemetry, as far as they are asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ragscience.errors import RagScienceError
from ragscience.records import Answer, Filters, Found, Stage
from ragscience.stage_timing import Timings, timed
from ragscience.telemetry import QuestionEvent, Telemetry, of_answer, of_failure, of_search, open_telemetry

if TYPE_CHECKING:
    from ragscience.terminal.session import Session

T = TypeVar("T")

__all__ = ["after_first_search", "get_ready", "telemetry_of", "told_answer", "told_search"]


def telemetry_of(session: Session) -> Telemetry:
    """Where the settings and the OTEL_ variables send what is told. Raises UsageError where that cannot be."""
    settings = session.settings
    return open_telemetry(
        log_file=_file(settings.log_file),
        metrics_file=_file(settings.metrics_file),
        environment=os.environ,
        with_questions=settings.trace_questions,
        offline=settings.offline,
        on_problem=session.warning,
    )


def get_ready(session: Session) -> None:
    """Raise UsageError now, before any work, where what is told could not be written."""
    _ = session.telemetry


def told_answer(session: Session, question: str, ask: Callable[[], Answer], *, agent: bool) -> Answer:
    """The answer that `ask` gives, told; an error that comes instead is told and raised."""
    answer = _told(session, "agent" if agent else "ask", question, ask)
    if session.telemetry.is_on:
        session.telemetry.record(of_answer(answer))
    return answer


def told_search(session: Session, question: str, filters: Filters) -> Found:
    """What the search finds, told, with its whole time as `search_ms`."""
    timings = Timings()

    def find() -> Found:
        with timed(timings, "search_ms"):
            return session.search(question, filters)

    found = _told(session, "search", question, find)
    found = replace(found, timings_ms={**found.timings_ms, **timings}, stages=(*found.stages, *timings.stages))
    if session.telemetry.is_on:
        session.telemetry.record(of_search(found, _models(session, found)))
    return found


def after_first_search(answer: Answer, first: Timings) -> Answer:
    """The answer whose search was made before it was begun: the times of both, as those of one question."""
    if not first.stages:
        return answer
    (search,) = first.stages
    stages, timings = [search], dict(answer.timings_ms)
    for stage in answer.stages:
        if stage.name == "total":
            total_ms = round((stage.started - search.started) * 1000 + stage.ms, 3)
            timings["total_ms"] = total_ms
            stages.append(Stage("total", search.started, total_ms))
        elif stage.name != "search" or _has_part(stage, answer.found):
            stages.append(stage)
    timings["search_ms"] = round(sum(stage.ms for stage in stages if stage.name == "search"), 3)
    return replace(answer, timings_ms=timings, stages=tuple(stages))


def _has_part(search: Stage, found: Found) -> bool:
    """Whether anything was searched for in it: what was found before is only handed over."""
    end = search.started + search.ms / 1000
    return any(search.started <= stage.started <= end for stage in found.stages)


def _told(session: Session, how: str, question: str, act: Callable[[], T]) -> T:
    began, started = time.time(), time.perf_counter()
    try:
        return act()
    except RagScienceError as error:
        took = round((time.perf_counter() - started) * 1000, 3)
        session.telemetry.record(_failed(how, question, error, began, took))
        raise


def _failed(how: str, question: str, error: RagScienceError, began: float, took: float) -> QuestionEvent:
    return of_failure(how, question, type(error).__name__, started=began, total_ms=took)


def _models(session: Session, found: Found) -> dict[str, str | None]:
    """What was used for a search, as its stages tell; who words answers is not looked for."""
    took = found.timings_ms
    return {
        "embedder": session.embedder.identity.model if "embed_ms" in took else None,
        "reranker": session.reranker_name if "late_ms" in took or "rerank_ms" in took else None,
    }


def _file(name: str) -> Path | None:
    return Path(name).expanduser() if name else None
