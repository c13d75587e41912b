"""The places that a run writes its question events to: any of a log, a metrics file and spans, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import Queue, SimpleQueue
from threading import Thread
from typing import Protocol

from ragscience.core.errors import RagScienceError
from ragscience.upkeep.question_event import QuestionEvent

__all__ = ["Sink", "Telemetry", "open_telemetry"]


class Sink(Protocol):
    """One place to write events to."""

    def record(self, event: QuestionEvent) -> None:
        """Write one event. Raises OSError or RagScienceError."""

    def close(self) -> None:
        """Write what is pending. Raises OSError or RagScienceError."""


class Telemetry:
    """All sinks of a run. They write in a separate thread, so that no question waits for them.

    A sink's error goes to `on_problem` with the next event or at the end, in the caller's thread; no answer is lost.
    """

    def __init__(self, sinks: Sequence[Sink], on_problem: Callable[[str], None]) -> None:
        self._sinks = tuple(sinks)
        self._on_problem = on_problem
        self._waiting: Queue[QuestionEvent | None] = Queue()
        self._problems: SimpleQueue[str] = SimpleQueue()
        self._thread: Thread | None = None

    @property
    def is_on(self) -> bool:
        """Whether there is any sink."""
        return bool(self._sinks)

    def record(self, event: QuestionEvent) -> None:
        """Hand the event to all sinks, without waiting for them."""
        self._report_problems()
        if self._sinks:
            if self._thread is None:
                self._thread = Thread(target=self._work, name="telemetry", daemon=True)
                self._thread.start()
            self._waiting.put(event)

    def wait(self) -> None:
        """Return when all events have been written."""
        self._waiting.join()
        self._report_problems()

    def close(self) -> None:
        """Let all sinks write what is pending, and end the thread."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        for sink in self._sinks:
            self._guarded(sink.close)
        self._report_problems()

    def _work(self) -> None:
        while (event := self._waiting.get()) is not None:
            try:
                for sink in self._sinks:
                    self._guarded(partial(sink.record, event))
            finally:
                self._waiting.task_done()

    def _guarded(self, write: Callable[[], None]) -> None:
        try:
            write()
        except (OSError, RagScienceError) as error:
            self._problems.put(f"Not everything was logged or counted: {error}")

    def _report_problems(self) -> None:
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
    """The sinks that are configured, opened before any work starts; others are not imported.

    `environment` has the OTEL_ variables; `with_questions` puts the question's words into spans. Raises UsageError
    where a file cannot be written, or an exporter is not installed.
    """
    sinks: list[Sink] = []
    if log_file is not None:
        from ragscience.upkeep.log_line import LogFile

        sinks.append(LogFile(log_file))
    if metrics_file is not None:
        from ragscience.upkeep.prometheus_metrics import MetricsFile

        sinks.append(MetricsFile(metrics_file))
    if environment.get("OTEL_TRACES_EXPORTER"):
        from ragscience.upkeep.otel_spans import open_spans

        spans = open_spans(environment, with_questions=with_questions, offline=offline)
        sinks += [spans] if spans is not None else []
    return Telemetry(sinks, on_problem)
