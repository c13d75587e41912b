"""A question in another language as an English model and English papers can be searched for it: names and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING

import numpy as np

from ragscience.text.cognates import cognates
from ragscience.text.question_language import FUNCTION_WORDS, language_of
from ragscience.text.tokenizing import is_unspaced, tokenize

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = ["known_words", "reads_english"]

_WORD = re.compile(r"[^\W_]++(?:[-.,'’·][^\W_]++)*+")
_JOINED = re.compile(r"['’-]")
_LEAST_COGNATE = 5
"""Letters of a word whose English relative is looked for."""


def reads_english(question: str) -> str:
    """What to say of a question that the embedded model does not understand; empty for English."""
    language = language_of(question)
    return language and (
        f"The question looks {language}; the embedded model reads English, so it was searched by names and numbers. "
        "Ask in English, or use a multilingual embedding model in Ollama."
    )


def known_words(question: str, library: Library) -> str:
    """The words of a question in another language that occur in the library: names, numbers, cognates.

    Function words of its language go, accents are stripped where the papers have the word without, and a word that the
    papers lack becomes its English relative that they have ("Normalisierung": "normalization"). In a script without
    spaces it is the stretches of characters whose pairs occur. English is unchanged, and so is a question of which
    nothing occurs.
    """
    language = language_of(question)
    if not language:
        return question
    dropped = FUNCTION_WORDS.get(language, frozenset())
    words = [part for word in _WORD.findall(question) for part in _parts(word, dropped)]
    relatives = {word: list(cognates(word)) for word in words if len(word) >= _LEAST_COGNATE and word.isalpha()}
    known = _known(library, [*words, *chain.from_iterable(relatives.values())])
    kept: list[str] = []
    for word in words:
        if is_unspaced(word):
            kept += _stretches(word, known)
        elif known.intersection(tokenize(word)):
            kept.append(word)
        else:
            kept += [one for one in relatives.get(word, ()) if known.intersection(tokenize(one))][:1]
    return " ".join(dict.fromkeys(kept)) or question


def _parts(word: str, dropped: frozenset[str]) -> list[str]:
    """The word without function words that are joined to it ("l'index": index); runs of unspaced scripts apart."""
    parts = ["".join(run) for _, run in groupby(word, is_unspaced)]
    if len(parts) == 1 and not is_unspaced(word):
        pieces = _JOINED.split(word)
        content = [piece for piece in pieces if piece.casefold() not in dropped]
        parts = [word] if len(content) == len(pieces) else content
    return [part for part in (part.strip("-.,'’·") for part in parts) if part]


def _known(library: Library, words: Sequence[str]) -> frozenset[str]:
    """The terms of the words that any passage has."""
    terms = list(dict.fromkeys(term for word in words for term in tokenize(word)))
    counts = library.term_counts(terms, np.zeros(0, np.int64), None)
    return frozenset(term for term, number in zip(counts.terms, counts.frequencies.tolist(), strict=True) if number)


def _stretches(run: str, known: frozenset[str]) -> list[str]:
    """The parts of a run of characters all of whose pairs are known."""
    pairs = range(len(run) - 1)
    found = [(fits, list(group)) for fits, group in groupby(pairs, lambda at: run[at : at + 2] in known)]
    return [run[group[0] : group[-1] + 2] for fits, group in found if fits]
