"""The state of the agentic loop between two nodes, its limits, and what one run works with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragscience.ask.answer_context import AnswerContext, AnswerRequest
from ragscience.ask.generation import WrappedLLM
from ragscience.ask.sides import SubQuery
from ragscience.core.records import Answer, Found, Hit, Paper, Step
from ragscience.models.model_protocols import ChatModel, Reply

_STEP_SECONDS = 120.0
"""Longest time for one structured question to the LLM."""
STATE_VERSION = 4
"""Increased when the fields or the meaning of a state change: older runs then start over."""
MOST_QUERIES = 4
"""Sub-queries of one pass of the loop."""


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


@dataclass(frozen=True, slots=True)
class Reflection:
    """A grade, and what would make it better."""

    score: float
    """0 to 1."""
    missing: tuple[str, ...] = ()
    """Words of the question, and sub-queries, that the passages do not hold."""
    unsupported: tuple[str, ...] = ()
    """Claims that no passage holds."""
    why: str = ""
    """What decided the score, in a few words."""


@dataclass(frozen=True, slots=True)
class GradedDraft:
    """An answer of one pass, and its grade once it has one."""

    answer: Answer
    iteration: int
    grade: Reflection = Reflection(0.0)

    @property
    def rank(self) -> tuple[bool, float]:
        """The better draft has the higher one: no refusal first, then the score."""
        return not self.answer.refused, self.grade.score


@dataclass(frozen=True, slots=True)
class AgentState:
    """One run, between two nodes; all of it can be written as JSON and read again."""

    question: str
    """Made standalone."""
    rounds: tuple[tuple[SubQuery, ...], ...] = ()
    """The sub-queries of each pass."""
    found: tuple[Found, ...] = ()
    """What each search, and each tool that gives passages, has found."""
    fresh: int = 0
    """Passages and notes that the last retrieval has brought."""
    notes: tuple[str, ...] = ()
    """What tools said."""
    drafts: tuple[GradedDraft, ...] = ()
    answer: Answer | None = None
    """The last node's."""
    steps: tuple[Step, ...] = ()
    """The trace so far."""
    warnings: tuple[str, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Of all calls of the LLM: `prompt` and `answer`."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts of the first pass's sub-queries."""
        return tuple(query.text for query in self.rounds[0]) if self.rounds else ()

    @property
    def best(self) -> GradedDraft:
        """The best draft, the first of several equally good ones. Raises ValueError before there is one."""
        return max(self.drafts, key=lambda draft: draft.rank)


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
    tokens: Mapping[str, int] = field(default_factory=dict)
    """As `AgentState.tokens`."""


ToolUse = Callable[..., ToolsUsed]
"""Chooses tools and calls them: `(question, missing, *, most_calls, seconds)`, as `tool_calling.tool_use`."""


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
    use_tools: ToolUse | None
    limits: Limits
    on_step: Callable[[Step], None] | None
    """Receives each step when it is done."""


class CountedLLM(WrappedLLM):
    """A chat model that remembers its replies, so that their tokens can be counted."""

    def __init__(self, llm: ChatModel) -> None:
        super().__init__(llm)
        self._replies: list[tuple[str, Reply]] = []

    def reply(
        self, messages: Sequence[tuple[str, str]], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """The model's."""
        reply = self.llm.reply(messages, max_tokens=max_tokens, schema=schema)
        self._replies.append(("\n".join(text for _, text in messages), reply))
        return reply

    @property
    def calls(self) -> int:
        """How many replies there were."""
        return len(self._replies)

    def tokens(self) -> dict[str, int]:
        """As `AgentState.tokens`; a prompt that the server did not count is estimated."""
        prompts = [self.counter.count(text) if one.prompt_tokens is None else one.prompt_tokens
                   for text, one in self._replies]  # fmt: skip
        return {"prompt": sum(prompts), "answer": sum(one.answer_tokens or 0 for _, one in self._replies)}


@dataclass(slots=True)
class RunningStep:
    """A step on its way: the state's changes, its line of the trace, further fields of `Step`, and what it costs."""

    limits: Limits
    before: Sequence[Step]
    """The steps before it."""
    summary: str = ""
    by: str = "rules"
    changes: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    searches: int = 0
    tools: ToolsUsed = field(default_factory=ToolsUsed)
    llm: CountedLLM | None = None
    started: float = field(default_factory=time.perf_counter)

    def tokens(self) -> dict[str, int]:
        """Of the LLM's replies, and of choosing tools."""
        own = self.llm.tokens() if self.llm else {}
        return {name: own.get(name, 0) + self.tools.tokens.get(name, 0) for name in ("prompt", "answer")}

    @property
    def seconds_left(self) -> float:
        """Of the whole run; never below 0."""
        spent = sum(each.seconds for each in self.before) + time.perf_counter() - self.started
        return max(0.0, self.limits.seconds - spent)

    @property
    def may_go_on(self) -> bool:
        """Whether there is time and there are tokens for more."""
        tokens = sum(each.tokens for each in self.before) + sum(self.tokens().values())
        return self.seconds_left > 0 and tokens < self.limits.tokens

    @property
    def seconds(self) -> float:
        """For one structured question to the LLM."""
        return min(_STEP_SECONDS, self.seconds_left)
