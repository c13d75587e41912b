"""How surely a name at a place of a text means its paper.

By how it is written there, by what stands beside it, and by who else uses the word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import tokenize
from ragscience.library.store import term_counts
from ragscience.search.names_of_paper import AUTHORS, PaperName, is_shaped, key_of

if TYPE_CHECKING:
    from ragscience.library.store import Store

SURELY_OWN = 3.0
"""A word so many times as frequent in a paper as elsewhere is its own; one as frequent elsewhere is nobody's."""
LONG = 5
"""Words of a title that names its paper whatever they are."""
NOT_OWNED, OWNED = 0.25, 0.5
"""The share of a word's passages that are the paper's own: up to which it is not its name, and from which on it is."""
FEWEST = 3
"""Passages of a paper with a name from which on its frequency there tells something."""
STATED_AT_LEAST = 0.5
"""The least factor of usage of a name of several words that the paper states, or that is its whole title."""
SHAPED_AT_LEAST = 0.8
"""The least factor of usage of a name that is written as only names are: others use it because they mean the paper."""
RARE, FEWEST_PASSAGES = 0.02, 500
"""A family name that a larger share of the passages has is a common word: "Page". A small library counts as larger."""
IN_SMALL_LETTERS, ALL_SMALL = 0.6, 0.8
"""Factors of a name without its capitals, in a text that has others ("a raft") and in one without any."""
ALONE, ALONE_OF_ONE = 0.5, 0.8
"""Strength of a family name without "et al.", a second author or a year: of several authors, of a single one."""
OF_FILE = 0.7
"""Strength of a file's name of one word, unless it is a common word that is written as such ("hits")."""
NOUN = r"(?:papers?|articles?|stud(?:y|ies)|preprints?|manuscripts?|publications?)"
_PAPER_AFTER = re.compile(rf"[’']?s?\s++(?:[a-z]+\s++)?{NOUN}\b|\s++(?:algorithm|method|model|authors?)\b")
_BESIDE_AUTHOR = re.compile(
    r"(?:[’']s)?+,?+ ?+(et al\b\.?+|and (?:others|colleagues|co-?authors)|(?:and|&) ([^\W\d_][\w’'-]{1,30}+))?+"
    r"(?:[’']s)?+,?+ ?+[(\[]?+((?:19|20)\d\d\b)?+"
)


class Usage:
    """How often the passages of a library have the words of names."""

    def __init__(self) -> None:
        self._frequencies: dict[str, int] = {}
        self._passages = 0

    def count(self, terms: set[str], library: Store | None) -> None:
        """Look up how many passages of the library have each term; None: it is no longer open."""
        if new := [term for term in terms if term not in self._frequencies]:
            if library is None:
                raise RuntimeError("the library of these names is no longer open")
            counts = term_counts(library, new, (), None)
            self._passages = counts.passages
            self._frequencies |= zip(counts.terms, counts.frequencies.tolist(), strict=True)

    def of(self, name: PaperName, passages: int) -> float:
        """0 to 1: how far its use makes a name that of its paper, which has so many passages.

        A family name is one where few passages have it, and a long title always. What a paper says that it introduces
        is the more its own the more frequent it is there than elsewhere; of all else, most passages that have its most
        characteristic word must be the paper's own.
        """
        words, is_introduced = len(name.name.split()), name.how == "introduced"
        if name.how in AUTHORS:
            having = max((self._frequencies[term] for term in tokenize(name.name)), default=self._passages)
            return 1.0 if having <= RARE * max(self._passages, FEWEST_PASSAGES) else 0.0
        if words >= LONG and name.how in ("title", "short title"):
            return 1.0
        used = list(zip(dict.fromkeys(tokenize(name.name)), name.indexed, strict=True))
        if not used:
            return 0.0
        if is_introduced and words == 1 and used[0][1] >= FEWEST:
            others = min(self._frequencies[term] - own for term, own in used)
            elsewhere = max(others, 0) / max(self._passages - passages, 1)
            usage = (name.share / elsewhere - 1) / (SURELY_OWN - 1) if elsewhere else 1.0
            return max(SHAPED_AT_LEAST if is_shaped(name.name) else 0.0, min(1.0, usage))
        owned = max(own / max(self._frequencies[term], own, 1) for term, own in used)
        least = STATED_AT_LEAST if is_introduced or (name.how == "title" and words > 1) else 0.0
        return max(least, min(1.0, (owned - NOT_OWNED) / (OWNED - NOT_OWNED)))


def strength_of(name: PaperName, usage: float, text: str, start: int, end: int) -> tuple[float, int]:
    """(strength, end) of a name at `text[start:end]`: 0 to 1, and where the words that belong to it end."""
    if name.how in AUTHORS:
        strength, stop = _as_author(name, text, start, end)
        return strength * (usage if stop == end else 1.0), stop
    if name.how == "file" and " " not in name.name:
        return (max(OF_FILE, name.base * usage) if _is_no_word(name.name, text, start, end) else 0.0), end
    return name.base * usage * _case_factor(name.name, text, start, end), end


def _as_author(name: PaperName, text: str, start: int, end: int) -> tuple[float, int]:
    """A family name with the words beside it: who else, and the year."""
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


def _is_no_word(name: str, text: str, start: int, end: int) -> bool:
    """Whether a file's name of one word is no common word, or is written as a name, or goes before "paper"."""
    from ragscience.models.minilm import common_words

    is_name = not text[start:end].islower() or name.casefold() not in common_words()
    return is_name or _PAPER_AFTER.match(text, end) is not None


def _case_factor(name: str, text: str, start: int, end: int) -> float:
    """The factor of a name that is written in small letters though its own are not."""
    if text[start:end] != text[start:end].lower() or name == name.lower() or (is_shaped(name) and len(name) > 3):
        return 1.0
    return IN_SMALL_LETTERS if any(letter.isupper() for letter in text[1:]) else ALL_SMALL
