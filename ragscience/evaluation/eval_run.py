"""Answers every question of a set and measures the answer and its cost, in the same way for every mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer
from ragscience.evaluation.answer_metrics import COSTS, measure
from ragscience.evaluation.question_file import KnownQuestion


@dataclass(slots=True)
class Meter:
    """Counts from `start` to `read`. `clock` gives seconds that never go back, such as time.monotonic."""

    clock: Callable[[], float]
    searches: int = 0
    llm_calls: int = 0
    tokens: int = 0
    started: float = 0.0

    def start(self) -> None:
        """Begin again at nothing."""
        self.searches = self.llm_calls = self.tokens = 0
        self.started = self.clock()

    def read(self, answer: Answer | None) -> Mapping[str, float]:
        """The cost by the names of COSTS; where the answer's own trace has more, that counts."""
        searches, calls, tokens = self.searches, self.llm_calls, self.tokens
        if answer is not None:
            counted = answer.tokens.get("prompt", 0) + answer.tokens.get("answer", 0)
            tokens = max(tokens, counted, sum(step.tokens for step in answer.trace))
            searches = max(searches, sum(step.searches for step in answer.trace))
            calls = max(calls, sum(step.llm_calls for step in answer.trace), int(answer.mode == "llm"))
        seconds = self.clock() - self.started
        return dict(zip(COSTS, map(float, (searches, calls, tokens, seconds)), strict=True))


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


FAILURES = {
    "error": "Ended in an error",
    "refused": "Refused, though the papers answer it",
    "page": "Page with the answer not found",
    "answer": "Answer lacks what it must have",
    "cited": "Right page found, but not cited",
    "not refused": "Answered, though the papers do not",
}
"""Why a question counts as failed, the gravest first; a question is in the first that fits."""


def failed_questions(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    """The questions that failed by why they did (a key of FAILURES, in its order), each in the order of the file."""
    reasons = [(_why(outcome), outcome) for outcome in outcomes]
    found = {why: [outcome for reason, outcome in reasons if reason == why] for why in FAILURES}
    return {why: failed for why, failed in found.items() if failed}


def _why(outcome: Outcome) -> str:
    values = outcome.values
    if outcome.error:
        return "error"
    if not outcome.question.answerable:
        return "" if values.get("rightly refused", 1.0) else "not refused"
    if values.get("refused"):
        return "refused"
    measures = (("page", "all evidence"), ("answer", "answer"), ("cited", "cited"))
    return next((why for why, name in measures if values.get(name, 1.0) < 1.0), "")


def pages_of(outcome: Outcome) -> str:
    """The pages that have the answer: `a.pdf, p.3; b.pdf, p.1 or p.2`; empty where none is known."""
    facts = []
    for places in outcome.question.evidence:
        files: dict[str, list[str]] = {}
        for file, page in sorted(places):
            files.setdefault(file, []).append(f"p.{page}")
        facts.append(" or ".join(f"{file}, {' or '.join(pages)}" for file, pages in files.items()))
    return "; ".join(dict.fromkeys(facts))
