"""A language model that says when it is asked, so that a person can be told what is waited for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragscience.answering.generation import WrappedLLM
from ragscience.models.model_protocols import ChatModel, Reply

__all__ = ["AnnouncedLLM"]

_PASSAGE = re.compile(r"<passage \d")


class AnnouncedLLM(WrappedLLM):
    """A chat model that calls `on_ask` with its name and the number of passages in the prompt before each call."""

    def __init__(self, llm: ChatModel, on_ask: Callable[[str, int], None]) -> None:
        super().__init__(llm)
        self._on_ask = on_ask

    def reply(
        self, messages: Sequence[tuple[str, str]], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """The model's."""
        self._on_ask(self.name, sum(len(_PASSAGE.findall(text)) for role, text in messages if role == "user"))
        return super().reply(messages, max_tokens=max_tokens, schema=schema)
