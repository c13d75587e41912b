"""The answer to a question that a route of its own takes, as a record like any other."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from ragscience.ask.answer_blocks import as_text
from ragscience.ask.query_rewriting import standalone
from ragscience.ask.router import RouteContext, Routed, route
from ragscience.core.records import Answer, Filters, Found
from ragscience.core.stage_timing import Timings, timed

if TYPE_CHECKING:
    from ragscience.engine.question_run import QuestionRun
    from ragscience.engine.requests import AskRequest

__all__ = ["routed_answer"]


def routed_answer(run: QuestionRun, request: AskRequest) -> Answer | Found | None:
    """The answer, or what a language model is to answer from; None for a question that no route takes."""
    if request.plain or not run.library.about.chunks:
        return None
    began, started, timings = time.time(), time.perf_counter(), Timings()

    def search(text: str, filters: Filters) -> Found:
        return run.search(text, filters, profile=run.answer_profile)

    question = standalone(run.spelled, request.history)
    with timed(timings, "route_ms"), run.library.snapshot():
        routed = route(question, RouteContext(run.library, search, request.filters))
    if routed is None:
        return None
    found = Found(question, run.answer_profile.name, routed.hits, signals={"routed": 1.0})
    if routed.for_llm and run.llm is not None:
        return found
    total_ms = round((time.perf_counter() - started) * 1000, 3)
    timings.add("total_ms", total_ms, began)
    answer = _answer(run, routed, found, timings)
    if run.on_token is not None:
        run.on_token(answer.text)
    return answer


def _answer(run: QuestionRun, routed: Routed, found: Found, timings: Timings) -> Answer:
    trace_id = uuid.uuid4().hex
    cited = dict.fromkeys(citation for block in routed.blocks for citation in block.citations)
    return Answer(
        answer_id=trace_id[:12],
        question=run.question,
        text=as_text(routed.blocks),
        mode="extractive",
        refused=routed.nothing_found,
        citations=tuple(cited),
        found=found,
        models={**run.models_used, "llm": None},
        timings_ms=dict(timings),
        trace_id=trace_id,
        stages=tuple(timings.stages),
        confidence=None if routed.nothing_found else routed.confidence,
        route=routed.route,
        route_note=routed.note,
        blocks=routed.blocks,
    )
