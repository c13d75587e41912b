"""Every question of a set is asked, and what comes is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ragscience.errors import RagScienceError
from ragscience.evaluation.answer_metrics import measure
from ragscience.evaluation.costs import Meter
from ragscience.evaluation.question_file import KnownQuestion
from ragscience.records import Answer

__all__ = ["Asker", "Outcome", "judged", "run"]

Asker = Callable[[KnownQuestion], Answer]
"""Answers one question with its history; RagScienceError where it cannot."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, and what came of it."""

    question: KnownQuestion
    answer: Answer | None
    """None where it failed,"""
    error: str
    """for this reason; empty otherwise."""
    values: Mapping[str, float]
    """By the names of metrics.MEASURES."""


def run(questions: Iterable[KnownQuestion], ask: Asker, *, meter: Meter) -> Iterator[Outcome]:
    """The outcomes, as they come, in the order of the questions; one that fails does not stop the others.

    `meter` is started before each question and read after it.
    """
    for question in questions:
        meter.start()
        answer, error = None, ""
        try:
            answer = ask(question)
        except RagScienceError as problem:
            error = str(problem)
        yield Outcome(question, answer, error, measure(question, answer, meter.read(answer)))


def judged(outcomes: Iterable[Outcome], judge: Callable[[str, Answer], Mapping[str, float]]) -> Iterator[Outcome]:
    """The same outcomes with a judge's values added; what was refused or failed has nothing to judge.

    `judge` gets the question and its answer.
    """
    for outcome in outcomes:
        answer = outcome.answer
        if answer is None or answer.refused:
            yield outcome
        else:
            yield replace(outcome, values={**outcome.values, **judge(outcome.question.question, answer)})
