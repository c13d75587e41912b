"""How surely a name at a place of a text means its paper, by how it is written and what stands beside it."""

from __future__ import annotations

import re

from ragscience.search.names_of_paper import AUTHORS, PaperName, is_shaped, key_of

__all__ = ["NOUN", "as_author", "case_factor", "of_file"]

IN_SMALL_LETTERS, ALL_SMALL = 0.6, 0.8
"""Factors of a name without its capitals, in a text that has others ("a raft") and in one without any."""
ALONE, ALONE_OF_ONE = 0.5, 0.8
"""Strength of a family name without "et al.", a second author or a year: of several authors, of a single one."""
OF_FILE = 0.7, 0.0
"""Strengths of a file's name of one word: a word of its own, and one that is a common word written as such ("hits")."""
NOUN = r"(?:papers?|articles?|stud(?:y|ies)|preprints?|manuscripts?|publications?)"
_PAPER_AFTER = re.compile(rf"[’']?s?\s++(?:[a-z]+\s++)?{NOUN}\b|\s++(?:algorithm|method|model|authors?)\b")
_BESIDE_AUTHOR = re.compile(
    r"(?:[’']s)?+,?+ ?+(et al\b\.?+|and (?:others|colleagues|co-?authors)|(?:and|&) ([^\W\d_][\w’'-]{1,30}+))?+"
    r"(?:[’']s)?+,?+ ?+[(\[]?+((?:19|20)\d\d\b)?+"
)


def as_author(name: PaperName, text: str, start: int, end: int) -> tuple[float, int]:
    """(strength, end) of a family name with the words beside it: who else, and the year."""
    second, *years = name.detail
    beside = _BESIDE_AUTHOR.match(text, end)
    others, other, year = (beside[1], beside[2], beside[3]) if beside else (None, None, None)
    is_beside = bool(others or year or _PAPER_AFTER.match(text, end))
    if not (text[start].isupper() or is_beside) or (year and years and year not in years):
        return 0.0, end
    is_second = bool(other and second) and key_of(other or "") == key_of(second)
    if beside is None or not (is_second or (others and not other) or (year and not others)):
        return (ALONE if name.how == AUTHORS[0] else ALONE_OF_ONE), end
    return name.base if years or not year else ALONE, len(text[: beside.end()].rstrip(" ,(["))


def of_file(name: str, text: str, start: int, end: int) -> float:
    """The strength of a file's name of one word: a common word must be written as a name or go before "paper"."""
    from ragscience.models.minilm import common_words

    is_name = not text[start:end].islower() or name.casefold() not in common_words()
    return OF_FILE[not (is_name or _PAPER_AFTER.match(text, end))]


def case_factor(name: str, text: str, start: int, end: int) -> float:
    """The factor of a name that is written in small letters though its own are not."""
    if text[start:end] != text[start:end].lower() or name == name.lower():
        return 1.0
    long = is_shaped(name) and len(name) > 3
    has_capitals = any(letter.isupper() for letter in text[1:])
    return 1.0 if long else IN_SMALL_LETTERS if has_capitals else ALL_SMALL
