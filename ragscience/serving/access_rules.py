"""Which requests are open to everybody, which need a writer, and which count for a limit of a person."""

from __future__ import annotations

from typing import Literal

__all__ = ["counts_as", "is_open", "needs_writer"]

_OPEN = frozenset(("/", "/healthz", "/api/v1/session"))
_ANSWERS = frozenset(
    (
        "/api/v1/search", "/api/v1/ask", "/api/v1/ask/events", "/api/agent_action", "/v1/chat/completions",
        "/v1/embeddings", "/mcp",
    )
)  # fmt: skip
"""What works for the processor and changes no library."""
_OWN = "/api/v1/conversations/"
"""What a reader may delete: conversations are each person's own."""
_PLACES = "/places"
"""The end of an address that only looks something up, though by POST."""


def is_open(path: str) -> bool:
    """Whether a request needs no token: the page, its files, signing in, and whether the server lives."""
    return path in _OPEN or path.startswith("/page/")


def needs_writer(method: str, path: str) -> bool:
    """Whether a request changes the library: any but GET and HEAD that is not known to change nothing."""
    if method in ("GET", "HEAD") or path in _ANSWERS:
        return False
    return not (method == "DELETE" and path.startswith(_OWN)) and not (method == "POST" and path.endswith(_PLACES))


def counts_as(method: str, path: str) -> Literal["", "answer", "change"]:
    """Of which kind of work one person has only so much under way at once."""
    if method != "POST":
        return ""
    return "answer" if path in _ANSWERS else "change" if needs_writer(method, path) else ""
