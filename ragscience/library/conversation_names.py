"""What a conversation may be called."""

from __future__ import annotations

from ragscience.core.errors import UsageError

__all__ = ["check_name"]

MAX_NAME_CHARS = 100


def check_name(name: str) -> str:
    """A conversation's name as stored. Raises UsageError for one that is empty, too long, a number, or not text."""
    stripped = " ".join(name.split())
    if not stripped or len(stripped) > MAX_NAME_CHARS or not stripped.isprintable():
        raise UsageError(
            f"{name!r} is no name for a conversation.", f"Give 1 to {MAX_NAME_CHARS} characters: --chat thesis"
        )
    if stripped.isdecimal():
        raise UsageError(f"The name {stripped} looks like a conversation's number.", "Add a letter.")
    return stripped
