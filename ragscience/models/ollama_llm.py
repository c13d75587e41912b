"""Chat models of Ollama, through LangChain's ChatOllama: one reply at a time, never longer than its limit."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from ragscience.errors import ModelProblem
from ragscience.models.ollama_api import Ollama
from ragscience.models.ollama_client import as_problem, client_options, may_pass, reply_errors
from ragscience.models.reply_limits import Silence, SilentReply, cancellable
from ragscience.models.token_counting import TokenCounter, base_tokens
from ragscience.models.wordpieces import sendable

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessageChunk
    from langchain_ollama import ChatOllama

__all__ = ["ChatOptions", "Message", "OllamaLLM", "Reply"]

Message = tuple[str, str]
"""Role ("system", "user" or "assistant") and text."""

REMEMBERED_PROMPTS = 16
"""Prompts that went out and are kept until their counts are judged."""
RETRY_AFTER_SECONDS = 1.0
"""Seconds until a crashed runner has restarted."""
SMALLEST_SERVED = 512
"""Tokens: the smallest plausible window."""
LONGEST_LINE = 2**20
"""Bytes of a line of a streamed reply, which holds one token and what is said about it."""
LONGEST_TOKEN = 16
"""Characters of a token, on average over a reply; of words it has four, of blanks and rules of dashes most."""
CAP_SLACK = 1.25
"""How far a reply may exceed its cap by our own count, which is not exact, before the stream is cut."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Generation settings of a model."""

    temperature: float
    num_ctx: int
    """Context window in tokens, for prompt and reply together."""
    num_predict: int
    """Maximum tokens of a reply."""
    first_token_seconds: float = 600.0
    """How long a reply's first token may take."""


class Reply:
    """A streamed reply: iterate over it once for its text, piece by piece; then the counts are set.

    Iterating raises ModelProblem, also where the server is silent for too long. A transient failure before the first
    piece (a cut connection, a crashed runner) is retried once. If the server ignores the cap, the stream is cut when
    our own count has passed it.
    """

    def __init__(
        self, llm: OllamaLLM, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> None:
        self._llm = llm
        self._format: dict[str, Any] = {} if schema is None else {"format": dict(schema)}
        self._messages = [(role, sendable(text)) for role, text in messages]
        self._max_tokens = max_tokens
        self.prompt_tokens: int | None = None
        """Tokens counted by the server; None if it gave no count."""
        self.answer_tokens: int | None = None
        self.done_reason = ""
        """ "stop", or "length" at the token limit; empty if the reply is not complete."""

    def __iter__(self) -> Iterator[str]:
        chunks = estimate = 0.0
        left = LONGEST_TOKEN * (self._max_tokens + 64)
        with closing(self._in_time()) as stream:
            for chunk in stream:
                content = str(chunk.content)
                text = content[:left]
                self._note(getattr(chunk, "response_metadata", None) or {})
                if text:
                    yield text
                left -= len(text)
                # A piece is a token with Ollama; larger pieces of other servers are counted by their text.
                chunks += 1
                estimate += base_tokens(text)
                over = len(content) > len(text) or max(chunks, 0.8 * estimate) > CAP_SLACK * self._max_tokens + 8
                if over and not self.done_reason:
                    self.done_reason, self.answer_tokens = "length", round(max(chunks, estimate))
                    return

    def _note(self, metadata: dict[str, Any]) -> None:
        if metadata.get("done"):
            self.prompt_tokens = _count(metadata.get("prompt_eval_count"))
            self.answer_tokens = _count(metadata.get("eval_count"))
            self.done_reason = str(metadata.get("done_reason") or "stop")

    def _in_time(self) -> Generator[BaseMessageChunk, None, None]:
        """The chunks, read in a thread of their own, with the limits of silence; the connection ends with this."""
        llm = self._llm
        with closing(cancellable(self._chunks(), _never, llm.silence)) as stream:
            try:
                yield from stream
            except SilentReply as silent:
                raise as_problem(silent, llm.name, llm.url) from silent

    def _chunks(self) -> Generator[BaseMessageChunk, None, None]:
        llm = self._llm
        llm.note_sent(self._messages)
        for attempt in (1, 2):
            begun = False
            try:
                with closing(llm.chat_model.stream(self._messages, options=self._options(), **self._format)) as stream:  # type: ignore[type-var]  # a generator
                    for chunk in stream:
                        begun = True
                        yield chunk
            except reply_errors() as error:
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
    """A chat model of Ollama.

    `counter` estimates tokens for this model and learns from its replies during the object's lifetime.
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
        self.silence = Silence(first=options.first_token_seconds, between=ollama.timeout_seconds)
        self.digest = digest
        self.sleep = sleep
        self.counter = TokenCounter()
        self._sent: deque[tuple[str, str]] = deque(maxlen=REMEMBERED_PROMPTS)
        """Prompts that went out, each with the one that went out before it."""
        self._sending = Lock()

    @property
    def name(self) -> str:
        """The model's name with its tag: "llama3.1:8b"."""
        return self._name

    @property
    def url(self) -> str:
        """The server's address."""
        return self._ollama.url

    @property
    def window(self) -> int:
        """Context window in tokens: what is requested from the server, or less if it serves less."""
        return min(self.num_ctx, self._served or self.num_ctx)

    @cached_property
    def calls_tools(self) -> bool:
        """Whether the server reports that the model can call tools; False if unknown."""
        try:
            return "tools" in self._ollama.show(self._name).capabilities
        except ModelProblem:
            return False

    @property
    def chat_model(self) -> ChatOllama:
        """LangChain's model for this one, created on first use."""
        if self._chat_model is None:
            from langchain_ollama import ChatOllama

            self._chat_model = ChatOllama(
                model=self._name,
                base_url=self._ollama.url,
                temperature=self.temperature,
                num_ctx=self.num_ctx,
                num_predict=self.num_predict,
                client_kwargs=client_options(self._ollama, longest_line=LONGEST_LINE, read_seconds=None),
            )
        return self._chat_model

    def reply(self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """A reply of at most `max_tokens`; LangChain is loaded here, the request is sent when it is iterated over.

        With a JSON `schema` Ollama constrains the output to it, as far as the model and the cap allow.
        """
        _ = self.chat_model
        return Reply(self, messages, max_tokens, schema)

    def note_sent(self, messages: Sequence[Message]) -> None:
        """Record that a request with these messages goes out now."""
        with self._sending:
            self._sent.append((_prompt(messages), self._sent[-1][0] if self._sent else ""))

    def _sent_before(self, prompt: str) -> str:
        """What went out directly before this prompt; empty if unknown."""
        with self._sending:
            return next((before for each, before in reversed(self._sent) if each == prompt), "")

    def stream(self, prompt: str) -> Iterator[str]:
        """The reply, piece by piece; empty pieces are left out. Raises ModelProblem."""
        yield from self.reply([("user", prompt)], max_tokens=self.num_predict)

    def was_cut(self, messages: Sequence[Message], prompt_tokens: int | None, answer_tokens: int | None) -> bool:
        """Whether the server truncated the messages, or dropped their beginning while it answered.

        Judged by the tokens that it counted, from which the counter learns.

        The window actually served is requested once the model is loaded; if it is
        smaller than the requested one, `window` shrinks for later calls.
        """
        if not self._asked_served:
            self._asked_served = True
            self._served = self._ollama.served_context(self._name)
        prompt = _prompt(messages)
        before = self._sent_before(prompt)
        if self.counter.was_cut(prompt, len(messages), prompt_tokens, window=self.window, before=before):
            # It may serve twice that: Ollama truncates to half.
            self._served = self._served or max(prompt_tokens or 0, SMALLEST_SERVED)
            return True
        # At its end Ollama drops the older half of the window, which is the prompt, and continues.
        return (prompt_tokens or 0) + (answer_tokens or 0) > self.window


def _never() -> bool:
    return False


def _prompt(messages: Sequence[Message]) -> str:
    return "\n".join(sendable(text) for _, text in messages)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
