"""A stored conversation through LangChain's chat-history interface.

The only module of this package that imports LangChain, and only when its function is called.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Answer, Found
from ragscience.library.conversation_names import check_name
from ragscience.library.conversations import Conversation, History

if TYPE_CHECKING:
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import BaseMessage

__all__ = ["chat_message_history"]


def chat_message_history(path: Path, session_id: str) -> BaseChatMessageHistory:
    """The conversation `session_id` (a name, or the number of an existing one) of the history at `path`.

    A turn is a human message and the AI message after it, which carries `answer_id`, `searched` and `created_at` as
    response metadata. Messages are stored once the answer is there. Reading and writing raise as History does;
    messages of other kinds raise UsageError, as does an invalid name.
    """
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.messages import AIMessage, HumanMessage

    key = session_id if session_id.isdecimal() else check_name(session_id)

    def conversation(history: History) -> Conversation | None:
        return history.conversation(int(key)) if key.isdecimal() else history.named(key)

    class KeptMessages(BaseChatMessageHistory):
        def __init__(self) -> None:
            self._waiting: HumanMessage | None = None

        @property
        def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base declares an attribute "or property"
            with History.open(path) as history:
                found = conversation(history)
                kept = history.turns(found.conversation_id) if found else []
                if history.damage:
                    raise RagScienceError(history.damage, "Or use another name.")
            messages: list[BaseMessage] = []
            for item in kept:
                more = {
                    "answer_id": item.answer.answer_id,
                    "searched": item.answer.found.question,
                    "created_at": item.created_at,
                }
                messages += [
                    HumanMessage(item.answer.question),
                    AIMessage(item.answer.text, response_metadata=more),
                ]
            return messages if self._waiting is None else [*messages, self._waiting]

        def add_messages(self, messages: Sequence[BaseMessage]) -> None:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            waiting, turns = self._waiting, []
            for message in messages:
                if isinstance(message, HumanMessage) and waiting is None:
                    waiting = message
                elif isinstance(message, AIMessage) and waiting is not None:
                    turns.append((_answer(waiting.text, message.text), now))
                    waiting = None
                else:
                    raise UsageError(
                        f"A {message.type} message has no place here.", "A question comes first, then its answer."
                    )
            with History.open_for_writing(path) as history:
                found = conversation(history)
                if found is None and key.isdecimal():
                    raise UsageError(f"There is no conversation {key}.", "Give a name to start one.")
                history.add(
                    turns,
                    conversation_id=found.conversation_id if found else None,
                    name="" if key.isdecimal() else key,
                )
            self._waiting = waiting

        def clear(self) -> None:
            self._waiting = None
            with History.open_for_writing(path) as history:
                found = conversation(history)
                if found is not None:
                    history.delete(found)

    return KeptMessages()


def _answer(question: str, text: str) -> Answer:
    """An answer of another application: words without passages."""
    return Answer(
        answer_id=uuid.uuid4().hex[:12],
        question=question,
        text=text,
        mode="llm",
        refused=False,
        citations=(),
        found=Found(question, "", ()),
        models={"embedder": None, "reranker": None, "llm": None},
    )
