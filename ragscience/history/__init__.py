"""Conversations on disk: every turn with all that it rested on, found again by id, by name or by its words."""

from ragscience.history.conversations import Conversation, History, KeptAnswer

__all__ = ["Conversation", "History", "KeptAnswer"]
