"""What a question costs: searches, calls of the language model, tokens, seconds, counted alike for every way of asking.

The model's calls are counted where LangChain reports them, so that a call counts whoever makes it: the answer, the
rewriting of a follow-up, a grader, a reranker, a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from ragscience.records import Answer

__all__ = ["COSTS", "Meter"]

COSTS = ("searches", "LLM calls", "tokens", "seconds")
"""Tokens are those of prompts and replies together, as the server counted them."""

PROVIDER = "ollama"
"""As LangChain's ChatOllama calls itself."""


@dataclass(slots=True)
class Meter:
    """Counts from `start` to `read`. `clock` gives seconds that never go back, such as time.monotonic."""

    clock: Callable[[], float]
    searches: int = 0
    llm_calls: int = 0
    tokens: int = 0
    started: float = 0.0

    def start(self) -> None:
        """Begin again at nothing."""
        self.searches = self.llm_calls = self.tokens = 0
        self.started = self.clock()

    def read(self, answer: Answer | None) -> Mapping[str, float]:
        """The cost by the names of COSTS; where the answer's own trace or counts tell of more, that counts."""
        searches, calls, tokens = self.searches, self.llm_calls, self.tokens
        if answer is not None:
            told = answer.tokens.get("prompt", 0) + answer.tokens.get("answer", 0)
            tokens = max(tokens, told, sum(step.tokens for step in answer.trace))
            searches = max(searches, sum(step.searches for step in answer.trace))
            calls = max(calls, sum(step.llm_calls for step in answer.trace), int(answer.mode == "llm"))
        seconds = self.clock() - self.started
        return dict(zip(COSTS, map(float, (searches, calls, tokens, seconds)), strict=True))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count every call of a chat model that LangChain makes within it, in threads that keep the context, too."""
        _hook()
        token = _COUNTER.set(_counter(self))
        try:
            yield
        finally:
            _COUNTER.reset(token)


_COUNTER: ContextVar[Any] = ContextVar("counter_of_model_calls", default=None)


@cache
def _hook() -> None:
    """Tell LangChain, once, to look for a counter in every run that it configures."""
    from langchain_core.tracers.context import register_configure_hook

    register_configure_hook(_COUNTER, inheritable=True)


def _counter(meter: Meter) -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    class Counter(BaseCallbackHandler):
        """Adds each call and its tokens to the meter."""

        run_inline = True

        def on_chat_model_start(self, *_: Any, metadata: dict[str, Any] | None = None, **__: Any) -> None:
            # A model that only passes on to another, as answering.chain's does, is none of its own.
            meter.llm_calls += (metadata or {}).get("ls_provider") == PROVIDER

        def on_llm_end(self, response: Any, **_: Any) -> None:
            for message in (each.message for row in response.generations for each in row):
                meter.tokens += (getattr(message, "usage_metadata", None) or {}).get("total_tokens", 0)

    return Counter()
