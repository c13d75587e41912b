"""What answers are made with: the models, the prompts, the limits, and whether the question was cancelled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf

from ragscience.ask.extractive import Readers
from ragscience.core.errors import Cancelled
from ragscience.core.records import Found, Turn
from ragscience.models.model_protocols import ChatModel, Splitter
from ragscience.search.names import PaperNames
from ragscience.search.reranking import WordPresence

FAILURES = 3
"""In a row, before the model is left alone: two may be a crash and the start after it."""
PAUSE_SECONDS = 60.0


class Circuit:
    """Counts failures in a row. After `failures` of them it is open, and the model is not called for `pause_seconds`.

    Then one question is let through: it closes the circuit if the model answers, and opens it for as long again if
    not. `clock` gives seconds that never go back. One object lasts for a run.
    """

    def __init__(
        self, *, failures: int = FAILURES, pause_seconds: float = PAUSE_SECONDS, clock: Callable[[], float]
    ) -> None:
        self._limit = failures
        self._pause = pause_seconds
        self._clock = clock
        self._failed = 0
        self._open_until = 0.0
        self._why = ""

    def allows(self) -> bool:
        """Whether the model may be asked now."""
        return self._failed < self._limit or self._clock() >= self._open_until

    @property
    def warning(self) -> str:
        """Why it is not asked: the same line for every question until then."""
        return f"The LLM failed {self._limit} times in a row, so it is left alone for a while: {self._why}"

    def succeeded(self) -> None:
        """The model answered."""
        self._failed = 0

    def failed(self, why: str) -> None:
        """The model failed, and how."""
        self._failed += 1
        self._why = why
        self._open_until = self._clock() + self._pause


Searcher = Callable[[str], Found]


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A question, the conversation before it, and how strict the answer must be."""

    question: str
    history: tuple[Turn, ...] = ()
    strict: bool = False
    """Refuse an answer of which the cited pages support no sentence, and passages judged incorrect."""
    reading: str = ""
    """The likeliest way to read the question after `history`; empty: as it stands."""


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """The models and limits of an answer."""

    llm: ChatModel | None
    """None gives quotes."""
    readers: Readers
    """The models that choose quotes."""
    models: Mapping[str, str | None]
    """As `Answer.models`."""
    circuit: Circuit
    answer_seconds: float
    """Longest time of one LLM reply, from its first token."""
    answerable_threshold: float
    """Lowest `answerability` that is answered, 0 to 1."""
    needs_llm: bool = False
    """Whether a language model that fails is an error; otherwise quotes take the place of its words."""
    split: Splitter | None = None
    """Takes a question apart that asks more than one thing; optional."""
    presence: WordPresence | None = None
    """Where the words of a question occur; without it answers have no confidence."""
    names: PaperNames | None = None
    """Which papers a question names; needed with `presence`."""
    whole_seconds: float = inf
    """Longest time of one LLM reply, with the wait for its first token: the agent's, which has a time for all."""
    notes: str = ""
    """What an LLM reads before the passages; harmless text, which ends with a blank line."""
    cancelled: Callable[[], bool] | None = None
    """Whether the question was cancelled; it is called between stages and sentences, and several times a second while
    an LLM replies. None: it cannot be cancelled."""

    def raise_if_cancelled(self) -> None:
        """Raises Cancelled."""
        if self.cancelled is not None and self.cancelled():
            raise Cancelled
