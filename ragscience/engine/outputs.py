"""What `--json` prints, as types and from records; docs/json.md is made from the types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import TypedDict

from ragscience.core.errors import RagScienceError
from ragscience.core.records import (
    Answer,
    Block,
    Box,
    Citation,
    Found,
    Metadata,
    Paper,
    PathStep,
    Sentence,
    Step,
    title_of,
)
from ragscience.core.serialization import Count, Output, PageNumber, Schema, Share, select

if TYPE_CHECKING:
    from ragscience.library.history import Conversation, KeptAnswer


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


# Papers


class PaperOutput(TypedDict):
    """A paper in the library."""

    file: str
    path: str
    md5: str
    title: str
    pages: Count
    chunks: Count
    added_at: str
    warnings: Sequence[str]
    metadata: Metadata


class ListOutput(Output):
    """`list`."""

    papers: Sequence[PaperOutput]


class SkippedFileOutput(TypedDict):
    """A file that a run saw and did not read into the library."""

    path: str
    reason: str
    """A stable word: "encrypted", "no-text", "damaged", "removed", "older-version", "same-bytes", "other-format", …"""
    message: str
    remedy: str
    """What to do about it; empty where nothing is to be done."""


class SkippedFilesOutput(Output):
    """`list --failed`."""

    files: Sequence[SkippedFileOutput]


class Heading(TypedDict):
    """A heading, by its depth."""

    level: Count
    heading: str
    page: PageNumber


class Caption(TypedDict):
    """A table or figure."""

    caption: str
    page: PageNumber


class Name(TypedDict):
    """What questions may call a paper, and the page that says so: 0 for a file's name."""

    name: str
    how: str
    page: Count


class PageWarning(TypedDict):
    """Why a page has less text than it should."""

    page: PageNumber
    warning: str


class OutlineOutput(Output, PaperOutput):
    """`show`."""

    bibtex_key: str
    names: Sequence[Name]
    outline: Sequence[Heading]
    tables: Sequence[Caption]
    figures: Sequence[Caption]
    references: Count
    page_warnings: Sequence[PageWarning]


class ElementOutput(TypedDict):
    """A part of a page."""

    kind: str
    level: Count
    section: str
    text: str
    box: Box | None


class PageTextOutput(Output):
    """`show --page`."""

    file: str
    path: str
    page: PageNumber
    text: str
    elements: Sequence[ElementOutput]
    furniture: str
    """What the text leaves out: running heads, page numbers, stamps."""
    warning: str


class DuplicateOutput(TypedDict):
    """Two papers that are the same."""

    newer: str
    older: str
    reasons: Sequence[Annotated[str, Schema(enum=["identifier", "title", "text"])]]
    newer_by: Annotated[str, Schema(enum=["completeness", "version", "year", "file date"])]
    overlap: Share


class DuplicatesOutput(Output):
    """`duplicates`."""

    duplicates: Sequence[DuplicateOutput]
    removed: Sequence[str]


class RelatedPaper(TypedDict):
    """A paper, by its similarity to the one asked for."""

    file: str
    path: str
    title: str
    cosine: float


class RelatedOutput(Output):
    """`related`."""

    file: str
    path: str
    related: Sequence[RelatedPaper]


class FetchedPaper(TypedDict):
    """A paper that was found or named."""

    status: Annotated[str, Schema(enum=["listed", "known", "fetched", "failed"])]
    """Found and not fetched; in the library or in papers/ before; fetched now; not available."""
    title: str
    authors: Sequence[str]
    year: int | None
    published: str
    """The day of the first version, as 2017-06-12; may be empty."""
    venue: str
    doi: str
    arxiv_id: str
    categories: Sequence[str]
    abstract: str
    url: str
    withdrawn: bool
    file: str | None
    """Its name in the library, or its path."""
    md5: str | None
    error: str | None


class FailedArgument(TypedDict):
    """An argument that led to no paper."""

    argument: str
    error: str


class FetchOutput(Output):
    """`fetch`."""

    papers: Sequence[FetchedPaper]
    failures: Sequence[FailedArgument]


class WatchOutput(Output):
    """`watch`: one event."""

    event: Annotated[
        str,
        Schema(
            enum=[
                "watching", "added", "updated", "removed", "renamed", "copy", "failed", "waiting", "problem",
                "vanished", "back", "stopped",
            ]
        ),
    ]  # fmt: skip
    file: str
    """The paper's name in the library, or a full path."""
    text: str
    pages: Count | None
    passages: Count | None
    seconds: float | None


def paper_output(paper: Paper) -> PaperOutput:
    """What `list --json` prints for one paper."""
    return select(PaperOutput, paper, title=title_of(paper))


# The graph


class EntityOutput(TypedDict):
    """An entity of the knowledge graph."""

    name: str
    type: str
    names: Sequence[str]
    mentions: Count
    pages: Sequence[PageOutput]


class RelationOutput(PathStepOutput):
    """A relation near an entity."""

    depth: Count
    """Of the step, from 1."""
    confidence: Share


class GraphOutput(Output):
    """`graph`."""

    entities: Sequence[EntityOutput]
    hops: Count
    relations: Sequence[RelationOutput]
    """The nearest first."""
    reached: Count
    """Entities within so many hops, without these."""


class GraphPathOutput(Output):
    """`path`."""

    source: str
    target: str
    steps: Sequence[PathStepOutput]


# Profiles and history


class ProfileOutput(TypedDict):
    """A way to search."""

    name: str
    chosen: bool
    about: str
    dense_candidates: Count
    bm25_candidates: Count
    fusion: str
    weights: Mapping[str, float]
    prefilter: Count
    rerank_depth: Count
    rerank_batch: Count
    llm_reranks: bool
    corrective: bool
    passages: Count


class ProfilesOutput(Output):
    """`profiles`."""

    profiles: Sequence[ProfileOutput]


class ConversationOutput(TypedDict):
    """A conversation."""

    conversation: PageNumber
    name: str | None
    title: str
    """Its first question."""
    turns: PageNumber
    started_at: str
    changed_at: str


class HistoryOutput(Output):
    """`history list`."""

    conversations: Sequence[ConversationOutput]


class TurnsOutput(Output):
    """`history show`."""

    conversation: ConversationOutput
    turns: Sequence[AnswerOutput]


def conversation_output(conversation: Conversation) -> ConversationOutput:
    """What `history list --json` prints for one conversation."""
    number, name = conversation.conversation_id, conversation.name or None
    return select(ConversationOutput, conversation, conversation=number, name=name)


def turns_output(conversation: Conversation, turns: Iterable[KeptAnswer]) -> TurnsOutput:
    """What `history show --json` prints."""
    return select(
        TurnsOutput,
        conversation=conversation_output(conversation),
        turns=[
            answer_output(kept.answer, conversation=kept.conversation_id, created_at=kept.created_at) for kept in turns
        ],
    )


def outline_output(outline: Any) -> OutlineOutput:
    """What `show --json` prints for a paper."""
    return select(
        OutlineOutput,
        outline.paper,
        outline,
        title=title_of(outline.paper),
        names=[{"name": name.name, "how": name.how, "page": name.page} for name in outline.names],
        outline=[{"level": entry.level, "heading": entry.text, "page": entry.page} for entry in outline.headings],
        tables=[{"caption": entry.text, "page": entry.page} for entry in outline.tables],
        figures=[{"caption": entry.text, "page": entry.page} for entry in outline.figures],
        page_warnings=[{"page": page.number, "warning": page.warning} for page in outline.pages if page.warning],
    )


def page_output(shown: Any) -> PageTextOutput:
    """What `show --page N --json` prints."""
    page, text = shown.page, shown.text
    elements = [
        select(ElementOutput, element, text=text[element.start - page.start : element.end - page.start])
        for element in shown.elements
    ]
    return select(PageTextOutput, page, shown.paper, page=page.number, text=text, elements=elements)
