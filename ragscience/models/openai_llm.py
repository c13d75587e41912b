"""Chat models of servers with OpenAI's API, through LangChain's ChatOpenAI (the extra `llm-server`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import ModelProblem
from ragscience.models.http_options import client_options
from ragscience.models.json_server import positive
from ragscience.models.openai_api import ACCEPTED_BY_NOBODY, OpenAIServer
from ragscience.models.openai_client import as_problem, reply_errors, retry_pause
from ragscience.models.reply_limits import SilentReply
from ragscience.models.served_llm import LONGEST_LINE, ChatOptions, Chunk, Message, ServedLLM

if TYPE_CHECKING:
    import httpx
    from langchain_core.messages import AIMessageChunk
    from langchain_openai import ChatOpenAI

__all__ = ["OpenAILLM", "check_installed"]

_SAME_AS_STOP = frozenset({"eos", "eos_token", "end_turn", "stop_sequence"})
"""Other servers' words for the end of a reply."""
_OUR_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type"}
)
"""What a request carries; OpenAI's client would add the machine's system and the organisation of its environment."""
_EVENTS = "text/event-stream"


def check_installed() -> None:
    """Raise ModelProblem where the packages that speak with such a server are not installed."""
    from importlib.util import find_spec

    if find_spec("langchain_openai") is None:
        raise ModelProblem(
            "A server with OpenAI's API needs the package langchain-openai, which is not installed.",
            "Run `python -m pip install -r requirements-llm-server.txt`.",
        )


class OpenAILLM(ServedLLM):
    """A chat model of a server with OpenAI's API."""

    timeout_setting = "RAG_LLM_TIMEOUT_SECONDS"

    def __init__(
        self,
        server: OpenAIServer,
        name: str,
        *,
        options: ChatOptions,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(server, name, options=options, sleep=sleep)
        self._openai = server
        self._chat_model: ChatOpenAI | None = None
        self._refuses_tools = False

    def load(self) -> None:
        """LangChain's model."""
        _ = self.chat_model

    @property
    def chat_model(self) -> ChatOpenAI:
        """LangChain's model for this one, created on first use."""
        if self._chat_model is None:
            self._chat_model = _chat_model(self._openai, self._name, self.temperature)
        return self._chat_model

    @property
    def parameters(self) -> int | None:
        """How many parameters the model has, as llama.cpp's server tells; None for other servers."""
        self.load()
        return self._openai.parameters(self._name)

    @property
    def calls_tools(self) -> bool:
        """Whether it may be asked to: unless the server tells that it cannot, or has refused tools before."""
        return not self._refuses_tools and not self._openai.knows_no_tools

    def chunks(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> Generator[Chunk, None, None]:
        """The reply to one request, as it comes; with a `schema` the server constrains the output to it."""
        body: dict[str, Any] = {"max_tokens": max_tokens}
        if schema is not None:
            form = {"name": "reply", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        with closing(self.chat_model.stream(list(messages), extra_body=body)) as stream:  # type: ignore[type-var]  # a generator
            for chunk in stream:
                yield _chunk(chunk)

    def tool_chunks(
        self, messages: Sequence[Any], tools: Sequence[Mapping[str, Any]], max_tokens: int
    ) -> Generator[AIMessageChunk, None, None]:
        """The reply of a model that may call `tools`: its text, piece by piece, then its calls, put together."""
        import openai
        from langchain_core.messages import AIMessageChunk

        model = self.chat_model.bind_tools([dict(tool) for tool in tools])
        whole: AIMessageChunk | None = None
        try:
            with closing(model.stream(list(messages), extra_body={"max_tokens": max_tokens})) as stream:  # type: ignore[type-var]  # a generator
                for chunk in stream:
                    whole = chunk if whole is None else whole + chunk  # type: ignore[assignment]
                    yield AIMessageChunk(content=str(chunk.content))
        except reply_errors() as error:
            self._refuses_tools |= isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError)
            raise self.problem(error) from error
        if whole is not None:
            yield AIMessageChunk(content="", tool_calls=whole.tool_calls, usage_metadata=whole.usage_metadata)

    def reply_errors(self) -> tuple[type[Exception], ...]:
        """What a call of the server may end in."""
        return reply_errors()

    def problem(self, error: Exception) -> ModelProblem:
        """A failed call as one line and a fix."""
        if isinstance(error, SilentReply):
            return self._silence_problem(error)
        return as_problem(error, self.name, self._openai)

    def retry_pause(self, error: Exception) -> float | None:
        """Seconds to wait for another attempt; None where none may succeed."""
        return retry_pause(error)

    def served_context(self) -> int | None:
        """The window that the server gives the model, in tokens; None where it does not tell."""
        return self._openai.context_length(self._name)


def _chunk(chunk: Any) -> Chunk:
    reason = str(chunk.response_metadata.get("finish_reason") or "")
    usage = chunk.usage_metadata or {}
    return Chunk(
        str(chunk.content),
        thought=str(chunk.additional_kwargs.get(_THOUGHT) or ""),
        done_reason="stop" if reason in _SAME_AS_STOP else reason,
        prompt_tokens=positive(usage.get("input_tokens")),
        answer_tokens=positive(usage.get("output_tokens")),
    )


_THOUGHT = "ragscience_thought"
"""Where a chunk of LangChain's carries what the server sent as reasoning."""
_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Fields in which servers send it: llama.cpp, vLLM and DeepSeek; newer vLLM and OpenRouter; others."""


def _chat_model(server: OpenAIServer, name: str, temperature: float) -> ChatOpenAI:
    check_installed()
    import httpx
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    class Chat(ChatOpenAI):
        """With the reasoning of servers that send it apart, which LangChain leaves out."""

        def _convert_chunk_to_generation_chunk(self, chunk: dict[str, Any], *rest: Any) -> Any:
            made = super()._convert_chunk_to_generation_chunk(chunk, *rest)
            if made is not None and chunk.get("choices"):
                delta = chunk["choices"][0]["delta"]
                thoughts = (delta[field] for field in _REASONING if isinstance(delta.get(field), str))
                made.message.additional_kwargs[_THOUGHT] = next(thoughts, "")
            return made

    class PlainChunks:
        """OpenAI's completions, their chunks as dicts: LangChain's own way warns of each field of another type."""

        def __init__(self, completions: Any) -> None:
            self._completions = completions

        @contextmanager
        def create(self, **payload: Any) -> Iterator[Iterator[dict[str, Any]]]:
            with self._completions.create(**payload) as stream:
                yield (chunk.model_dump(warnings=False) for chunk in stream)

    options = client_options(server, longest_line=LONGEST_LINE, read_seconds=None, media_type=_EVENTS)
    options["event_hooks"]["request"].append(_without_other_headers)
    chat = Chat(
        model=name,
        base_url=server.url,
        api_key=server.key if server.key.get_secret_value() else SecretStr(ACCEPTED_BY_NOBODY),
        temperature=temperature,
        max_retries=0,
        stream_usage=True,
        use_responses_api=False,
        http_client=httpx.Client(**options),
    )
    chat.client = PlainChunks(chat.client)
    return chat


def _without_other_headers(request: httpx.Request) -> None:
    for header in set(request.headers) - _OUR_HEADERS:
        del request.headers[header]
