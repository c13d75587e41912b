"""Conversations on disk: every turn with its sources, found by id, by name or by its words."""

from ragscience.library.conversations import Conversation, History, KeptAnswer

__all__ = ["Conversation", "History", "KeptAnswer"]
