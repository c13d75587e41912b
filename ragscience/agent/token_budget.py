"""What a run has cost so far, and an LLM that cannot cost more than it may."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragscience.agent.agent_state import Limits
from ragscience.ask.generation import WrappedLLM
from ragscience.core.errors import ModelProblem
from ragscience.models.model_protocols import ChatModel, Reply

__all__ = ["BoundedLLM", "Spending"]

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
            raise ModelProblem("The agent's budget is spent.", "Raise RAG_AGENT_SECONDS, or ask for less at once.")
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
