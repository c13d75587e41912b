"""Streams one reply of the LLM, stops it if it does not end, and removes reasoning, code fences and repetitions."""

import re
import time
from collections.abc import Callable, Sequence
from math import inf

from ragscience.core.errors import Cancelled, ModelProblem
from ragscience.core.prompt_templates import sendable
from ragscience.models.model_http import cancellable, one_line
from ragscience.models.model_protocols import ChatModel, Reply
from ragscience.models.structured_output import THOUGHT, json_values, without_thoughts
from ragscience.models.token_counting import base_tokens

_CODE_FENCE = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)
_BEGUN = re.compile(r"<[a-z]{0,8}\Z", re.IGNORECASE)
"""What may become the mark of a thought with the next piece."""

LOOP_TAIL = 1200
"""Characters at the end of a reply in which a loop is looked for."""
LOOP_LENGTH = 160
"""Characters that a loop must have come to before it counts as one,"""
LOOP_TIMES = 5
"""and how often it must have gone round."""


def worded(text: str) -> str:
    """The answer in what a model said: no thoughts, no code fence around all of it, no JSON object around a text."""
    said = without_thoughts(text).strip()
    fenced = _CODE_FENCE.match(said)
    said = fenced[1].strip() if fenced else said
    value = next(json_values(said), None) if said.startswith("{") else None
    if isinstance(value, dict):
        said = next((each.strip() for each in value.values() if isinstance(each, str)), said)
    return said if sendable(said).strip() else ""


class ThoughtFilter:
    """Lets a stream through without its thoughts; what may be the beginning of a mark is held back until it is not."""

    def __init__(self) -> None:
        self._raw = ""
        self._shown = 0

    @property
    def is_thinking(self) -> bool:
        """Whether what came last is a thought."""
        return THOUGHT.sub("", self._raw) == THOUGHT.sub("", f"{self._raw} ")

    def feed(self, piece: str) -> str:
        """What may be shown now."""
        self._raw += piece
        return self._new(_BEGUN.sub("", THOUGHT.sub("", self._raw)))

    def rest(self) -> str:
        """What is still held back at the end of the stream."""
        return self._new(THOUGHT.sub("", self._raw))

    def _new(self, text: str) -> str:
        new, self._shown = text[self._shown :], max(self._shown, len(text))
        return new


def repeated_tail(text: str) -> int:
    """How many characters at the end of `text` are repetitions of what comes before them; 0 where it runs in no loop.

    A loop is a tail of LOOP_LENGTH characters or more that is LOOP_TIMES the same, of the shortest period.
    """
    tail = text[-LOOP_TAIL:]
    for period in range(1, len(tail) // LOOP_TIMES + 1):
        length = period
        while length < len(tail) and tail[-length - 1] == tail[period - length - 1]:
            length += 1
        if length >= max(LOOP_LENGTH, LOOP_TIMES * period):
            return length - period
    return 0


class Generation:
    """One call of the LLM: `run` it, then read the result. `on_token` gets the text to show, None shows nothing.

    A reply that runs in a loop is stopped and cut to one round of it. One that takes more than `seconds` from its first
    piece, or `whole_seconds` from the call, fails, and what came by then is kept, also while the model is silent.
    Raises Cancelled within a second of the cancellation.
    """

    def __init__(
        self,
        llm: ChatModel,
        on_token: Callable[[str], None] | None,
        seconds: float,
        cancelled: Callable[[], bool] | None = None,
        whole_seconds: float = inf,
    ) -> None:
        self._llm = llm
        self._on_token = on_token
        self._seconds = seconds
        self._whole_seconds = whole_seconds
        self._first_piece: float | None = None
        """When it came: monotonic seconds."""
        self._cancelled = cancelled
        self._raw = ""
        self._filter = ThoughtFilter()
        self._started = 0.0
        """When the call went out: monotonic seconds."""
        self.asked = False
        self.failure: ModelProblem | None = None
        self.first_ms: float | None = None
        """From the call to the first text that was shown."""
        self.warnings: tuple[str, ...] = ()
        self.tokens: dict[str, int] = {}
        self.prompt_cut = False

    @property
    def text(self) -> str:
        """All that came, without thoughts."""
        return without_thoughts(self._raw)

    def run(self, messages: Sequence[tuple[str, str]], max_tokens: int) -> None:
        """Call the model and read its reply; its failure is kept, not raised. What `on_token` raises is raised."""
        self.asked = True
        reply = self._llm.reply(messages, max_tokens=max_tokens)
        self._started = time.monotonic()
        pieces = cancellable(iter(reply), self._is_over)
        looped = False
        try:
            for piece in pieces:
                self._first_piece = self._first_piece or time.monotonic()
                looped = self._take(piece)
                if looped:
                    break
        except ModelProblem as problem:
            self.failure = problem
        except Cancelled:
            self.failure = self._lateness()
            if self.failure is None:
                raise
        finally:
            pieces.close()
        self._show(self._filter.rest())
        self._judge(messages, reply, max_tokens, looped=looped)

    def _lateness(self) -> ModelProblem | None:
        """The failure of a reply that takes too long by now."""
        now = time.monotonic()
        if now - self._started > self._whole_seconds:
            said, fix = f"was not done after {self._whole_seconds:g} seconds", "Ask for less at once"
        elif self._first_piece is not None and now - self._first_piece > self._seconds:
            said, fix = f"was not done {self._seconds:g} seconds after its first token", "Raise RAG_ANSWER_SECONDS"
        else:
            return None
        return ModelProblem(f"{self._llm.name} {said}.", f"{fix}, or choose a smaller model.")

    def _is_over(self) -> bool:
        return self._lateness() is not None or (self._cancelled is not None and self._cancelled())

    def _take(self, piece: str) -> bool:
        """Whether the reply runs in a loop."""
        self._raw += piece
        self._show(self._filter.feed(piece))
        repeated = repeated_tail(self._raw)
        self._raw = self._raw[: len(self._raw) - repeated]
        return repeated > 0

    def _show(self, text: str) -> None:
        if not text:
            return
        if self.first_ms is None:
            self.first_ms = round((time.monotonic() - self._started) * 1000, 3)
        if self._on_token is not None:
            self._on_token(text)

    def _judge(self, messages: Sequence[tuple[str, str]], reply: Reply, max_tokens: int, *, looped: bool) -> None:
        name, window = self._llm.name, self._llm.window
        warnings = []
        if self.failure is None and not looped:
            self.prompt_cut = self._llm.was_cut(messages, reply.prompt_tokens, reply.answer_tokens)
        if self.prompt_cut:
            served = self._llm.window
            fix = (
                f"Set RAG_NUM_CTX={served}, which is what the server gives, or let it give more "
                "(Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size)."
                if served < window
                else "Raise RAG_NUM_CTX, or ask for fewer passages with -k."
            )
            warnings.append(
                f"The server cut the prompt ({reply.prompt_tokens} tokens of it were read): {name} did not "
                f"see all of it, so don't trust this answer. {fix}"
            )
        if looped:
            warnings.append(f"{name} began to repeat itself; the answer was stopped there.")
        elif reply.done_reason == "length":
            setting = "RAG_MAX_ANSWER_TOKENS" if max_tokens >= self._llm.num_predict else "RAG_NUM_CTX"
            warnings.append(
                f"The answer was cut off at the limit of {max_tokens} tokens. Raise {setting} for longer answers."
            )
        elif reply.done_reason != "stop" and self.failure is None:
            reason = one_line(reply.done_reason)
            how = f"with the reason “{reason}”" if reason else "without a reason"
            warnings.append(f"{name}'s reply ended {how}: the answer may be incomplete.")
        self.warnings = tuple(warnings)
        thoughts = base_tokens(self._raw) - base_tokens(self.text)
        counts = {"prompt": reply.prompt_tokens, "answer": reply.answer_tokens, "window": window}
        counts["thoughts"] = thoughts or None
        self.tokens = {kind: count for kind, count in counts.items() if count is not None}
