"""A question from the request to the result: searched or answered, measured, and kept in history and audit log."""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from threading import Event as Flag
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragscience.ask.answer_blocks import as_text
from ragscience.ask.answer_context import AnswerRequest
from ragscience.ask.answers import answer, likely_answered, worth
from ragscience.ask.confidence import LOW
from ragscience.ask.conversation import is_small_talk
from ragscience.ask.route_records import RouteContext, Routed
from ragscience.ask.router import SURE, route
from ragscience.core.answer_records import Timings, timed
from ragscience.core.errors import ModelProblem, RagScienceError
from ragscience.core.records import Answer, Block, Found
from ragscience.engine.dialogue import Dialogue, record_for
from ragscience.engine.events import OnEvent, unheard
from ragscience.engine.places import placed
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import AskRequest, SearchRequest, check_filters, filters_by_name
from ragscience.engine.searches import agent_answer, search_in_parts, search_readings, searched
from ragscience.engine.shared_parts import SharedParts
from ragscience.search.profiles import passages_wanted
from ragscience.search.reranking import maxsim_scores

T = TypeVar("T")


def search(
    shared: SharedParts, request: SearchRequest, *, on_event: OnEvent = unheard, cancel: Flag | None = None
) -> Found:
    """The passages for a question, best first, with the warnings of this search.

    Raises UsageError for a request that cannot be, NothingFound where a filter fits no paper, Cancelled once `cancel`
    is set.
    """
    from ragscience.upkeep.telemetry import of_search

    request = replace(request, filters=filters_by_name(shared.library, request.filters))
    run = QuestionRun(shared, request, on_event=on_event, cancel=cancel)
    timings = Timings()
    with timed(timings, "search_ms"):
        found = _recorded(run, "search", lambda: search_readings(run, request.filters))
    found = replace(found, timings_ms={**found.timings_ms, **timings}, stages=(*found.stages, *timings.stages))
    found = replace(found, warnings=_once(found.warnings, run.all_warnings()))
    if shared.telemetry.sinks:
        shared.telemetry.record(of_search(found, run.models_of_search))
    return found


def ask(
    shared: SharedParts,
    request: AskRequest,
    *,
    dialogue: Dialogue | None = None,
    on_event: OnEvent = unheard,
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

    answer = _recorded(run, "agent" if request.agent else "ask", lambda: answer_of(run, request))
    warnings = _once((*answer.found.warnings, *answer.warnings), run.all_warnings())
    answer = replace(answer, question=run.question, warnings=warnings)
    if shared.telemetry.sinks:
        shared.telemetry.record(of_answer(answer))
    at = datetime.now(UTC).isoformat(timespec="seconds")
    audit = _audit_record(run, answer, request, at) if dialogue.is_kept and shared.settings.audit else None
    dialogue.keep(answer, at, audit, run.warn)
    return replace(answer, warnings=_once(answer.warnings, run.warnings))


def answer_of(run: QuestionRun, request: AskRequest) -> Answer:
    """The answer, by the agent or from one search, with the place of each quote on its page."""
    if request.agent:
        return agent_answer(run, request)
    if is_small_talk(run.question):
        return small_talk(run)
    routed = routed_answer(run, request)
    return placed(routed, run.library) if isinstance(routed, Answer) else passage_answer(run, request, routed)


def _audit_record(run: QuestionRun, answer: Answer, request: AskRequest, at: str) -> dict[str, Any] | None:
    try:
        return record_for(run, answer, request, at=at) | {"person": run.person}
    except RagScienceError as error:
        run.warn(f"This answer is not in the audit log: {error}")
        return None


def _recorded(run: QuestionRun, how: str, act: Callable[[], T]) -> T:
    """What `act` gives of a question whose filters leave something; the telemetry has a record of a failure."""
    from ragscience.upkeep.telemetry import of_failure

    began, started = time.time(), time.perf_counter()
    try:
        check_filters(run.library, run.request.filters)
        return act()
    except RagScienceError as error:
        took = round((time.perf_counter() - started) * 1000, 3)
        failure = of_failure(how, run.question, type(error).__name__, started=began, total_ms=took)
        run.shared.telemetry.record(failure)
        raise


def _once(first: tuple[str, ...], more: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *more)))


def routed_answer(run: QuestionRun, request: AskRequest) -> Answer | Found | None:
    """The answer from the library itself, or the passages to answer from; None for a question that no route takes.

    A question that is not surely for the library itself is answered from passages where these are worth it.
    """
    if request.plain or not run.library.about.chunks:
        return None
    began, started, timings = time.time(), time.perf_counter(), Timings()
    search = partial(searched, run, profile=run.answer_profile)
    likely, vector, maxsims = partial(_kind_probabilities, run), partial(_query_vector, run), partial(_maxsims, run)
    context = RouteContext(run.library, search, request.filters, likely, vector, maxsims)
    routed, question = None, ""
    with timed(timings, "route_ms"), run.library.snapshot():
        asked = [replace(each, before=(), prior=0.0) for each in run.readings[::-1] if not each.is_only_searched]
        for reading in dict.fromkeys(asked):
            question = reading.text
            routed = route(question, context, reading.files, leans=bool(reading.files))
            if routed is not None:
                break
    if routed is None:
        return None
    if routed.likely < SURE:
        found = search_readings(run, request.filters, run.answer_profile)
        if worth(found, run.answer_context) >= LOW:
            return found if run.llm is None else None  # a language model may yet rewrite what is searched for
    verdict = ""
    if _is_corrective(run, request):  # a route has not searched, so its own confidence says whether it answers
        held = "correct" if routed.confidence == "high" else "ambiguous"
        verdict = "incorrect" if routed.nothing_found else held
    signals = {"routed": 1.0}
    found = Found(question, run.answer_profile.name, routed.hits, signals=signals, about=reading.files, verdict=verdict)
    if routed.for_llm and run.llm is not None:
        return found
    total_ms = round((time.perf_counter() - started) * 1000, 3)
    timings.add("total_ms", total_ms, began)
    return _answer(run, routed, found, timings)


def small_talk(run: QuestionRun) -> Answer:
    """The answer to "thanks" or "hello": a line, without a search."""
    began, timings = time.time(), Timings()
    timings.add("total_ms", 0.0, began)
    block = Block("text", "Glad to help: ask me something about your papers, or `/help` for what else can be done.")
    found = Found(run.question, run.answer_profile.name, (), signals={"routed": 1.0})
    return _answer(run, Routed("small_talk", "Nothing was searched for.", (block,), confidence=None), found, timings)


def _answer(run: QuestionRun, routed: Routed, found: Found, timings: Timings) -> Answer:
    trace_id, text = uuid.uuid4().hex, as_text(routed.blocks)
    cited = dict.fromkeys(citation for block in routed.blocks for citation in block.citations)
    run.on_token(text)
    return Answer(
        answer_id=trace_id[:12],
        question=run.question,
        text=text,
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


def passage_answer(run: QuestionRun, request: AskRequest, routed: Found | None) -> Answer:
    """The answer from what one search finds, or from what a route has `routed` to the language model."""

    def find(text: str) -> Found:
        return routed if routed is not None else _searched(run, request, text)

    asked = AnswerRequest(run.spelled, request.history, request.strict)
    search = _with_second_look(run, request, find) if _is_corrective(run, request) else find
    given = answer(asked, run.answer_context, search=search, on_token=run.on_token)
    if given.confidence == "high" and "foreign" in given.found.signals:  # half of the question was not understood
        given = replace(given, confidence="medium")
    return placed(given, run.library)


def _searched(run: QuestionRun, request: AskRequest, text: str) -> Found:
    if request.plain and not request.history:
        return searched(run, run.readings[0].text, request.filters, run.answer_profile)
    rewritten = text if text != run.spelled else ""
    return search_readings(run, request.filters, run.answer_profile, rewritten)


def _is_corrective(run: QuestionRun, request: AskRequest) -> bool:
    return run.profile.corrective if request.corrective is None else request.corrective


def _with_second_look(run: QuestionRun, request: AskRequest, find: Callable[[str], Found]) -> Callable[[str], Found]:
    """The search for one answer: it grades its results and searches again, reworded, if they are doubtful.

    It never returns more passages than requested; without a number, a second search may add some. That one reads the
    reworded question as it is, whatever a route has found and whatever else the first question may mean.
    """
    from ragscience.agent.corrective import EXTRA_PASSAGES, Corrective

    circuit = run.shared.circuit
    return Corrective(
        find,
        likely=lambda found: likely_answered(found, run.answer_context),
        again=lambda text: search_in_parts(run, text, request.filters, run.answer_profile),
        llm=run.announced(run.step_llm) if run.step_llm is not None and circuit.allows() else None,
        on_failure=circuit.failed,
        most_passages=passages_wanted(run.settings, request.top_k, for_answer=True)
        or run.answer_profile.top_k + EXTRA_PASSAGES,
        seconds=run.settings.answer_seconds,
    )


def _kind_probabilities(run: QuestionRun, question: str) -> NDArray[np.float32]:
    """[kinds] of the question, as `ask.intents.probabilities`; empty where the embedded model is not installed."""
    from ragscience.ask.intents import probabilities, weights

    vector = run.read_question(question)
    return probabilities(weights(), vector[None])[0] if len(vector) else vector


def _query_vector(run: QuestionRun, text: str) -> NDArray[np.float32]:
    """[dimension] of a text that is searched for; empty where the embedder is not there."""
    try:
        return np.asarray(run.embedder.embed_query(text), np.float32)
    except ModelProblem:
        return np.empty(0, np.float32)


def _maxsims(run: QuestionRun, text: str, ids: Sequence[int]) -> Mapping[int, float]:
    """As `RouteContext.maxsims`."""
    if run.tokens_from is None:
        return {}
    try:
        (read,) = run.tokens_from.questions([text])
        return maxsim_scores(read, dict.fromkeys(ids, 0.0), library=run.library, tokens_from=run.tokens_from)
    except ModelProblem:
        return {}
