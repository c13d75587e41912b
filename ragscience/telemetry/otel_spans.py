"""OpenTelemetry: the tree of a question becomes spans, sent where the standard OTEL_ variables say, else nowhere.

The package is imported only where OTEL_TRACES_EXPORTER names an exporter. Variables:
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. Unlike there, no value means none.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from ipaddress import ip_address
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ragscience.errors import RagScienceError, UsageError
from ragscience.telemetry.question_event import QuestionEvent
from ragscience.telemetry.span_tree import Span, span_tree

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

__all__ = ["Spans", "exporters_wanted", "spans_wanted"]

INSTALL = "Install what sends it: pip install -r requirements-telemetry.txt; or unset OTEL_TRACES_EXPORTER."
FLUSH_SECONDS = 2.0
"""Longest wait for a collector at the end."""


def exporters_wanted(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names in OTEL_TRACES_EXPORTER, "none" left out; none where it is unset or OTEL_SDK_DISABLED is true."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().casefold() == "true":
        return ()
    named = [name.strip() for name in environment.get("OTEL_TRACES_EXPORTER", "").split(",")]
    return tuple(dict.fromkeys(name for name in named if name and name != "none"))


def spans_wanted(environment: Mapping[str, str], *, with_questions: bool, offline: bool) -> Spans | None:
    """What sends spans where the environment asks for it, else None, and nothing is imported.

    Raises UsageError where the package or the exporter is not installed, and where `offline` forbids the endpoint.
    """
    names = exporters_wanted(environment)
    if not names:
        return None
    if offline:
        _check_local(names, environment)
    try:
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError as error:
        raise UsageError(f"OTEL_TRACES_EXPORTER is {names[0]}, and OpenTelemetry is not installed.", INSTALL) from error
    exporters = [_exporter(name, environment) for name in names]
    return Spans(exporters, environment, with_questions=with_questions)


def _exporter(name: str, environment: Mapping[str, str]) -> SpanExporter:
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    if name == "console":
        return ConsoleSpanExporter(out=sys.stderr)  # stdout is the answer's
    found = list(entry_points(group="opentelemetry_traces_exporter", name=_entry(name, environment)))
    if not found:
        raise UsageError(f"OTEL_TRACES_EXPORTER names {name!r}, and no such exporter is installed.", INSTALL)
    try:
        exporter: SpanExporter = found[0].load()()
    except (ImportError, ValueError) as error:
        raise UsageError(f"The exporter {name} of OTEL_TRACES_EXPORTER does not start: {error}.", INSTALL) from error
    return exporter


def _entry(name: str, environment: Mapping[str, str]) -> str:
    """What the exporter is registered as: otlp has one for each protocol."""
    if name != "otlp":
        return name
    return "otlp_proto_grpc" if _otlp(environment, "PROTOCOL") == "grpc" else "otlp_proto_http"


def _otlp(environment: Mapping[str, str], what: str) -> str:
    return environment.get(f"OTEL_EXPORTER_OTLP_TRACES_{what}") or environment.get(f"OTEL_EXPORTER_OTLP_{what}") or ""


def _check_local(names: Sequence[str], environment: Mapping[str, str]) -> None:
    endpoint = _otlp(environment, "ENDPOINT") or "http://localhost:4318"
    host = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}").hostname or ""
    away = [name for name in names if name != "console" and not (name == "otlp" and _is_this_machine(host))]
    if away:
        where = f" to {host}" if away[0] == "otlp" else ""
        raise UsageError(
            f"OTEL_TRACES_EXPORTER={away[0]} would send spans{where}, and --offline forbids it.",
            "Unset OTEL_TRACES_EXPORTER, or leave --offline out.",
        )


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Spans:
    """Turns accounts into spans of a tracer provider of its own; no other code of the process is traced."""

    def __init__(
        self, exporters: Sequence[SpanExporter], environment: Mapping[str, str], *, with_questions: bool
    ) -> None:
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

        # A collector that does not answer is told of once, when it is given up, and not at every attempt.
        logging.getLogger("opentelemetry").setLevel(logging.ERROR)
        self._with_questions = with_questions
        self._exporters = tuple(exporters)
        self._gave_up = False
        self._provider, self._ids = _provider(environment)
        for exporter in exporters:
            at_once = isinstance(exporter, ConsoleSpanExporter)
            self._provider.add_span_processor((SimpleSpanProcessor if at_once else BatchSpanProcessor)(exporter))
        self._tracer = self._provider.get_tracer("ragscience")
        self._lock = Lock()

    def record(self, event: QuestionEvent) -> None:
        """Make the spans of one question, under its trace id, with the times that were measured."""
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context

        contexts: list[Context] = []
        made: list[tuple[Any, int]] = []
        for span in span_tree(event, with_questions=self._with_questions):
            start, end = _nanoseconds(span)
            context = Context() if span.parent is None else contexts[span.parent]
            kind = SpanKind.CLIENT if span.name == "llm" else SpanKind.INTERNAL
            how: dict[str, Any] = {"context": context, "kind": kind, "attributes": span.attributes, "start_time": start}
            if span.parent is None:
                with self._lock:  # two threads may tell at once, and the id is the root's alone
                    self._ids.trace_id = int(event.trace_id, 16)
                    one = self._tracer.start_span(span.name, **how)
            else:
                one = self._tracer.start_span(span.name, **how)
            if span.parent is None and event.error:
                one.set_status(StatusCode.ERROR, event.error)
            contexts.append(set_span_in_context(one, Context()))
            made.append((one, end))
        for one, end in reversed(made):
            one.end(end_time=end)

    def close(self) -> None:
        """Send what waits. Raises RagScienceError where that takes more attempts than FLUSH_SECONDS allow."""
        # The SDK's own limits are not kept while an exporter waits for its next attempt (opentelemetry-python #4568).
        limit = Timer(FLUSH_SECONDS, self._give_up)
        limit.daemon = True
        limit.start()
        self._provider.shutdown()
        limit.cancel()
        if self._gave_up:
            raise RagScienceError(
                f"The collector did not take the spans within {FLUSH_SECONDS:g} s.",
                "See whether it runs where OTEL_EXPORTER_OTLP_ENDPOINT says.",
            )

    def _give_up(self) -> None:
        self._gave_up = True
        for exporter in self._exporters:
            exporter.shutdown()


def _nanoseconds(span: Span) -> tuple[int, int]:
    start = round(span.started * 1_000_000) * 1000
    return start, start + round(span.ms * 1000) * 1000


def _provider(environment: Mapping[str, str]) -> tuple[TracerProvider, Any]:
    """A tracer provider, and what gives its ids: `trace_id` is that of the next root."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class Ids(RandomIdGenerator):
        trace_id = 0

        def generate_trace_id(self) -> int:
            return self.trace_id

    named = environment.get("OTEL_SERVICE_NAME") or "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if named else {"service.name": "ragscience"})
    ids = Ids()
    return TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False), ids
