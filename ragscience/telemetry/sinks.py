"""Where accounts go in this run: any of a log, a metrics file and spans, or nowhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import Queue, SimpleQueue
from threading import Thread
from typing import Protocol

from ragscience.errors import RagScienceError
from ragscience.telemetry.question_event import QuestionEvent

__all__ = ["Sink", "Telemetry", "open_telemetry"]


class Sink(Protocol):
    """One place that accounts go to."""

    def record(self, event: QuestionEvent) -> None:
        """Write down one account. Raises OSError or RagScienceError."""

    def close(self) -> None:
        """Write what waits. Raises OSError or RagScienceError."""


class Telemetry:
    """All sinks of a run, told in a thread of their own: who asked does not wait for them.

    What one of them fails at is said with the next question or at the end, by the thread that asks, and costs no
    answer.
    """

    def __init__(self, sinks: Sequence[Sink], on_problem: Callable[[str], None]) -> None:
        self._sinks = tuple(sinks)
        self._on_problem = on_problem
        self._waiting: Queue[QuestionEvent | None] = Queue()
        self._problems: SimpleQueue[str] = SimpleQueue()
        self._thread: Thread | None = None

    @property
    def is_on(self) -> bool:
        """Whether anything is told anywhere."""
        return bool(self._sinks)

    def record(self, event: QuestionEvent) -> None:
        """Tell all sinks, soon."""
        self._say_problems()
        if not self._sinks:
            return
        if self._thread is None:
            self._thread = Thread(target=self._work, name="telemetry", daemon=True)
            self._thread.start()
        self._waiting.put(event)

    def wait(self) -> None:
        """Until all that was told has arrived."""
        self._waiting.join()
        self._say_problems()

    def close(self) -> None:
        """Let all sinks write what waits."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        for sink in self._sinks:
            self._guarded(sink.close)
        self._say_problems()

    def _work(self) -> None:
        while (event := self._waiting.get()) is not None:
            try:
                for sink in self._sinks:
                    self._guarded(partial(sink.record, event))
            finally:
                self._waiting.task_done()

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (OSError, RagScienceError) as error:
            self._problems.put(f"Not all is logged or counted: {error}")

    def _say_problems(self) -> None:
        while not self._problems.empty():
            self._on_problem(self._problems.get())


def open_telemetry(
    *,
    log_file: Path | None,
    metrics_file: Path | None,
    environment: Mapping[str, str],
    with_questions: bool,
    offline: bool,
    on_problem: Callable[[str], None],
) -> Telemetry:
    """The sinks that are asked for, tried before any work begins; what nobody asked for is not imported.

    `environment` has the OTEL_ variables, `with_questions` lets spans have the question's words. Raises UsageError
    where a file cannot be written, or an exporter is not there.
    """
    sinks: list[Sink] = []
    if log_file is not None:
        from ragscience.telemetry.log_line import LogFile

        sinks.append(LogFile(log_file))
    if metrics_file is not None:
        from ragscience.telemetry.prometheus_metrics import MetricsFile

        sinks.append(MetricsFile(metrics_file))
    if environment.get("OTEL_TRACES_EXPORTER"):
        from ragscience.telemetry.otel_spans import spans_wanted

        spans = spans_wanted(environment, with_questions=with_questions, offline=offline)
        sinks += [spans] if spans is not None else []
    return Telemetry(sinks, on_problem)
