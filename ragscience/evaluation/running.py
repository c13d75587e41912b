"""Every question of a set is asked, and what comes is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ragscience.errors import RagScienceError
from ragscience.evaluation.metrics import measure
from ragscience.evaluation.questions import KnownQuestion
from ragscience.records import Answer

__all__ = ["Asker", "Outcome", "run"]

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


def run(questions: Iterable[KnownQuestion], ask: Asker, *, clock: Callable[[], float]) -> Iterator[Outcome]:
    """The outcomes, as they come, in the order of the questions; one that fails does not stop the others.

    `clock` gives seconds that never go back, such as time.monotonic.
    """
    for question in questions:
        started = clock()
        answer, error = None, ""
        try:
            answer = ask(question)
        except RagScienceError as problem:
            error = str(problem)
        yield Outcome(question, answer, error, measure(question, answer, clock() - started))
