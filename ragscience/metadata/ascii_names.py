"""Names and titles in plain ASCII letters, for keys and file names."""

from __future__ import annotations

import unicodedata

__all__ = ["plain_letters"]

_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not take apart into an ASCII one and a mark."""


def plain_letters(text: str) -> str:
    """In small letters without accents: "Łukasz Über" is "lukasz uber"; what has no such form stays as it is."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char))
