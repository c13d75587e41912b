"""A language model that says when it is asked and when it thinks, so that a person can be told what is waited for."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from ragscience.ask.generation import WrappedLLM
from ragscience.ask.replies import ThoughtFilter
from ragscience.engine.events import ModelAsked, OnEvent, Thinking, TokensCounted
from ragscience.models.model_protocols import ChatModel, Reply

_PASSAGE = re.compile(r"<passage \d")


class AnnouncedLLM(WrappedLLM):
    """A chat model whose calls are events: `ModelAsked`, `Thinking` when its thoughts begin, `TokensCounted`."""

    def __init__(self, llm: ChatModel, publish: OnEvent) -> None:
        super().__init__(llm)
        self._publish = publish

    def reply(
        self, messages: Sequence[tuple[str, str]], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """The model's."""
        passages = sum(len(_PASSAGE.findall(text)) for role, text in messages if role == "user")
        self._publish(ModelAsked(self.name, passages))
        return _WatchedReply(super().reply(messages, max_tokens=max_tokens, schema=schema), self.name, self._publish)


class _WatchedReply:
    """A reply that publishes its thoughts' beginning and its end."""

    def __init__(self, reply: Reply, model: str, publish: OnEvent) -> None:
        self._reply = reply
        self._model = model
        self._publish = publish
        self.prompt_tokens: int | None = None
        self.answer_tokens: int | None = None
        self.done_reason = ""

    def __iter__(self) -> Iterator[str]:
        thoughts, was_thinking = ThoughtFilter(), False
        pieces = iter(self._reply)
        try:
            for piece in pieces:
                thoughts.feed(piece)
                if thoughts.is_thinking and not was_thinking:
                    self._publish(Thinking(self._model))
                was_thinking = thoughts.is_thinking
                yield piece
        finally:
            if isinstance(pieces, Generator):
                pieces.close()
            self.prompt_tokens, self.answer_tokens = self._reply.prompt_tokens, self._reply.answer_tokens
            self.done_reason = self._reply.done_reason
            self._publish(TokensCounted((self.prompt_tokens or 0) + (self.answer_tokens or 0)))
