"""Chat models of Ollama, through LangChain's ChatOllama."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import ModelProblem
from ragscience.models.http_options import client_options
from ragscience.models.json_server import positive
from ragscience.models.ollama_api import ModelDetails, Ollama
from ragscience.models.ollama_client import as_problem, may_pass, reply_errors
from ragscience.models.reply_limits import SilentReply
from ragscience.models.served_llm import LONGEST_LINE, RETRY_AFTER_SECONDS, ChatOptions, Chunk, Message, ServedLLM

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk
    from langchain_ollama import ChatOllama

__all__ = ["OllamaLLM"]


class OllamaLLM(ServedLLM):
    """A chat model of Ollama; `details` are what `Ollama.show` told of it, so that no reply waits for that."""

    timeout_setting = "RAG_OLLAMA_TIMEOUT_SECONDS"

    def __init__(
        self,
        ollama: Ollama,
        name: str,
        *,
        options: ChatOptions,
        digest: str = "",
        details: ModelDetails | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(ollama, name, options=options, digest=digest, sleep=sleep)
        self._ollama = ollama
        self._thinks = details is not None and "thinking" in details.capabilities
        self._known_details = details
        self._chat_model: ChatOllama | None = None

    def load(self) -> None:
        """LangChain's model."""
        _ = self.chat_model

    @cached_property
    def _details(self) -> ModelDetails | None:
        """What the server reports about the model; None if it does not."""
        try:
            return self._known_details or self._ollama.show(self._name)
        except ModelProblem:
            return None

    @property
    def calls_tools(self) -> bool:
        """Whether the server reports that the model can call tools; False if unknown."""
        return self._details is not None and "tools" in self._details.capabilities

    @property
    def parameters(self) -> int | None:
        """How many parameters the model has, as the server reports; None if unknown."""
        return self._details.parameters if self._details else None

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
                # Without it LangChain drops what the server sends apart; other models refuse it.
                reasoning=True if self._thinks else None,
                client_kwargs=client_options(self._ollama, longest_line=LONGEST_LINE, read_seconds=None),
            )
        return self._chat_model

    def chunks(
        self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> Generator[Chunk, None, None]:
        """The reply to one request, as it comes; with a `schema` Ollama constrains the output to it."""
        form: dict[str, Any] = {} if schema is None else {"format": dict(schema)}
        options = self._options(max_tokens)
        with closing(self.chat_model.stream(list(messages), options=options, **form)) as stream:  # type: ignore[type-var]  # a generator
            for chunk in stream:
                metadata = getattr(chunk, "response_metadata", None) or {}
                thought = str(chunk.additional_kwargs.get("reasoning_content") or "")
                if metadata.get("done"):
                    yield Chunk(
                        str(chunk.content),
                        thought=thought,
                        done_reason=str(metadata.get("done_reason") or "stop"),
                        prompt_tokens=positive(metadata.get("prompt_eval_count")),
                        answer_tokens=positive(metadata.get("eval_count")),
                    )
                else:
                    yield Chunk(str(chunk.content), thought=thought)

    def tool_chunks(
        self, messages: Sequence[Any], tools: Sequence[Mapping[str, Any]], max_tokens: int
    ) -> Generator[AIMessageChunk, None, None]:
        """The reply of a model that may call `tools`; Ollama sends each call in one piece."""
        model = self.chat_model.bind_tools([dict(tool) for tool in tools])
        try:
            with closing(model.stream(list(messages), options=self._options(max_tokens))) as stream:  # type: ignore[type-var]  # a generator
                yield from stream  # type: ignore[misc]
        except reply_errors() as error:
            raise self.problem(error) from error

    def reply_errors(self) -> tuple[type[Exception], ...]:
        """What a call of Ollama may end in."""
        return reply_errors()

    def problem(self, error: Exception) -> ModelProblem:
        """A failed call as one line and a fix."""
        if isinstance(error, SilentReply):
            return self._silence_problem(error)
        return as_problem(error, self.name, self.url)

    def retry_pause(self, error: Exception) -> float | None:
        """Seconds to wait for another attempt; None where none may succeed."""
        return RETRY_AFTER_SECONDS if may_pass(error) else None

    def served_context(self) -> int | None:
        """The window that Ollama gives the loaded model, in tokens; None if unknown."""
        return self._ollama.served_context(self._name)

    def _options(self, max_tokens: int) -> dict[str, Any]:
        return {"temperature": self.temperature, "num_ctx": self.num_ctx, "num_predict": max_tokens}
