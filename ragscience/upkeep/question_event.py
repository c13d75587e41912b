"""The event of one question, from which the log line, the spans and the metrics come; and the names of the stages."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragscience.core.records import Answer, Found, Stage, Step

__all__ = ["STAGES", "QuestionEvent", "StageName", "of_answer", "of_failure", "of_search"]


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
    StageName("names", "retrieval", "Which papers the question names."),
    StageName("dense", "retrieval", "Search by meaning, in FAISS."),
    StageName("bm25", "retrieval", "Search by words."),
    StageName("graph", "retrieval", "Passages that the knowledge graph has near the question."),
    StageName("gear", "retrieval", "Passages on the graph's best paths."),
    StageName("late", "search", "Late interaction over the stored token vectors."),
    StageName("rerank", "search", "Question and passages read together, by a cross-encoder or an LLM."),
    StageName("signals", "search", "What tells whether the passages answer at all."),
    StageName("presence", "", "Words of the question looked for in the papers that it is about."),
    StageName("llm", "", "The chat model: a follow-up made to stand alone, and the answer."),
    StageName("quotes", "", "Sentences of the passages chosen as an answer."),
    StageName("check", "", "Each sentence of the answer held against the pages that it cites."),
)
"""The parts of a question, each after what it is inside."""

TOTAL = "total"


@dataclass(frozen=True, slots=True)
class QuestionEvent:
    """One question: what it asked, how long each stage took, and what came of it."""

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
    """In order of their start; a nested one follows its parent."""
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


def of_answer(answer: Answer) -> QuestionEvent:
    """The event of an answer; one by the agent has the steps of its trace."""
    supported = sum(citation.supported for citation in answer.citations)
    event = _of_found(answer.found, answer.stages, answer.trace, answer.timings_ms)
    return replace(
        event,
        how="agent" if answer.trace else "ask",
        trace_id=answer.trace_id or event.trace_id,
        question=answer.question,
        answer_id=answer.answer_id,
        mode=answer.mode,
        refused=answer.refused,
        models=answer.models,
        tokens=answer.tokens,
        citations={"supported": supported, "unsupported": len(answer.citations) - supported},
        sentences=Counter(sentence.verdict for sentence in answer.sentences),
    )


def of_search(found: Found, models: Mapping[str, str | None]) -> QuestionEvent:
    """The event of a search without an answer; `models` as `Answer.models`."""
    event = _of_found(found, (), (), {"total_ms": found.timings_ms.get("search_ms", 0.0)})
    return replace(event, models={**models, "llm": None})


def of_failure(how: str, question: str, error: str, *, started: float, total_ms: float) -> QuestionEvent:
    """The event of a question that ended with an error."""
    return QuestionEvent(how, uuid.uuid4().hex, question, started, total_ms, {"total_ms": total_ms}, error=error)


def _of_found(
    found: Found, own: Sequence[Stage], steps: tuple[Step, ...], timings_ms: Mapping[str, float]
) -> QuestionEvent:
    """The event of a search with the further stages, steps and times of what followed it.

    It takes `timings_ms["total_ms"]` where that is known, else until the last part ended: a run of the agent that was
    interrupted and continued took less than the time between its first part and its last.
    """
    every = (*found.stages, *own)
    parts = [(stage.started, stage.ms) for stage in every]
    parts += [(step.started, step.seconds * 1000) for step in steps if step.started]
    started = min((began for began, _ in parts), default=0.0)
    last = max(((began - started) * 1000 + ms for began, ms in parts), default=0.0)
    total_ms = timings_ms.get("total_ms", 0.0) or round(last, 3)
    stages = [stage for stage in every if stage.name != TOTAL]
    return QuestionEvent(
        how="search",
        trace_id=uuid.uuid4().hex,
        question=found.question,
        started=started,
        total_ms=total_ms,
        timings_ms={**found.timings_ms, **timings_ms, "total_ms": total_ms},
        stages=tuple(sorted(stages, key=lambda stage: (stage.started, _RANK.get(stage.name, len(_RANK))))),
        steps=steps,
        searched=found.question,
        profile=found.profile,
        passages=len(found.hits),
    )
