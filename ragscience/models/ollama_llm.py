"""Answers from Ollama, through LangChain's ChatOllama: one reply at a time, never longer than it may be."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragscience.errors import ModelProblem
from ragscience.models.ollama_api import Ollama, as_problem, client_options, may_pass
from ragscience.models.token_counting import TokenCounter, base_tokens
from ragscience.models.wordpieces import sendable

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessageChunk
    from langchain_ollama import ChatOllama

__all__ = ["ChatOptions", "Message", "OllamaLLM", "Reply"]

Message = tuple[str, str]
"""Role ("system", "user" or "assistant") and text."""

RETRY_AFTER_SECONDS = 1.0
"""A crashed runner is up again by then."""
SMALLEST_SERVED = 512
"""Tokens: no window is believed to be smaller."""
CAP_SLACK = 1.25
"""How far a reply may pass its cap by our own count, which is not exact, before the stream is left."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How a model words its replies."""

    temperature: float
    num_ctx: int
    """Tokens that prompt and reply share."""
    num_predict: int
    """Tokens of the longest reply."""


class Reply:
    """A reply on its way: iterate over it once for its text, piece by piece; the counts are there afterwards.

    Iterating raises ModelProblem. A failure before the first piece that may pass (a cut connection, a crashed runner)
    costs one second try. Where the server ignores the cap, the stream is left when our own count has passed it.
    """

    def __init__(
        self, llm: OllamaLLM, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> None:
        self._llm = llm
        self._format: dict[str, Any] = {} if schema is None else {"format": dict(schema)}
        self._messages = [(role, sendable(text)) for role, text in messages]
        self._max_tokens = max_tokens
        self.prompt_tokens: int | None = None
        """As the server counted them; None where it did not."""
        self.answer_tokens: int | None = None
        self.done_reason = ""
        """ "stop", or "length" at the cap; empty where the reply has not come to its end."""

    def __iter__(self) -> Iterator[str]:
        chunks = estimate = 0.0
        with closing(self._chunks()) as stream:
            for chunk in stream:
                text = str(chunk.content)
                self._note(getattr(chunk, "response_metadata", None) or {})
                if text:
                    yield text
                # A piece is a token with Ollama; a server that sends larger ones is counted by its text.
                chunks += 1
                estimate += base_tokens(text)
                if not self.done_reason and max(chunks, 0.8 * estimate) > CAP_SLACK * self._max_tokens + 8:
                    self.done_reason, self.answer_tokens = "length", round(max(chunks, estimate))
                    return

    def _note(self, metadata: dict[str, Any]) -> None:
        if metadata.get("done"):
            self.prompt_tokens = _count(metadata.get("prompt_eval_count"))
            self.answer_tokens = _count(metadata.get("eval_count"))
            self.done_reason = str(metadata.get("done_reason") or "stop")

    def _chunks(self) -> Generator[BaseMessageChunk, None, None]:
        import httpx
        import ollama

        llm = self._llm
        for attempt in (1, 2):
            begun = False
            try:
                with closing(llm.chat_model.stream(self._messages, options=self._options(), **self._format)) as stream:  # type: ignore[type-var]  # a generator
                    for chunk in stream:
                        begun = True
                        yield chunk
            except (httpx.HTTPError, ollama.ResponseError, ConnectionError, ValueError) as error:
                if begun or attempt == 2 or not may_pass(error):
                    raise as_problem(error, llm.name, llm.url) from error
                llm.sleep(RETRY_AFTER_SECONDS)
            else:
                return

    def _options(self) -> dict[str, Any]:
        return {
            "temperature": self._llm.temperature,
            "num_ctx": self._llm.num_ctx,
            "num_predict": self._max_tokens,
        }


class OllamaLLM:
    """A chat model of Ollama's.

    `counter` estimates tokens for this model and learns from its replies, as long as the object lives.
    """

    def __init__(
        self,
        ollama: Ollama,
        name: str,
        *,
        options: ChatOptions,
        digest: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._ollama = ollama
        self._name = name
        self._chat_model: ChatOllama | None = None
        self._served: int | None = None
        self._asked_served = False
        self.temperature = options.temperature
        self.num_ctx = options.num_ctx
        self.num_predict = options.num_predict
        self.digest = digest
        self.sleep = sleep
        self.counter = TokenCounter()

    @property
    def name(self) -> str:
        """With its tag: "llama3.1:8b"."""
        return self._name

    @property
    def url(self) -> str:
        """Where its server is."""
        return self._ollama.url

    @property
    def window(self) -> int:
        """Tokens that prompt and reply share: what is asked of the server, or less where it serves less."""
        return min(self.num_ctx, self._served or self.num_ctx)

    @cached_property
    def calls_tools(self) -> bool:
        """Whether the server says that the model can call tools; False where it does not say."""
        try:
            return "tools" in self._ollama.show(self._name).capabilities
        except ModelProblem:
            return False

    @property
    def chat_model(self) -> ChatOllama:
        """LangChain's model for this one, made on first use."""
        if self._chat_model is None:
            from langchain_ollama import ChatOllama

            self._chat_model = ChatOllama(
                model=self._name,
                base_url=self._ollama.url,
                temperature=self.temperature,
                num_ctx=self.num_ctx,
                num_predict=self.num_predict,
                client_kwargs=client_options(self._ollama),
            )
        return self._chat_model

    def reply(self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """A reply of at most `max_tokens`; nothing is asked before it is iterated over.

        With a JSON `schema` Ollama lets the model say only what fits it, as far as the model and the cap allow.
        """
        return Reply(self, messages, max_tokens, schema)

    def stream(self, prompt: str) -> Iterator[str]:
        """The reply, piece by piece; empty pieces are left out. Raises ModelProblem."""
        yield from self.reply([("user", prompt)], max_tokens=self.num_predict)

    def was_cut(self, messages: Sequence[Message], prompt_tokens: int | None, answer_tokens: int | None) -> bool:
        """Whether the server read less than the messages, or forgot their beginning while it answered.

        Judged by the tokens that it counted, from which the counter learns.

        The window that the server really serves is asked for once the model is loaded; where one is found to be
        smaller than the one that was asked for, `window` shrinks for what follows.
        """
        if not self._asked_served:
            self._asked_served = True
            self._served = self._ollama.served_context(self._name)
        prompt = "\n".join(text for _, text in messages)
        if self.counter.was_cut(prompt, len(messages), prompt_tokens, window=self.window):
            # It may serve twice that: Ollama cuts to a half.
            self._served = self._served or max(prompt_tokens or 0, SMALLEST_SERVED)
            return True
        # At its end Ollama drops the older half of the window, which is the prompt, and answers on.
        return (prompt_tokens or 0) + (answer_tokens or 0) > self.window


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
