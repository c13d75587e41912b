"""Names of entities: when two of them are the same."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["LONGEST_NAME", "canonical", "clean", "folded"]

LONGEST_NAME = 80
"""Characters: what is longer is a sentence, not a name."""

_DASHES = re.compile(r"[\u2010-\u2015\u2212_/-]+")
_QUOTES = re.compile(r"[\"'`\u2018\u2019\u201c\u201d]")
_BLANKS = re.compile(r"\s+")
_NO_PLURAL = ("ss", "us", "is", "as", "os")


def clean(name: str) -> str:
    """The name on one line, without blanks and punctuation around it."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", name)).strip(" \t.,;:()[]{}\"'`“”‘’*")


def folded(name: str) -> str:
    """The name as it is compared where plurals and hyphens matter: NFKC, case-folded, blanks collapsed."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", name).casefold()).strip()


def canonical(name: str) -> str:
    """The name as mentions are merged by: folded, hyphens as blanks, no quotation marks, the last word singular."""
    words = _QUOTES.sub("", _DASHES.sub(" ", folded(name))).split()
    if words:
        words[-1] = _singular(words[-1])
    return " ".join(words)


def _singular(word: str) -> str:
    """English plurals by their ending; a word of up to 3 letters is left as it is."""
    if len(word) <= 3 or not word.endswith("s") or word.endswith(_NO_PLURAL):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]
