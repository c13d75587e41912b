"""What one run of the agentic loop works with: the question, the searches, the models and the limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ragscience.agent.agent_state import Limits, Passages
from ragscience.ask.answer_context import AnswerContext, AnswerRequest
from ragscience.core.records import Found, Hit, Paper, Step

__all__ = ["AgentContext", "Search", "ToolNote", "ToolUse", "ToolsUsed"]

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
