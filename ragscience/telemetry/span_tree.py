"""The account of a question as a tree of spans with attributes, in plain values: what any tracer could be given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ragscience.records import Stage, Step
from ragscience.telemetry.question_event import STAGES, QuestionEvent

__all__ = ["Attributes", "Span", "span_tree"]

Attributes = dict[str, str | int | float | bool]

_INSIDE = {stage.name: stage.inside for stage in STAGES}
_SLACK_SECONDS = 1e-5
"""Two clocks are read for each stage, and their times are rounded."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span."""

    name: str
    started: float
    """Seconds since 1970."""
    ms: float
    parent: int | None
    """Its place in the tuple that it is in; None of the first."""
    attributes: Attributes


def span_tree(event: QuestionEvent, *, with_questions: bool) -> tuple[Span, ...]:
    """The question, the agent's steps, and each run of a stage; every span after its parent.

    Attributes are those of OpenTelemetry's conventions for generative AI (`gen_ai.…`) where they fit, else
    `ragscience.…`. The question's words are among them only `with_questions`.
    """
    spans = [Span(event.how, event.started, event.total_ms, None, _of_whole(event, with_questions))]
    spans += [
        Span(step.node, step.started, step.seconds * 1000, 0, _of_step(step))
        for step in sorted(event.steps, key=lambda each: each.started)
        if step.started
    ]
    steps = range(1, len(spans))
    for stage in event.stages:
        inside = _INSIDE.get(stage.name, "")
        known = [number for number, span in enumerate(spans) if number and span.name == inside]
        parent = _under(stage, spans, known if inside else list(steps))
        spans.append(Span(stage.name, stage.started, stage.ms, parent, dict(_of_stage(stage, event, with_questions))))
    last = max((span.started - event.started) * 1000 + span.ms for span in spans)
    return (replace(spans[0], ms=last), *spans[1:])


def _under(stage: Stage, spans: list[Span], candidates: list[int]) -> int:
    """The candidate that began last before the stage; the whole question without one."""
    begun = [number for number in candidates if spans[number].started <= stage.started + _SLACK_SECONDS]
    return max(begun, key=lambda number: spans[number].started, default=0)


def _of_whole(event: QuestionEvent, with_questions: bool) -> Attributes:
    found: Attributes = {"ragscience.passages": event.passages, "ragscience.profile": event.profile}
    if event.answer_id:
        found |= {
            "ragscience.answer_id": event.answer_id,
            "ragscience.mode": event.mode,
            "ragscience.refused": event.refused,
            **{f"ragscience.citations.{verdict}": count for verdict, count in event.citations.items()},
        }
    if event.steps:
        found |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ragscience", **_usage(event)}
    if event.error:
        found = {"error.type": event.error}
    if with_questions:
        found["ragscience.question"] = event.question
    return found


def _of_step(step: Step) -> Attributes:
    return {
        "ragscience.step.iteration": step.iteration,
        "ragscience.step.by": step.by,
        "ragscience.step.searches": step.searches,
        "ragscience.step.llm_calls": step.llm_calls,
        "ragscience.step.tool_calls": step.tool_calls,
        "ragscience.step.tokens": step.tokens,
    }


def _of_stage(stage: Stage, event: QuestionEvent, with_questions: bool) -> Iterator[tuple[str, str | int]]:
    """What the conventions have for a search, for the question's vector and for the chat model."""
    model = {"embed": "embedder", "rerank": "reranker", "llm": "llm"}.get(stage.name)
    named = event.models.get(model) if model else None
    if named:
        yield "gen_ai.request.model", named
    if stage.name == "search":
        yield "gen_ai.operation.name", "retrieval"
        if with_questions and not event.steps:
            yield "gen_ai.retrieval.query.text", event.searched
    elif stage.name == "embed":
        yield "gen_ai.operation.name", "embeddings"
    elif stage.name == "llm":
        yield "gen_ai.operation.name", "chat"
        yield "gen_ai.provider.name", "ollama"
        if not event.steps:
            yield from _usage(event).items()


def _usage(event: QuestionEvent) -> dict[str, int]:
    names = {"prompt": "gen_ai.usage.input_tokens", "answer": "gen_ai.usage.output_tokens"}
    return {name: event.tokens[kind] for kind, name in names.items() if kind in event.tokens}
