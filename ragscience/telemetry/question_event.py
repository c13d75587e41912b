"""The account of one question, from which the log line, the spans and the metrics come; and the names of the stages."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragscience.records import Answer, Found, Stage, Step

__all__ = ["STAGES", "QuestionEvent", "StageName", "new_trace_id", "of_answer", "of_failure", "of_search"]


@dataclass(frozen=True, slots=True)
class StageName:
    """A stage that is timed; its time is `<name>_ms` in the JSON and in the log line."""

    name: str
    inside: str
    """The stage that it is a part of; empty for a part of the whole question, or of a step of the agent."""
    about: str


STAGES = (
    StageName("search", "", "Everything until the passages are there; models that are loaded for it included."),
    StageName("retrieval", "search", "The first pass: candidates of every source, fused."),
    StageName("embed", "retrieval", "The question becomes a vector."),
    StageName("dense", "retrieval", "Search by meaning, in FAISS."),
    StageName("bm25", "retrieval", "Search by words."),
    StageName("graph", "retrieval", "Passages that the knowledge graph has near the question."),
    StageName("gear", "retrieval", "Passages on the graph's best paths."),
    StageName("late", "search", "Late interaction over the stored token vectors."),
    StageName("rerank", "search", "Question and passages read together, by a cross-encoder or an LLM."),
    StageName("signals", "search", "What tells whether the passages answer at all."),
    StageName("llm", "", "The chat model: a follow-up made to stand alone, and the answer."),
    StageName("quotes", "", "Sentences of the passages chosen as an answer."),
    StageName("check", "", "Each sentence of the answer held against the pages that it cites."),
)
"""The parts of a question, each after what it is inside."""

TOTAL = "total"


@dataclass(frozen=True, slots=True)
class QuestionEvent:
    """What is told of one question."""

    how: str
    """ "ask", "agent" or "search"."""
    trace_id: str
    question: str
    started: float
    """Seconds since 1970."""
    total_ms: float
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """As in the JSON."""
    stages: tuple[Stage, ...] = ()
    """In the order in which they began; what is inside another one comes after it."""
    steps: tuple[Step, ...] = ()
    """Of the agent."""
    searched: str = ""
    """The question as it was searched for."""
    profile: str = ""
    passages: int = 0
    answer_id: str = ""
    """Empty where there is no answer."""
    mode: str = ""
    refused: bool = False
    models: Mapping[str, str | None] = field(default_factory=dict)
    """As `Answer.models`."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """As `Answer.tokens`."""
    citations: Mapping[str, int] = field(default_factory=dict)
    """How many by verdict: "supported", "unsupported"."""
    sentences: Mapping[str, int] = field(default_factory=dict)
    """How many by `Sentence.verdict`."""
    error: str = ""
    """The kind of error that came instead of an answer, as "ModelProblem"."""


_RANK = {stage.name: rank for rank, stage in enumerate(STAGES)}


def new_trace_id() -> str:
    """32 hexadecimal digits for what has no answer to take them from."""
    return uuid.uuid4().hex


def of_answer(answer: Answer) -> QuestionEvent:
    """The account of an answer; one by the agent is told by its steps."""
    own, total = _without_total(answer.stages)
    stages = _in_order((*answer.found.stages, *own))
    started, total_ms = _whole(stages, answer.trace, total, answer.timings_ms.get("total_ms", 0.0))
    supported = sum(citation.supported for citation in answer.citations)
    return QuestionEvent(
        how="agent" if answer.trace else "ask",
        trace_id=answer.trace_id or new_trace_id(),
        question=answer.question,
        started=started,
        total_ms=total_ms,
        timings_ms={**answer.found.timings_ms, **answer.timings_ms, "total_ms": total_ms},
        stages=stages,
        steps=answer.trace,
        searched=answer.found.question,
        profile=answer.found.profile,
        passages=len(answer.found.hits),
        answer_id=answer.answer_id,
        mode=answer.mode,
        refused=answer.refused,
        models=answer.models,
        tokens=answer.tokens,
        citations={"supported": supported, "unsupported": len(answer.citations) - supported},
        sentences=Counter(sentence.verdict for sentence in answer.sentences),
    )


def of_search(found: Found, models: Mapping[str, str | None]) -> QuestionEvent:
    """The account of a search without an answer; `models` as `Answer.models`."""
    stages = _in_order(found.stages)
    started, total_ms = _whole(stages, (), None, found.timings_ms.get("search_ms", 0.0))
    return QuestionEvent(
        how="search",
        trace_id=new_trace_id(),
        question=found.question,
        started=started,
        total_ms=total_ms,
        timings_ms={**found.timings_ms, "total_ms": total_ms},
        stages=stages,
        searched=found.question,
        profile=found.profile,
        passages=len(found.hits),
        models={**models, "llm": None},
    )


def of_failure(how: str, question: str, error: str, *, started: float, total_ms: float) -> QuestionEvent:
    """The account of a question that came to nothing."""
    return QuestionEvent(how, new_trace_id(), question, started, total_ms, {"total_ms": total_ms}, error=error)


def _without_total(stages: Sequence[Stage]) -> tuple[list[Stage], Stage | None]:
    total = next((stage for stage in stages if stage.name == TOTAL), None)
    return [stage for stage in stages if stage.name != TOTAL], total


def _in_order(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    return tuple(sorted(stages, key=lambda stage: (stage.started, _RANK.get(stage.name, len(_RANK)))))


def _whole(stages: Sequence[Stage], steps: Sequence[Step], total: Stage | None, total_ms: float) -> tuple[float, float]:
    """When the first part began, and the milliseconds of the whole: as they were timed, else until the last part ended.

    A run of the agent that was interrupted and gone on with took less than lies between its first part and its last.
    """
    parts = [(stage.started, stage.ms) for stage in (*stages, *([total] if total else []))]
    parts += [(step.started, step.seconds * 1000) for step in steps if step.started]
    if not parts:
        return 0.0, total_ms
    started = min(began for began, _ in parts)
    last = max((began - started) * 1000 + ms for began, ms in parts)
    return started, total_ms or round(last, 3)
