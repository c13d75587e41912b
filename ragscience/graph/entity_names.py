"""Names of entities: when two of them are the same."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["LONGEST_NAME", "canonical", "clean", "folded", "matched"]

LONGEST_NAME = 80
"""Characters: what is longer is a sentence, not a name."""

_DASHES = re.compile(r"[\u2010-\u2015\u2212_/-]+")
_QUOTES = re.compile(r"[\"'`\u2018\u2019\u201c\u201d]")
_BLANKS = re.compile(r"\s+")
_BEFORE_A_NUMBER = re.compile(r"(?<=[^\W\d]) (?=\d)")
_EDGES = " \t.,;:()[]{}\"'`“”‘’*"
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_NO_PLURAL = ("ss", "us", "is", "as", "os")
_IRREGULAR = {
    **{f"{word}s": word for word in ("gpu", "cpu", "tpu", "gru", "relu", "api", "area", "formula", "lemma", "schema")},
    **{f"{word}s": word for word in ("cache", "camera", "idea", "movie", "photo", "ratio", "scenario", "video")},
    **{word: word for word in ("news", "series", "species")},
    "analyses": "analysis",
    "biases": "bias",
    "corpora": "corpus",
    "hypotheses": "hypothesis",
    "indices": "index",
    "matrices": "matrix",
    "vertices": "vertex",
}


def clean(name: str) -> str:
    """The name on one line, without blanks and punctuation around it; a bracket that belongs to it stays."""
    whole = _BLANKS.sub(" ", unicodedata.normalize("NFKC", name))
    kept = whole.strip(_EDGES)
    for opening, closing in _BRACKETS:
        still_open = kept.count(opening) - kept.count(closing)
        if still_open == 1 and f"{kept}{closing}" in whole:
            kept += closing
        elif still_open == -1 and f"{opening}{kept}" in whole:
            kept = opening + kept
    return kept


def folded(name: str) -> str:
    """The name as it is compared where plurals and hyphens matter: NFKC, case-folded, blanks collapsed."""
    lowered = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", lowered).casefold().split())


def canonical(name: str) -> str:
    """The name as mentions are merged by; empty for a name of quotation marks and hyphens alone.

    Folded, hyphens as blanks, no quotation marks, the last word singular, no blank between a letter and a number:
    "GPT-3", "gpt 3" and "GPT3" are one name.
    """
    words = _QUOTES.sub("", _DASHES.sub(" ", folded(name))).split()
    if words:
        words[-1] = _singular(words[-1])
    return _BEFORE_A_NUMBER.sub("", " ".join(words))


def matched(name: str) -> str:
    """`canonical`, or `folded` where nothing is left of that."""
    return canonical(name) or folded(name)


def _singular(word: str) -> str:
    """English plurals by their ending; a word of up to 3 letters is left as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.endswith("s") or word.endswith(_NO_PLURAL):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1]
