"""OpenTelemetry: a question becomes a tree of spans, sent where the standard OTEL_ variables say, else nowhere.

OpenTelemetry is imported only where OTEL_TRACES_EXPORTER names an exporter. Variables:
https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. Unlike there, no value means no
exporter.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ragscience.core.errors import RagScienceError, UsageError, missing_package
from ragscience.core.records import Stage, Step
from ragscience.models.model_http import is_loopback
from ragscience.upkeep.telemetry import STAGES, AskedQuestion

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter


Attributes = dict[str, str | int | float | bool]

FLUSH_SECONDS = 2.0
"""The longest wait for a collector at the end."""
_SLACK_SECONDS = 1e-5
"""Each stage is timed with two clocks, and the times are rounded."""
_PARENTS = {stage.name: stage.inside for stage in STAGES}
_MODELS = {"embed": "embedder", "rerank": "reranker", "llm": "llm"}
_OPERATIONS = {"search": "retrieval", "embed": "embeddings", "llm": "chat"}


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One span, in plain values."""

    name: str
    started: float
    """Seconds since 1970."""
    ms: float
    parent: int | None
    """Its index in the tuple; None of the root."""
    attributes: Attributes


def span_tree(asked: AskedQuestion, *, with_questions: bool) -> tuple[SpanRecord, ...]:
    """The question, the agent's steps, and each run of a stage; every span after its parent.

    Attributes are those of OpenTelemetry's conventions for generative AI (`gen_ai.…`) where they fit, else
    `ragscience.…`. They contain the question's words only `with_questions`.
    """
    spans = [SpanRecord(asked.how, asked.started, asked.total_ms, None, _root_attributes(asked, with_questions))]
    timed = sorted((step for step in asked.answer.trace if step.started), key=lambda each: each.started)
    spans += [SpanRecord(one.node, one.started, one.seconds * 1000, 0, _step_attributes(one)) for one in timed]
    steps = list(range(1, len(spans)))
    for stage in asked.stages:
        inside = _PARENTS.get(stage.name, "")
        known = [number for number, span in enumerate(spans) if number and span.name == inside] if inside else steps
        # The candidate that began last before the stage; the whole question without one.
        begun = [number for number in known if spans[number].started <= stage.started + _SLACK_SECONDS]
        parent = max(begun, key=lambda number: spans[number].started, default=0)
        about = _stage_attributes(stage, asked, with_questions)
        spans.append(SpanRecord(stage.name, stage.started, stage.ms, parent, about))
    last = max((span.started - spans[0].started) * 1000 + span.ms for span in spans)
    return (replace(spans[0], ms=last), *spans[1:])


def _root_attributes(asked: AskedQuestion, with_questions: bool) -> Attributes:
    answer = asked.answer
    found: Attributes = {"ragscience.passages": len(answer.found.hits), "ragscience.profile": answer.found.profile}
    if answer.answer_id:
        found |= {
            "ragscience.answer_id": answer.answer_id,
            "ragscience.mode": answer.mode,
            "ragscience.refused": answer.refused,
            **{f"ragscience.citations.{verdict}": count for verdict, count in asked.citations.items()},
        }
    if answer.trace:
        found |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ragscience", **_usage(asked)}
    if asked.error:
        found = {"error.type": asked.error}
    if with_questions:
        found["ragscience.question"] = answer.question
    return found


def _step_attributes(step: Step) -> Attributes:
    names = ("iteration", "by", "searches", "llm_calls", "tool_calls", "tokens")
    return {f"ragscience.step.{name}": getattr(step, name) for name in names}


def _stage_attributes(stage: Stage, asked: AskedQuestion, with_questions: bool) -> Attributes:
    """What the conventions have for a search, for the question's vector and for the chat model."""
    found: Attributes = {}
    if model := asked.answer.models.get(_MODELS.get(stage.name, "")):
        found["gen_ai.request.model"] = model
    if operation := _OPERATIONS.get(stage.name):
        found["gen_ai.operation.name"] = operation
    if stage.name == "search" and with_questions and not asked.answer.trace:
        found["gen_ai.retrieval.query.text"] = asked.answer.found.question
    if stage.name == "llm":
        found |= {"gen_ai.provider.name": "ollama", **({} if asked.answer.trace else _usage(asked))}
    return found


def _usage(asked: AskedQuestion) -> dict[str, int]:
    names = {"prompt": "gen_ai.usage.input_tokens", "answer": "gen_ai.usage.output_tokens"}
    return {name: asked.answer.tokens[kind] for kind, name in names.items() if kind in asked.answer.tokens}


def open_spans(environment: Mapping[str, str], *, with_questions: bool, offline: bool) -> SpanSender | None:
    """The sender of spans where the environment asks for one; else None, and nothing is imported.

    Raises UsageError where the package or the exporter is not installed, and where `offline` forbids the endpoint.
    """
    name = environment.get("OTEL_TRACES_EXPORTER", "").strip()
    if name in ("", "none") or environment.get("OTEL_SDK_DISABLED", "").strip().casefold() == "true":
        return None
    if offline:
        _check_local(name, environment)
    try:
        exporter = _exporter(name)
    except ImportError as error:
        needs = f"OTEL_TRACES_EXPORTER={name}"
        raise missing_package(needs, "opentelemetry-sdk", "telemetry", UsageError) from error
    except ValueError as error:
        raise UsageError(f"The exporter of OTEL_TRACES_EXPORTER does not start: {error}.") from error
    return SpanSender(exporter, environment, with_questions=with_questions)


def _exporter(name: str) -> SpanExporter:
    """The exporter "console" or "otlp" (over HTTP). Raises ImportError where it is not installed."""
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)  # stdout is for the answer
    if name != "otlp":
        raise UsageError(f"OTEL_TRACES_EXPORTER names {name!r}.", "Take otlp (over HTTP) or console.")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _check_local(name: str, environment: Mapping[str, str]) -> None:
    """Raise UsageError where the exporter would send spans to another machine."""
    names_of_endpoint = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    endpoint = next(filter(None, map(environment.get, names_of_endpoint)), "http://localhost:4318")
    url = endpoint if "//" in endpoint else f"//{endpoint}"
    if name != "console" and not (name == "otlp" and is_loopback(url)):
        where = f" to {urlsplit(url).hostname}" if name == "otlp" else ""
        fix = "Unset OTEL_TRACES_EXPORTER, or leave --offline out."
        raise UsageError(f"OTEL_TRACES_EXPORTER={name} would send spans{where}, and the network is switched off.", fix)


class SpanSender:
    """Sends spans that are made of records; no other code of the process is traced."""

    def __init__(self, exporter: SpanExporter, environment: Mapping[str, str], *, with_questions: bool) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

        # A collector that does not answer is reported once, when it is given up, and not at every attempt.
        logging.getLogger("opentelemetry").setLevel(logging.ERROR)
        self._with_questions = with_questions
        attributes = environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
        is_named = environment.get("OTEL_SERVICE_NAME") or "service.name=" in attributes
        self._resource = Resource.create({} if is_named else {"service.name": "ragscience"})
        is_console = isinstance(exporter, ConsoleSpanExporter)
        self._processor = SimpleSpanProcessor(exporter) if is_console else BatchSpanProcessor(exporter)

    def record(self, asked: AskedQuestion) -> None:
        """Send the spans of one question, under its trace id, with the times that were measured."""
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

        new_id, trace_id = RandomIdGenerator().generate_span_id, int(asked.answer.trace_id, 16)
        sampled = TraceFlags(TraceFlags.SAMPLED)
        made: list[ReadableSpan] = []
        for span in span_tree(asked, with_questions=self._with_questions):
            start = round(span.started * 1_000_000) * 1000  # nanoseconds
            is_failure = span.parent is None and asked.error
            made.append(
                ReadableSpan(
                    span.name,
                    context=SpanContext(trace_id, new_id(), is_remote=False, trace_flags=sampled),
                    parent=None if span.parent is None else made[span.parent].context,
                    resource=self._resource,
                    attributes=span.attributes,
                    kind=SpanKind.CLIENT if span.name == "llm" else SpanKind.INTERNAL,
                    status=Status(StatusCode.ERROR, asked.error) if is_failure else Status(),
                    start_time=start,
                    end_time=start + round(span.ms * 1000) * 1000,
                    instrumentation_scope=InstrumentationScope("ragscience"),
                )
            )
        for one in reversed(made):
            self._processor.on_end(one)

    def close(self) -> None:
        """Send the pending spans. Raises RagScienceError where that takes longer than FLUSH_SECONDS."""
        # The SDK's own limits are not kept while an exporter waits for its next attempt (opentelemetry-python #4568).
        sending = Thread(target=self._processor.shutdown, daemon=True)
        sending.start()
        sending.join(FLUSH_SECONDS)
        if sending.is_alive():
            fix = "Check that it runs at OTEL_EXPORTER_OTLP_ENDPOINT."
            raise RagScienceError(f"The collector did not take the spans within {FLUSH_SECONDS:g} s.", fix)
