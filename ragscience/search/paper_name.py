"""A name of a paper as a record, and how names are compared."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["AUTHORS", "RULES_VERSION", "PaperName", "is_shaped", "key_of", "words_of"]

RULES_VERSION = 1
"""Increased when the same paper gets other names: kept names of another version are found again."""
AUTHORS = ("authors", "author")
"""`PaperName.how` of a family name."""
_WORD = re.compile(r"[^\W_]++")
_ACCENTS = re.compile("[\u0300-\u036f]++")
_PARTS = re.compile(r"[\s\-‐–]")


@dataclass(frozen=True, slots=True)
class PaperName:
    """A name of a paper."""

    name: str
    """As written there."""
    how: str
    """Where it is from: "title", "short title", "introduced", "acronym", "file"; "authors", or "author" of only one."""
    base: float
    """How surely it is the paper's, 0 to 1, whatever other papers call it."""
    page: int
    """The page that says so; 0 for a file's name."""
    start: int
    """The place of the name there, in characters of the document; 0 to 0 where it is not in the text."""
    end: int
    share: float = 1.0
    """The share of the paper's passages that have it, 0 to 1."""
    indexed: tuple[int, ...] = ()
    """How many of the paper's passages each of its terms (`tokenize`) is in, as the keyword index counts them."""
    detail: tuple[str, ...] = ()
    """Of authors: the second author's family name, where there are two, or nothing; then the years."""


def words_of(text: str) -> list[str]:
    """The words of a text, case and accents aside."""
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return _WORD.findall(text.casefold())


def key_of(name: str) -> str:
    """What a name is looked up by: blanks, hyphens and case aside ("GPT-2": gpt2)."""
    return "".join(words_of(name))


def is_shaped(name: str) -> bool:
    """Whether a word of a name is written as only names are: capitals after its first letter, or capital and digit."""
    return any(
        any(letter.isupper() for letter in part[1:]) or (part[:1].isupper() and any(c.isdigit() for c in part))
        for part in _PARTS.split(name)
    )
