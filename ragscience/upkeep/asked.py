"""A question with its answer, as logs, metrics and traces see it, and the stages that are timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ragscience.core.records import Answer, Stage

__all__ = ["STAGES", "TOTAL", "AskedQuestion", "StageName"]


class StageName(NamedTuple):
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


_RANK = {stage.name: rank for rank, stage in enumerate(STAGES)}


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its answer, and what is measured of it."""

    how: str
    """ "ask", "agent" or "search"."""
    answer: Answer
    """Without an `answer_id` for a search and for a failure."""
    error: str = ""
    """The kind of error that came instead of an answer, as "ModelProblem"."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """In order of their start; a nested one follows its parent."""
        found = (stage for stage in (*self.answer.found.stages, *self.answer.stages) if stage.name != TOTAL)
        return tuple(sorted(found, key=lambda stage: (stage.started, _RANK.get(stage.name, len(_RANK)))))

    def _parts(self) -> list[tuple[float, float]]:
        """(start, milliseconds) of each stage and of each step of the agent."""
        parts = [(stage.started, stage.ms) for stage in (*self.answer.found.stages, *self.answer.stages)]
        return parts + [(step.started, step.seconds * 1000) for step in self.answer.trace if step.started]

    @property
    def started(self) -> float:
        """Seconds since 1970; 0 where nothing was timed."""
        return min((began for began, _ in self._parts()), default=0.0)

    @property
    def total_ms(self) -> float:
        """As the answer says, else until its last part ended.

        A run of the agent that was interrupted took less than the time between its first part and its last.
        """
        ends = [(began - self.started) * 1000 + ms for began, ms in self._parts()]
        return self.answer.timings_ms.get("total_ms", 0.0) or round(max(ends, default=0.0), 3)

    @property
    def timings_ms(self) -> dict[str, float]:
        """As in the JSON."""
        return {**self.answer.found.timings_ms, **self.answer.timings_ms, "total_ms": self.total_ms}

    @property
    def citations(self) -> dict[str, int]:
        """How many by verdict."""
        supported = sum(citation.supported for citation in self.answer.citations)
        return {"supported": supported, "unsupported": len(self.answer.citations) - supported}
