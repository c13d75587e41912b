"""BibTeX keys that stay the same for the same paper."""

from __future__ import annotations

import unicodedata

from ragscience.metadata.names import last_name
from ragscience.records import Metadata

__all__ = ["bibtex_key"]

_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
_NO_KEYWORDS = frozenset(["a", "an", "and", "at", "by", "for", "from", "in", "is", "of", "on", "the", "to", "with"])


def bibtex_key(metadata: Metadata) -> str:
    """The first author's family name, the year and the first word of the title that is not small: vaswani2017attention.

    Only ASCII letters and digits, in small letters. What is not known is left out; "paper" where nothing is.
    """
    author = _ascii(last_name(metadata.authors[0])) if metadata.authors else ""
    words = (_ascii(word) for word in metadata.title.replace("-", " ").replace("–", " ").split())
    word = next((word for word in words if word and word not in _NO_KEYWORDS), "")
    return f"{author}{metadata.year or ''}{word}" or "paper"


def _ascii(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(char for char in decomposed if char.isascii() and char.isalnum())
