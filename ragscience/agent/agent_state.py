"""The state of the agentic loop between two nodes, its limits, and what one run works with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ragscience.agent.tools import ToolsUsed
from ragscience.ask.answer_context import AnswerContext, AnswerRequest
from ragscience.ask.decomposition import SubQuery
from ragscience.core.records import Answer, Found, Paper, Step

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
    enough: float = 0.7
    """Score of a reflection, 0 to 1, from which on a draft is the answer (the design notes)."""
    tool_calls: int = 4
    """Of one pass."""


@dataclass(frozen=True, slots=True)
class GradedDraft:
    """An answer of one pass, its grade once it has one, and what would make it better."""

    answer: Answer
    iteration: int
    score: float = 0.0
    """0 to 1."""
    missing: tuple[str, ...] = ()
    """Words of the question, and sub-queries, that the passages do not hold."""
    unsupported: tuple[str, ...] = ()
    """Claims that no passage holds."""
    why: str = ""
    """What decided the score, in a few words."""

    @property
    def rank(self) -> tuple[bool, float]:
        """The better draft has the higher one: no refusal first, then the score."""
        return not self.answer.refused, self.score


@dataclass(frozen=True, slots=True)
class AgentState:
    """One run, between two nodes."""

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
    use_tools: Callable[..., ToolsUsed] | None
    """Chooses tools and calls them: `(wanted, *, most_calls, seconds)`, as `tool_calling.use_tools`."""
    limits: Limits
    on_step: Callable[[Step], None] | None
    """Receives each step when it is done."""
