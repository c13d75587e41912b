"""Numbers of things in words."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things, "1 paper" or "1,200 papers"; `many` is `one` with an s where it is not given."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
