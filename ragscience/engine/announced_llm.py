"""A language model that says when it is asked and when it thinks, so that a person can be told what is waited for."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from ragscience.ask.generation import WrappedLLM
from ragscience.ask.replies import ThoughtFilter
from ragscience.models.model_protocols import ChatModel, Reply

_PASSAGE = re.compile(r"<passage \d")


class AnnouncedLLM(WrappedLLM):
    """A chat model that calls `on_ask` with its name and the number of passages in the prompt before each call.

    `on_think` is called with its name when a reply's thoughts begin, `on_end` with the tokens of prompt and reply when
    it has ended.
    """

    def __init__(
        self,
        llm: ChatModel,
        on_ask: Callable[[str, int], None],
        on_think: Callable[[str], None],
        on_end: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(llm)
        self._on_ask = on_ask
        self._on_think = on_think
        self._on_end = on_end

    def reply(
        self, messages: Sequence[tuple[str, str]], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """The model's."""
        self._on_ask(self.name, sum(len(_PASSAGE.findall(text)) for role, text in messages if role == "user"))
        reply = super().reply(messages, max_tokens=max_tokens, schema=schema)
        return _WatchedReply(reply, lambda: self._on_think(self.name), self._on_end)


class _WatchedReply:
    """A reply that calls `on_think` when its thoughts begin, and `on_end`."""

    def __init__(self, reply: Reply, on_think: Callable[[], None], on_end: Callable[[int], None]) -> None:
        self._reply = reply
        self._on_think = on_think
        self._on_end = on_end
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
                    self._on_think()
                was_thinking = thoughts.is_thinking
                yield piece
        finally:
            if isinstance(pieces, Generator):
                pieces.close()
            reply = self._reply
            self.prompt_tokens, self.answer_tokens = reply.prompt_tokens, reply.answer_tokens
            self.done_reason = reply.done_reason
            self._on_end((reply.prompt_tokens or 0) + (reply.answer_tokens or 0))
