"""The answer to a question from the passages that a search finds, by a language model or in quotes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Answer, Found
from ragscience.core.stage_timing import Timings, timed

if TYPE_CHECKING:
    from ragscience.engine.question_run import QuestionRun
    from ragscience.engine.requests import AskRequest
    from ragscience.models.served_llm import ServedLLM

__all__ = ["passage_answer"]


def passage_answer(run: QuestionRun, request: AskRequest, routed: Found | None) -> Answer:
    """The answer from what one search finds, or from what a route has `routed` to the language model."""
    from ragscience.ask.answer_context import AnswerRequest
    from ragscience.ask.answers import answer
    from ragscience.ask.query_rewriting import evidence_again
    from ragscience.engine.question_timing import after_first_search
    from ragscience.engine.quote_location import placed

    llm, history, question = run.llm, request.history, run.spelled
    if run.graph is not None:
        run.graph.llm = run.cancellable(llm) if llm is not None and run.shared.circuit.allows() else None
    first: dict[str, Found] = {}
    first_times = Timings()
    if llm is not None and not history and routed is None:
        # LangChain's code takes a second or two: it comes while the search runs, in a thread that Ctrl-C leaves.
        imports = Thread(target=_load, args=(llm,), daemon=True)
        imports.start()
        with timed(first_times, "search_ms"):
            first[question] = _searched(run, request, question)
        imports.join()

    def find(text: str) -> Found:
        if routed is not None:
            return routed
        if text in first:
            return first[text]
        return _searched(run, request, text, evidence_again(question, history))

    is_corrective = run.profile.corrective if request.corrective is None else request.corrective
    given = answer(
        AnswerRequest(question, history, request.strict),
        run.answer_context,
        search=_with_second_look(run, find) if is_corrective else find,
        on_token=run.on_token,
    )
    if given.confidence == "high" and "foreign" in given.found.signals:  # half of the question was not understood
        given = replace(given, confidence="medium")
    return after_first_search(placed(given, run.library), first_times)


def _searched(run: QuestionRun, request: AskRequest, text: str, also: tuple[int, ...] = ()) -> Found:
    from ragscience.engine.split_search import search_in_parts

    search = type(run).search if request.plain else search_in_parts
    return search(run, text, request.filters, also, run.answer_profile)


def _with_second_look(run: QuestionRun, find: Callable[[str], Found]) -> Callable[[str], Found]:
    """The search for one answer: it grades its results and searches again, reworded, if they are doubtful.

    It never returns more passages than requested; without a number, a second search may add some.
    """
    from ragscience.agent.corrective import EXTRA_PASSAGES, Corrective, CorrectiveContext

    titles: dict[str, str] = {}

    def title_of(file: str) -> str:
        titles.update({} if titles else {paper.file: paper.title for paper in run.library.papers()})
        return titles.get(file, "")

    circuit = run.shared.circuit
    context = CorrectiveContext(
        find,
        llm=run.cancellable(run.step_llm) if run.step_llm is not None and circuit.allows() else None,
        title_of=title_of,
        most_passages=run.profiles.wanted_for_answer or run.answer_profile.top_k + EXTRA_PASSAGES,
        seconds=run.settings.answer_seconds,
    )
    return Corrective(context, on_failure=circuit.failed)


def _load(llm: ServedLLM) -> None:
    with suppress(ModelProblem):  # the first call raises it again
        _ = llm.chat_model
