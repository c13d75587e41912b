"""What the chat models of every kind of server share: one reply at a time, never longer or slower than its limits."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import ModelProblem
from ragscience.models.json_server import JsonServer
from ragscience.models.reply_limits import Silence, SilentReply, cancellable
from ragscience.models.token_counting import TokenCounter, base_tokens
from ragscience.models.wordpieces import sendable

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk

__all__ = ["LONGEST_LINE", "ChatOptions", "Chunk", "Message", "Reply", "ServedLLM"]

Message = tuple[str, str]
"""Role ("system", "user" or "assistant") and text."""

REMEMBERED_PROMPTS = 16
"""Prompts that went out and are kept until their counts are judged."""
RETRY_AFTER_SECONDS = 1.0
"""Seconds until a crashed server has restarted."""
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


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a streamed reply, and what the server tells with it."""

    text: str = ""
    thought: str = ""
    """Reasoning that the server sends apart from the text."""
    done_reason: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    """Of text and reasoning together."""


class Reply:
    """A streamed reply: iterate over it once for its text, piece by piece; then the counts are set.

    Reasoning that the server sends apart comes between <think> and </think>, as most models write it themselves.

    Iterating raises ModelProblem, also where the server is silent for too long. A transient failure before the first
    piece (a cut connection, a crashed server) is retried once. If the server ignores the cap, the stream is cut when
    our own count has passed it.
    """

    def __init__(
        self, llm: ServedLLM, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> None:
        self._llm = llm
        self._schema = schema
        self._messages = [(role, sendable(text)) for role, text in messages]
        self._max_tokens = max_tokens
        self._is_thinking = False
        self.failure: ModelProblem | None = None
        """Why the model cannot be called; iterating raises it."""
        self.prompt_tokens: int | None = None
        """Tokens counted by the server; None if it gave no count."""
        self.answer_tokens: int | None = None
        self.done_reason = ""
        """ "stop", "length" at the token limit, or the server's own word; empty if the reply is not complete."""

    def __iter__(self) -> Iterator[str]:
        chunks = estimate = 0.0
        left = LONGEST_TOKEN * (self._max_tokens + 64)
        with closing(self._in_time()) as stream:
            for chunk in stream:
                content = self._marked(chunk)
                text = content[:left]
                self._note(chunk)
                if text:
                    yield text
                left -= len(text)
                # A piece is a token with most servers; larger pieces of others are counted by their text.
                chunks += 1
                estimate += base_tokens(text)
                over = len(content) > len(text) or max(chunks, 0.8 * estimate) > CAP_SLACK * self._max_tokens + 8
                if over and not self.done_reason:
                    self.done_reason, self.answer_tokens = "length", round(max(chunks, estimate))
                    return

    def _marked(self, chunk: Chunk) -> str:
        marked = ""
        if chunk.thought:
            marked = ("" if self._is_thinking else "<think>") + chunk.thought.replace("<", "‹")
            self._is_thinking = True
        if chunk.text and self._is_thinking:
            marked += "</think>"
            self._is_thinking = False
        return marked + chunk.text

    def _note(self, chunk: Chunk) -> None:
        self.prompt_tokens = chunk.prompt_tokens or self.prompt_tokens
        self.answer_tokens = chunk.answer_tokens or self.answer_tokens
        self.done_reason = chunk.done_reason or self.done_reason

    def _in_time(self) -> Generator[Chunk, None, None]:
        """The chunks, read in a thread of their own, with the limits of silence; the connection ends with this."""
        llm = self._llm
        if self.failure is not None:
            raise self.failure
        with closing(cancellable(self._chunks(), _never, llm.silence)) as stream:
            try:
                yield from stream
            except SilentReply as silent:
                raise llm.problem(silent) from silent

    def _chunks(self) -> Generator[Chunk, None, None]:
        from langsmith.run_helpers import tracing_context

        llm = self._llm
        llm.note_sent(self._messages)
        for attempt in (1, 2):
            begun = False
            try:
                with (
                    tracing_context(enabled=False),
                    closing(llm.chunks(self._messages, self._max_tokens, self._schema)) as stream,
                ):
                    for chunk in stream:
                        begun = True
                        yield chunk
            except llm.reply_errors() as error:
                pause = llm.retry_pause(error)
                if begun or attempt == 2 or pause is None:
                    raise llm.problem(error) from error
                llm.sleep(pause)
            else:
                return


class ServedLLM(ABC):
    """A chat model on a server.

    `counter` estimates tokens for this model and learns from its replies during the object's lifetime.
    """

    timeout_setting = ""
    """The environment variable of the time limit between two pieces of a reply."""

    def __init__(
        self,
        server: JsonServer,
        name: str,
        *,
        options: ChatOptions,
        digest: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = server
        self._name = name
        self._served: int | None = None
        self._asked_served = False
        self.temperature = options.temperature
        self.num_ctx = options.num_ctx
        self.num_predict = options.num_predict
        self.silence = Silence(first=options.first_token_seconds, between=server.timeout_seconds)
        """How long a reply may be silent."""
        self.digest = digest
        self.sleep = sleep
        self.counter = TokenCounter()
        self._sent: deque[tuple[str, str]] = deque(maxlen=REMEMBERED_PROMPTS)
        """Prompts that went out, each with the one that went out before it."""
        self._sending = Lock()

    # What differs from one kind of server to the other

    @abstractmethod
    def load(self) -> None:
        """Load the code, or the model, that a call needs. Raises ModelProblem."""

    @abstractmethod
    def chunks(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> Generator[Chunk, None, None]:
        """The reply to one request, as it comes. Raises one of `reply_errors`."""

    @abstractmethod
    def tool_chunks(
        self, messages: Sequence[Any], tools: Sequence[Mapping[str, Any]], max_tokens: int
    ) -> Generator[AIMessageChunk, None, None]:
        """The reply of a model that may call `tools`, whose calls are whole. Raises ModelProblem."""

    @property
    @abstractmethod
    def calls_tools(self) -> bool:
        """Whether the model can call tools, as far as the server tells."""

    @property
    @abstractmethod
    def parameters(self) -> int | None:
        """How many parameters the model has, None where the server does not tell. Raises ModelProblem."""

    @abstractmethod
    def reply_errors(self) -> tuple[type[Exception], ...]:
        """What a request may end in."""

    @abstractmethod
    def problem(self, error: Exception) -> ModelProblem:
        """One of `reply_errors` as a RagScience error: one line and a fix."""

    @abstractmethod
    def retry_pause(self, error: Exception) -> float | None:
        """Seconds to wait for another attempt; None where none may succeed."""

    @abstractmethod
    def served_context(self) -> int | None:
        """The window that the server gives the loaded model, in tokens; None if unknown."""

    # What is the same

    @property
    def name(self) -> str:
        """The model's name: with Ollama with its tag, "llama3.1:8b"."""
        return self._name

    @property
    def url(self) -> str:
        """The server's address."""
        return self._server.url

    @property
    def where(self) -> str:
        """The server's address as a message may show it."""
        return self._server.shown

    @property
    def window(self) -> int:
        """Context window in tokens: the setting's, or less if the server gives less."""
        return min(self.num_ctx, self._served or self.num_ctx)

    def reply(self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None) -> Reply:
        """A reply of at most `max_tokens`; the code is loaded here, the request is sent when it is iterated over.

        With a JSON `schema` the server constrains the output to it, as far as the model and the cap allow.
        """
        reply = Reply(self, messages, max_tokens, schema)
        try:
            self.load()
        except ModelProblem as problem:
            reply.failure = problem
        return reply

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
            self._served = self.served_context()
        prompt = _prompt(messages)
        before = self._sent_before(prompt)
        if self.counter.was_cut(prompt, len(messages), prompt_tokens, window=self.window, before=before):
            # It may serve twice that: Ollama truncates to half.
            self._served = self._served or max(prompt_tokens or 0, SMALLEST_SERVED)
            return True
        # At its end Ollama drops the older half of the window, which is the prompt, and continues.
        return (prompt_tokens or 0) + (answer_tokens or 0) > self.window

    def _silence_problem(self, silent: SilentReply) -> ModelProblem:
        if not silent.has_begun:
            return ModelProblem(
                f"The first token of {self.name} did not come within {silent.seconds:g} s.",
                "Raise RAG_LLM_FIRST_TOKEN_S, or choose a smaller model.",
            )
        return ModelProblem(
            f"{self.name} sent nothing for {silent.seconds:g} s.",
            f"Raise {self.timeout_setting}, or choose a smaller model.",
        )


def _never() -> bool:
    return False


def _prompt(messages: Sequence[Message]) -> str:
    return "\n".join(sendable(text) for _, text in messages)
