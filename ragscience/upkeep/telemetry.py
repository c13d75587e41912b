"""Logs, metrics and traces of each question: a line in a log, counts for Prometheus, and OpenTelemetry's spans.

Nothing here times anything: the answer carries each stage's time (`Stage`), and is written in three forms. Nothing
leaves the machine unless the standard OTEL_ variables name an exporter.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Found, Stage
from ragscience.upkeep.asked import TOTAL, AskedQuestion

if TYPE_CHECKING:
    from prometheus_client.registry import Collector


def of_answer(answer: Answer) -> AskedQuestion:
    """What is recorded of an answer; one by the agent has the steps of its trace."""
    return AskedQuestion(
        "agent" if answer.trace else "ask", replace(answer, trace_id=answer.trace_id or uuid.uuid4().hex)
    )


def of_search(found: Found, models: Mapping[str, str | None]) -> AskedQuestion:
    """What is recorded of a search; `models` as `Answer.models`."""
    total = {"total_ms": found.timings_ms.get("search_ms", 0.0)}
    return AskedQuestion("search", replace(_nothing(found, models), timings_ms=total))


def of_failure(how: str, question: str, error: str, *, started: float, total_ms: float) -> AskedQuestion:
    """What is recorded of a question that ended with an error; `started` in seconds since 1970."""
    whole = {"total_ms": total_ms}
    answer = replace(_nothing(Found(question, "", ()), {}), timings_ms=whole, stages=(Stage(TOTAL, started, total_ms),))
    return AskedQuestion(how, answer, error)


def _nothing(found: Found, models: Mapping[str, str | None]) -> Answer:
    """An answer of no words."""
    return Answer(
        answer_id="",
        question=found.question,
        text="",
        mode="",
        refused=False,
        citations=(),
        found=found,
        models={**models, "llm": None},
        trace_id=uuid.uuid4().hex,
    )


class Sink(Protocol):
    """One place to write to."""

    def record(self, asked: AskedQuestion) -> None:
        """Write one question. Raises OSError or RagScienceError."""

    def close(self) -> None:
        """Write what is pending. Raises OSError or RagScienceError."""


class Telemetry:
    """All sinks of a run; safe for several threads. A sink's error goes to `on_problem`, and no answer is lost."""

    def __init__(self, sinks: Sequence[Sink], on_problem: Callable[[str], None]) -> None:
        self._sinks = tuple(sinks)
        self._on_problem = on_problem
        self._lock = Lock()

    def counts(self) -> Collector:
        """Counts of the questions from now on, for a server's own /metrics."""
        from ragscience.upkeep.prometheus_metrics import QuestionCounts

        counts = QuestionCounts()
        self._sinks = (*self._sinks, counts)
        return counts

    @property
    def is_on(self) -> bool:
        """Whether there is any sink."""
        return bool(self._sinks)

    def record(self, asked: AskedQuestion) -> None:
        """Write one question to all sinks."""
        self._each([partial(sink.record, asked) for sink in self._sinks])

    def close(self) -> None:
        """Let all sinks write what is pending."""
        self._each([sink.close for sink in self._sinks])

    def _each(self, writes: Sequence[Callable[[], None]]) -> None:
        problems = []
        with self._lock:
            for write in writes:
                try:
                    write()
                except (OSError, RagScienceError) as error:
                    problems.append(f"Not everything was logged or counted: {error}")
        for problem in problems:
            self._on_problem(problem)


def open_telemetry(
    *,
    log_file: Path | None,
    metrics_file: Path | None,
    environment: Mapping[str, str],
    with_questions: bool,
    offline: bool,
    on_problem: Callable[[str], None],
) -> Telemetry:
    """The sinks that are configured, opened before any work starts; others are not imported.

    `environment` has the OTEL_ variables; `with_questions` puts the question's words into spans. Raises UsageError
    where a file cannot be written, or an exporter is not installed.
    """
    sinks: list[Sink] = []
    if log_file is not None:
        from ragscience.upkeep.asked import LogFile

        sinks.append(LogFile(log_file))
    if metrics_file is not None:
        from ragscience.upkeep.prometheus_metrics import MetricsFile

        sinks.append(MetricsFile(metrics_file))
    if environment.get("OTEL_TRACES_EXPORTER"):
        from ragscience.upkeep.otel_spans import open_spans

        spans = open_spans(environment, with_questions=with_questions, offline=offline)
        sinks += [spans] if spans is not None else []
    return Telemetry(sinks, on_problem)
