"""Chat models on servers: one class over LangChain's ChatOllama and ChatOpenAI.

LangChain's classes send the request and read the stream. This one bounds it: one reply at a time, never longer or
slower than its limits, with the tokens that the server counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import ModelProblem
from ragscience.core.serialization import storable
from ragscience.models.model_http import Silence, SilentReply, cancellable, positive
from ragscience.models.model_protocols import ModelDetails
from ragscience.models.model_servers import ModelServer, Ollama, OpenAIServer
from ragscience.models.token_counting import TokenCounter

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk


Message = tuple[str, str]
"""Role ("system", "user" or "assistant") and text."""

FIRST_TOKEN_SECONDS = 600.0
"""How long a model may load and read the prompt: minutes for a long prompt on a small machine."""
SMALLEST_SERVED = 512
"""Tokens: the smallest plausible window."""
LONGEST_BYTES = 16 * 2**20
"""Bytes of a streamed reply: 32,768 tokens take half a kilobyte each."""
LONGEST_TOKEN = 16
"""Characters of a token, on average over a reply; of words it has four, of blanks and rules of dashes most."""
_SAME_AS_STOP = frozenset({"eos", "eos_token", "end_turn", "stop_sequence"})
"""Other servers' words for the end of a reply."""
_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Fields in which servers send reasoning: llama.cpp, vLLM and DeepSeek; newer vLLM and OpenRouter; others."""
_UNKNOWN = ModelDetails()


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Generation settings of a model."""

    temperature: float
    num_ctx: int
    """Context window in tokens, for prompt and reply together."""
    num_predict: int
    """Maximum tokens of a reply."""
    first_token_seconds: float = FIRST_TOKEN_SECONDS


class ServedReply:
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
        self._messages = [(role, storable(text)) for role, text in messages]
        self._max_tokens = max_tokens
        self._is_thinking = False
        self.prompt_tokens: int | None = None
        """Tokens counted by the server; None if it gave no count."""
        self.answer_tokens: int | None = None
        """Of text and reasoning together."""
        self.done_reason = ""
        """ "stop", "length" at the token limit, or the server's own word; empty if the reply is not complete."""

    def __iter__(self) -> Iterator[str]:
        left = LONGEST_TOKEN * (self._max_tokens + 64)
        with closing(self._in_time()) as stream:
            for chunk in stream:
                content = self._marked(chunk)
                text = content[:left]
                self._note(chunk)
                if text:
                    yield text
                left -= max(len(content), 1)
                if left <= 0 and not self.done_reason:
                    self.done_reason, self.answer_tokens = "length", self._max_tokens
                    return

    def _marked(self, chunk: AIMessageChunk) -> str:
        """The text of a chunk, with its reasoning in marks."""
        text, marked = str(chunk.content), ""
        if thought := str(chunk.additional_kwargs.get("reasoning_content") or ""):
            marked = ("" if self._is_thinking else "<think>") + thought.replace("<", "‹")
            self._is_thinking = True
        if text and self._is_thinking:
            marked += "</think>"
            self._is_thinking = False
        return marked + text

    def _note(self, chunk: AIMessageChunk) -> None:
        usage: dict[str, Any] = dict(chunk.usage_metadata or {})
        metadata = chunk.response_metadata
        self.prompt_tokens = positive(usage.get("input_tokens")) or self.prompt_tokens
        self.answer_tokens = positive(usage.get("output_tokens")) or self.answer_tokens
        reason = str(metadata.get("done_reason") or metadata.get("finish_reason") or "")
        reason = "stop" if reason in _SAME_AS_STOP or (metadata.get("done") and not reason) else reason
        self.done_reason = reason or self.done_reason

    def _in_time(self) -> Generator[AIMessageChunk, None, None]:
        """The chunks, read in a thread of their own, with the limits of silence; the connection ends with this."""
        llm = self._llm
        ask = partial(llm.chunks, self._messages, self._max_tokens, schema=self._schema)
        pieces = llm.server.asked(llm.name, ask, attempts=2, sleep=llm.sleep)
        with closing(cancellable(pieces, lambda: False, llm.silence)) as stream:
            try:
                yield from stream
            except SilentReply as silent:
                raise llm.silence_problem(silent) from silent


class ServedLLM:
    """A chat model of `server`; `details` are what the server said about it, so that no reply waits for that.

    `counter` estimates tokens for this model and learns from its replies during the object's lifetime.
    """

    def __init__(
        self,
        server: ModelServer,
        name: str,
        *,
        options: ChatOptions,
        digest: str = "",
        details: ModelDetails = _UNKNOWN,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.server = server
        self.name = name
        """With Ollama with its tag, "llama3.1:8b"."""
        self.digest = digest
        self.details = details
        """What the server says about the model."""
        self.options = options
        self.num_predict = options.num_predict
        self.silence = Silence(first=options.first_token_seconds, between=server.timeout_seconds)
        """How long a reply may be silent."""
        self.sleep = sleep
        self.counter = TokenCounter()
        self._served: int | None = None
        self._asked_served = False
        self._refuses_tools = False

    @property
    def calls_tools(self) -> bool:
        """Whether the model can call tools, as far as the server says, and has not refused them before."""
        return "tools" in self.details.capabilities and not self._refuses_tools

    @property
    def window(self) -> int:
        """Context window in tokens: the setting's, or less if the server gives less."""
        return min(self.options.num_ctx, self._served or self.options.num_ctx)

    @cached_property
    def chat_model(self) -> BaseChatModel:
        """LangChain's model for this one."""
        if isinstance(self.server, OpenAIServer):
            return _openai_chat(self.server, self.name, self.options.temperature)
        from langchain_ollama import ChatOllama

        return ChatOllama(
            model=self.name,
            base_url=self.server.url,
            temperature=self.options.temperature,
            num_ctx=self.options.num_ctx,
            num_predict=self.num_predict,
            # Without it LangChain drops what the server sends apart; other models refuse it.
            reasoning=True if "thinking" in self.details.capabilities else None,
            client_kwargs=self.server.client_options(None, None, LONGEST_BYTES),
        )

    def reply(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> ServedReply:
        """A reply of at most `max_tokens`; the code is loaded here, the request is sent when it is iterated over.

        With a JSON `schema` the server constrains the output to it, as far as the model and the cap allow.
        """
        _ = self.chat_model
        return ServedReply(self, messages, max_tokens, schema)

    def chunks(
        self,
        messages: Sequence[Any],
        max_tokens: int,
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Generator[AIMessageChunk, None, None]:
        """The reply to one request, as it comes. Raises one of the server's `reply_errors`."""
        from langsmith.run_helpers import tracing_context

        how: dict[str, Any] = {}
        if isinstance(self.server, Ollama):
            options = self.options
            how["options"] = {"temperature": options.temperature, "num_ctx": options.num_ctx, "num_predict": max_tokens}
            how |= {} if schema is None else {"format": dict(schema)}
        else:
            how["extra_body"] = {"max_tokens": max_tokens}
            if schema is not None:
                form = {"name": "reply", "strict": True, "schema": dict(schema)}
                how["extra_body"]["response_format"] = {"type": "json_schema", "json_schema": form}
        model: Any = self.chat_model.bind_tools([dict(tool) for tool in tools]) if tools else self.chat_model
        with tracing_context(enabled=False), closing(model.stream(list(messages), **how)) as stream:
            yield from stream

    def tool_chunks(
        self, messages: Sequence[Any], tools: Sequence[Mapping[str, Any]], max_tokens: int
    ) -> Generator[AIMessageChunk, None, None]:
        """The reply of a model that may call `tools`: its text, piece by piece, then its calls, put together.

        Raises ModelProblem.
        """
        from langchain_core.messages import AIMessageChunk

        whole: AIMessageChunk | None = None
        try:
            for chunk in self.chunks(messages, max_tokens, tools=tools):
                if isinstance(self.server, Ollama):  # which sends each call in one piece
                    yield chunk
                    continue
                whole = chunk if whole is None else whole + chunk
                yield AIMessageChunk(content=str(chunk.content))
        except self.server.reply_errors() as error:
            self._refuses_tools |= getattr(error, "status_code", 0) in (400, 422)
            raise self.server.problem(error, self.name) from error
        if whole is not None:
            yield AIMessageChunk(content="", tool_calls=whole.tool_calls, usage_metadata=whole.usage_metadata)

    def was_cut(self, messages: Sequence[Message], prompt_tokens: int | None, answer_tokens: int | None) -> bool:
        """Whether the server truncated the messages, or dropped their beginning while it answered.

        Judged by the tokens that it counted, from which the counter learns. The window actually served is requested
        once the model is loaded; if it is smaller than the requested one, `window` shrinks for later calls.
        """
        if not self._asked_served:
            self._asked_served = True
            self._served = self.server.served_context(self.name)
        prompt = "\n".join(storable(text) for _, text in messages)
        told = self._served is not None
        if self.counter.was_cut(prompt, len(messages), prompt_tokens, window=self.window, is_told=told):
            # It may serve twice that: Ollama truncates to half.
            self._served = self._served or max(prompt_tokens or 0, SMALLEST_SERVED)
            return True
        # At its end Ollama drops the older half of the window, which is the prompt, and continues.
        return (prompt_tokens or 0) + (answer_tokens or 0) > self.window

    def silence_problem(self, silent: SilentReply) -> ModelProblem:
        """The problem of a reply that was silent for too long."""
        what, fix = f"The first token of {self.name} did not come within", "ask for fewer passages with -k"
        if silent.has_begun:
            what, fix = f"{self.name} sent nothing for", "raise RAG_LLM_TIMEOUT_SECONDS"
        return ModelProblem(f"{what} {silent.seconds:g} s.", f"Choose a smaller model, or {fix}.")


def _openai_chat(server: OpenAIServer, name: str, temperature: float) -> BaseChatModel:
    options = server.langchain_options(None, None, LONGEST_BYTES)
    from langchain_openai import ChatOpenAI

    class Chat(ChatOpenAI):
        """With the reasoning of servers that send it apart, which LangChain leaves out."""

        def _convert_chunk_to_generation_chunk(self, chunk: dict[str, Any], *rest: Any) -> Any:
            made = super()._convert_chunk_to_generation_chunk(chunk, *rest)
            if made is not None and chunk.get("choices"):
                delta = chunk["choices"][0]["delta"]
                thoughts = (delta[field] for field in _REASONING if isinstance(delta.get(field), str))
                made.message.additional_kwargs["reasoning_content"] = next(thoughts, "")
            return made

    return Chat(model=name, temperature=temperature, stream_usage=True, use_responses_api=False, **options)
