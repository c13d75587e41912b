"""The state of the agentic loop between nodes: plain JSON values, so that a run can be resumed.

Passages are kept by their ids and scores; their text is read from the library again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from ragscience.core.records import Answer, Found, Hit, Stage, StoredChunk
from ragscience.core.serialization import from_json, to_json

__all__ = [
    "MOST_QUERIES",
    "STATE_VERSION",
    "AgentState",
    "Feedback",
    "Limits",
    "Passages",
    "answer_of",
    "found_of",
    "plain_answer",
    "plain_found",
    "plain_hits",
    "plain_stages",
]

STATE_VERSION = 2
"""Increased when the keys or the meaning of a state change: older runs then start over."""
MOST_QUERIES = 4
"""Sub-queries of one pass of the loop."""

Passages = Callable[[Sequence[int]], Sequence[StoredChunk]]
"""The passages of these ids, those that the library has, in any order."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How far one run may go."""

    iterations: int
    """Passes of the loop."""
    seconds: float
    """Wall time; running work is left or ends by its own limit, and no further pass starts."""
    tokens: int
    """Of all prompts and replies together; past it no LLM is called."""
    enough: float
    """Score of a reflection, 0 to 1, from which on a draft is the answer."""
    passages: int
    """That a draft is made from."""
    tool_calls: int
    """Of one pass."""

    @property
    def searches(self) -> int:
        """The most that can be made, but for those of tools: sub-queries, and names whose papers are looked up."""
        return MOST_QUERIES * (self.iterations + 1)

    @property
    def llm_calls(self) -> int:
        """The most that can be made: two for sub-queries, one for the draft, two to reflect, a pass; and tools."""
        return (5 + self.tool_calls) * self.iterations


class Feedback(TypedDict):
    """What a reflection gives back to the decomposition."""

    score: float
    missing: list[str]
    """What the question asks for and the draft does not say."""
    unsupported: list[str]
    """Claims of the draft that no passage holds."""


class AgentState(TypedDict, total=False):
    """One run, between two nodes."""

    question: str
    """Made standalone."""
    iteration: int
    """Passes begun so far."""
    asked: list[dict[str, Any]]
    """Every sub-query so far: `text`, and `papers` to search within."""
    parts: list[str]
    """The texts of those of the first pass."""
    queue: list[dict[str, Any]]
    """Those that are to be searched for."""
    found: list[dict[str, Any]]
    """What each search gave, as `plain_found`."""
    fresh: int
    """Passages that the last retrieval found for the first time."""
    notes: list[str]
    """What tools said."""
    draft: dict[str, Any]
    """As `plain_answer`."""
    feedback: Feedback
    best: dict[str, Any]
    """The best `draft`, its `rank` (no refusal, score) and the `iteration` that it is of; empty before the first."""
    timings: dict[str, float]
    """Milliseconds of all drafts together."""
    stages: list[list[Any]]
    """Of all drafts, as `plain_stages`."""
    steps: list[dict[str, Any]]
    """The trace so far, as fields of `records.Step`."""
    warnings: list[str]
    spent: dict[str, float]
    """As `spending.Spending.plain`."""


def plain_hits(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """The hits without their text."""
    return [
        {
            "chunk_id": hit.chunk.chunk_id,
            "score": hit.score,
            "scores": dict(hit.scores),
            "found_by": list(hit.found_by),
        }
        for hit in hits
    ]


def plain_found(found: Found) -> dict[str, Any]:
    """What a search gave, without the text of its passages."""
    return {
        "question": found.question,
        "profile": found.profile,
        "hits": plain_hits(found.hits),
        "warnings": list(found.warnings),
        "timings_ms": dict(found.timings_ms),
        "signals": dict(found.signals),
        "stages": plain_stages(found.stages),
    }


def plain_stages(stages: Sequence[Stage]) -> list[list[Any]]:
    """Name, start and milliseconds of each."""
    return [[stage.name, stage.started, stage.ms] for stage in stages]


def found_of(plain: Mapping[str, Any], passages: Mapping[int, StoredChunk]) -> Found:
    """What `plain_found` was made from; a passage that is not among `passages` is left out."""
    return Found(
        plain["question"],
        plain["profile"],
        _hits_of(plain["hits"], passages),
        tuple(plain["warnings"]),
        plain["timings_ms"],
        plain["signals"],
        stages=tuple(Stage(*stage) for stage in plain["stages"]),
    )


def plain_answer(answer: Answer) -> dict[str, Any]:
    """An answer without the text of its passages."""
    return {
        "record": to_json(replace(answer, found=replace(answer.found, hits=()))),
        "hits": plain_hits(answer.found.hits),
    }


def answer_of(plain: Mapping[str, Any], passages: Mapping[int, StoredChunk]) -> Answer:
    """What `plain_answer` was made from."""
    answer = from_json(Answer, plain["record"])
    return replace(answer, found=replace(answer.found, hits=_hits_of(plain["hits"], passages)))


def _hits_of(plain: Sequence[Mapping[str, Any]], passages: Mapping[int, StoredChunk]) -> tuple[Hit, ...]:
    there = [item for item in plain if item["chunk_id"] in passages]
    return tuple(
        Hit(rank, passages[item["chunk_id"]], item["score"], item["scores"], tuple(item["found_by"]))
        for rank, item in enumerate(there, start=1)
    )
