"""An address as a message may show it."""

from __future__ import annotations

import re

__all__ = ["shown_address"]

_LONGEST_SHOWN = 120


def shown_address(text: str) -> str:
    """A URL as a message may show it: on one line, not too long, without credentials and without its query."""
    start = re.split(r"[?#]", text, maxsplit=1)[0]
    if "@" in start:
        scheme, _, _ = start.partition("://")
        start = f"{scheme if len(scheme) < 10 else ''}://…/{start.rpartition('@')[2]}"
    plain = "".join(character if character.isprintable() else "\ufffd" for character in start.strip())
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}…"
