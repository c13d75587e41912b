"""The state of the agentic loop between nodes: plain JSON values, so that a run can be resumed.

Passages are kept by their ids and scores; their text is read from the library again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypedDict

from ragscience.ask.answer_context import AnswerContext, AnswerRequest
from ragscience.ask.generation import WrappedLLM
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Answer, Found, Hit, Paper, Stage, Step, StoredChunk
from ragscience.core.serialization import from_json, to_json
from ragscience.models.model_protocols import ChatModel, Reply

__all__ = [
    "MOST_QUERIES",
    "STATE_VERSION",
    "AgentContext",
    "AgentState",
    "BoundedLLM",
    "Feedback",
    "Limits",
    "Passages",
    "Search",
    "Spending",
    "ToolNote",
    "ToolUse",
    "ToolsUsed",
    "answer_of",
    "found_of",
    "plain_answer",
    "plain_found",
    "plain_hits",
    "plain_stages",
]

STATE_VERSION = 3
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
    passages: int = 12
    """That a draft is made from: three searches of four, as a plain answer has."""
    tokens: int = 60_000
    """Of all prompts and replies together, some twenty calls of a small model; past it no LLM is called."""
    enough: float = 0.7
    """Score of a reflection, 0 to 1, from which on a draft is the answer (the design notes)."""
    tool_calls: int = 4
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
    return {"record": to_json(replace(found, hits=())), "hits": plain_hits(found.hits)}


def plain_stages(stages: Sequence[Stage]) -> list[list[Any]]:
    """Name, start and milliseconds of each."""
    return [[stage.name, stage.started, stage.ms] for stage in stages]


def found_of(plain: Mapping[str, Any], passages: Mapping[int, StoredChunk]) -> Found:
    """What `plain_found` was made from; a passage that is not among `passages` is left out."""
    return replace(from_json(Found, plain["record"]), hits=_hits_of(plain["hits"], passages))


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


Search = Callable[[str, tuple[str, ...]], Found]
"""A query, and the files of the papers to search within (none: all that the question may use), to what was found.

It may raise RagScienceError: a sub-query that fails is recorded and left out, unless nothing was found before it."""


@dataclass(frozen=True, slots=True)
class ToolNote:
    """One call of a tool, and what came back."""

    call: str
    """As displayed: `calculate(expression="2+2")`."""
    text: str
    hits: tuple[Hit, ...] = ()
    error: bool = False


@dataclass(frozen=True, slots=True)
class ToolsUsed:
    """The tools that were called in one pass, and what choosing them cost."""

    notes: tuple[ToolNote, ...] = ()
    llm_calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0


class ToolUse(Protocol):
    """Chooses tools for a question and calls them."""

    def __call__(
        self, question: str, missing: Sequence[str], *, by_llm: bool, most_calls: int, seconds: float
    ) -> ToolsUsed:
        """At most `most_calls` calls; by rules, or by the LLM where it may be asked. Raises nothing to be expected."""


@dataclass(frozen=True, slots=True)
class AgentContext:
    """One run: nothing in it changes on the way."""

    request: AnswerRequest
    answering: AnswerContext
    """Models and limits of the drafts, and whether the question was cancelled."""
    steps_by_llm: bool
    """Whether the drafts' model also plans, grades and calls tools; rules do where it is too small for that."""
    papers: tuple[Paper, ...]
    """Those that the question may use."""
    search: Search
    passages: Passages
    use_tools: ToolUse | None
    limits: Limits
    on_step: Callable[[Step], None] | None
    """Receives each step when it is done."""


_COUNTED = ("searches", "llm_calls", "tool_calls", "prompt_tokens", "answer_tokens")


class Spending:
    """Counts searches, calls and tokens of one run, and its seconds by the wall clock.

    `before` is what an interrupted run had spent, as returned by `plain`.
    """

    def __init__(self, limits: Limits, before: Mapping[str, float]) -> None:
        self._limits = limits
        self._started = time.monotonic() - before.get("seconds", 0.0)
        self.searches = self.llm_calls = self.tool_calls = self.prompt_tokens = self.answer_tokens = 0
        for name in _COUNTED:
            setattr(self, name, int(before.get(name, 0)))

    @property
    def seconds(self) -> float:
        """Since the run began, without the time between an interruption and now."""
        return time.monotonic() - self._started

    @property
    def seconds_left(self) -> float:
        """Never below 0."""
        return max(0.0, self._limits.seconds - self.seconds)

    @property
    def tokens(self) -> int:
        """Of prompts and replies."""
        return self.prompt_tokens + self.answer_tokens

    def may_go_on(self) -> bool:
        """Whether there is time and there are tokens for another pass."""
        return self.seconds_left > 0 and self.tokens < self._limits.tokens

    def may_ask(self) -> bool:
        """Whether the LLM may be called once more."""
        return self.may_go_on() and self.llm_calls < self._limits.llm_calls

    def plain(self) -> dict[str, float]:
        """All of it, for the state."""
        return {**{name: getattr(self, name) for name in _COUNTED}, "seconds": round(self.seconds, 3)}


class BoundedLLM(WrappedLLM):
    """A chat model whose calls and tokens are counted; a call beyond the budget fails, and is not made.

    Tokens that the server did not count are estimated.
    """

    def __init__(self, llm: ChatModel, spending: Spending) -> None:
        super().__init__(llm)
        self._spending = spending

    def reply(
        self, messages: Sequence[tuple[str, str]], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """The model's; counted when it is iterated over. Its iteration raises ModelProblem where nothing is left."""
        return _CountedReply(
            super().reply(messages, max_tokens=max_tokens, schema=schema), self, self._spending, messages
        )


class _CountedReply:
    def __init__(self, reply: Reply, llm: BoundedLLM, spending: Spending, messages: Sequence[tuple[str, str]]) -> None:
        self._llm = llm
        self._spending = spending
        self._messages = messages
        self._reply = reply
        self.prompt_tokens: int | None = None
        self.answer_tokens: int | None = None
        self.done_reason = ""

    def __iter__(self) -> Iterator[str]:
        spending = self._spending
        if not spending.may_ask():
            raise ModelProblem("The agent's budget is spent.", "Ask for less at once.")
        spending.llm_calls += 1
        said: list[str] = []
        try:
            for piece in self._reply:
                said.append(piece)
                yield piece
        finally:
            reply, count = self._reply, self._llm.counter.count
            self.prompt_tokens, self.answer_tokens = reply.prompt_tokens, reply.answer_tokens
            self.done_reason = reply.done_reason
            asked = "\n".join(text for _, text in self._messages)
            spending.prompt_tokens += count(asked) if reply.prompt_tokens is None else reply.prompt_tokens
            spending.answer_tokens += count("".join(said)) if reply.answer_tokens is None else reply.answer_tokens
