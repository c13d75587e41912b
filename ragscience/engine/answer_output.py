"""What `--json` prints of searches and answers, as types and from records; docs/json.md is made from the types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from typing_extensions import TypedDict

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Block, Citation, Found, PathStep, Sentence, Step
from ragscience.core.serialization import Count, Output, PageNumber, Schema, Share, select

__all__ = [
    "AnswerOutput", "ErrorOutput", "HitOutput", "PageOutput", "PathOutput", "PathStepOutput", "Problem",
    "SearchOutput", "answer_output", "error_output", "page_outputs", "search_output", "step_output",
]  # fmt: skip


class PageOutput(TypedDict):
    """A page of a paper."""

    file: str
    page: PageNumber


class PathStepOutput(TypedDict):
    """A relation of the knowledge graph, and the pages that state it."""

    source: str
    relation: str
    target: str
    pages: Sequence[PageOutput]


class PathOutput(TypedDict):
    """A path through the knowledge graph."""

    score: float
    steps: Sequence[PathStepOutput]


class HitOutput(TypedDict):
    """A passage."""

    rank: PageNumber
    file: str
    path: str
    md5: str
    page_start: PageNumber
    page_end: PageNumber
    section: str
    kind: str
    text: str
    chunk_id: Count
    score: float
    """The score that decided the rank; higher is better."""
    scores: Mapping[str, float | None]
    """`dense` (cosine), `bm25`, `fused`, `rerank`, with the graph also `graph` and `gear`; null: not seen there."""
    found_by: Sequence[str]
    """The searches that found it, or the tool that read it."""


class SearchOutput(Output):
    """One question's passages."""

    id: str | None
    question: str
    profile: str
    hits: Sequence[HitOutput]
    warnings: Sequence[str]
    timings_ms: Mapping[str, float]
    concepts: Annotated[
        Sequence[str],
        Schema(description="Names in the knowledge graph near the question; empty without --graph."),
    ]
    paths: Annotated[Sequence[PathOutput], Schema(description="The graph's best paths for the question, best first.")]


class AnswerOutput(SearchOutput):
    """One question's answer."""

    answer_id: str
    trace_id: Annotated[str, Schema(pattern="^([0-9a-f]{32})?$")]
    """The same in log, spans and audit."""
    answer: str
    mode: Annotated[str, Schema(enum=["llm", "extractive"])]
    refused: bool
    citations: Sequence[Citation]
    models: Mapping[str, str | None]
    """`embedder`, `reranker`, `llm`."""
    searched: str
    """The question as it was searched for, rewritten to stand alone."""
    conversation: int | None
    """The number of the conversation that it was kept in."""
    created_at: str | None
    """ISO 8601, UTC."""
    sentences: Sequence[Sentence]
    answerability: Share | None
    verdict: Annotated[str | None, Schema(enum=["correct", "ambiguous", "incorrect", None])]
    """Of the passages, where they were judged (--corrective)."""
    prompt_cut: bool
    tokens: Mapping[str, Count]
    trace: Sequence[Step]
    """The agent's steps; empty without --agent."""
    confidence: Annotated[str | None, Schema(enum=["high", "medium", "low", None])]
    """How sure it is that the quotes hold the answer; null for a refusal and for the answer of an LLM."""
    missing: Sequence[str]
    """What was asked for and does not occur near the quotes, a sentence each."""
    route: str
    """How it was found: "passages", or by a route of its own ("papers", "summary", …)."""
    route_note: str
    """What was done, in one line."""
    blocks: Sequence[Block]
    """The answer's parts; empty for the answer of an LLM and for a refusal."""


class Problem(TypedDict):
    """What went wrong, what helps, and the exit code."""

    message: str
    fix: str
    exit_code: Count


class ErrorOutput(Output):
    """What a failed question leaves in its place, so that the lines stay in order."""

    id: str | None
    question: str | None
    error: Problem


def search_output(found: Found, question_id: str | None, warnings: Iterable[str] = ()) -> SearchOutput:
    """What `search --json` prints for one question."""
    return select(SearchOutput, found, id=question_id, warnings=[*found.warnings, *warnings], **_shown(found))


def answer_output(
    answer: Answer,
    question_id: str | None = None,
    warnings: Iterable[str] = (),
    *,
    conversation: int | None = None,
    created_at: str | None = None,
) -> AnswerOutput:
    """What `ask --json` prints for one question; `conversation` and `created_at` are None where nothing was kept."""
    found = answer.found
    return select(
        AnswerOutput,
        answer,
        found,
        **_shown(found),
        id=question_id,
        answer=answer.text,
        warnings=list(dict.fromkeys([*found.warnings, *answer.warnings, *warnings])),
        timings_ms={**found.timings_ms, **answer.timings_ms},
        searched=found.question,
        verdict=found.verdict or None,
        conversation=conversation,
        created_at=created_at,
    )


def _shown(found: Found) -> dict[str, Any]:
    return {
        "hits": [select(HitOutput, hit, hit.chunk) for hit in found.hits],
        "paths": [{"score": path.score, "steps": [step_output(step) for step in path.steps]} for path in found.paths],
    }


def step_output(step: PathStep) -> PathStepOutput:
    """A relation and the pages that state it."""
    return select(PathStepOutput, step, pages=page_outputs(step.pages))


def page_outputs(pages: Iterable[tuple[str, int]]) -> list[PageOutput]:
    """(file, page) pairs as JSON objects."""
    return [{"file": file, "page": page} for file, page in pages]


def error_output(error: RagScienceError, question_id: str | None, question: str | None) -> ErrorOutput:
    """What a failed question leaves in its place."""
    return select(ErrorOutput, id=question_id, question=question, error=select(Problem, error))
