"""Answers every question of a set and measures the answer and its cost, in the same way for every mode.

A model's calls are counted where LangChain reports them, so that every call counts: the answer, the
rewriting of a follow-up, a grader, a reranker, a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer
from ragscience.evaluation.answer_metrics import COSTS, measure
from ragscience.evaluation.question_file import KnownQuestion

__all__ = ["Asker", "Meter", "Outcome", "judged", "run"]

PROVIDERS = frozenset({"ollama", "openai"})
"""As LangChain's ChatOllama and ChatOpenAI call themselves."""


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
        """The cost by the names of COSTS; where the answer's own trace or counts tell of more, that counts."""
        searches, calls, tokens = self.searches, self.llm_calls, self.tokens
        if answer is not None:
            counted = answer.tokens.get("prompt", 0) + answer.tokens.get("answer", 0)
            tokens = max(tokens, counted, sum(step.tokens for step in answer.trace))
            searches = max(searches, sum(step.searches for step in answer.trace))
            calls = max(calls, sum(step.llm_calls for step in answer.trace), int(answer.mode == "llm"))
        seconds = self.clock() - self.started
        return dict(zip(COSTS, map(float, (searches, calls, tokens, seconds)), strict=True))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count every call of a chat model that LangChain makes within it, in threads that keep the context, too."""
        _hook()
        token = _COUNTER.set(_counter(self))
        try:
            yield
        finally:
            _COUNTER.reset(token)


_COUNTER: ContextVar[Any] = ContextVar("counter_of_model_calls", default=None)


@cache
def _hook() -> None:
    """Register, once, a counter with LangChain for every run that it configures."""
    from langchain_core.tracers.context import register_configure_hook

    register_configure_hook(_COUNTER, inheritable=True)


def _counter(meter: Meter) -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    class Counter(BaseCallbackHandler):
        """Adds each call and its tokens to the meter."""

        run_inline = True

        def on_chat_model_start(self, *_: Any, metadata: dict[str, Any] | None = None, **__: Any) -> None:
            # A model that only wraps another one, as in answering.chain, does not count.
            meter.llm_calls += (metadata or {}).get("ls_provider") in PROVIDERS

        def on_llm_end(self, response: Any, **_: Any) -> None:
            for message in (each.message for row in response.generations for each in row):
                meter.tokens += (getattr(message, "usage_metadata", None) or {}).get("total_tokens", 0)

    return Counter()


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
