"""A question in another language, as English papers can be searched for it: by names and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.tokenizing import (
    FUNCTION_WORDS,
    STOP_WORDS,
    english_question_word,
    is_unspaced,
    language_of,
    tokenize,
)
from ragscience.library.store import term_counts

if TYPE_CHECKING:
    from ragscience.library.store import Store


_WORD = re.compile(r"[^\W_]++(?:[-.,'’·][^\W_]++)*+")
_JOINED = re.compile(r"['’-]")


@dataclass(frozen=True, slots=True)
class ReadableQuestion:
    """What the embedded model can use of a question."""

    searched: str
    """What is searched for."""
    asked: str
    """The same, with what it asks for in English ("how many"), by which quotes are chosen."""
    warning: str = ""
    """What to say of it; empty where the question is as it was."""


def readable(question: str, library: Store) -> ReadableQuestion:
    """The question; of one in another language the words that the library has: names, numbers, words of both languages.

    That is for a library of the embedded model, which reads English. Function words of the question's language go, and
    accents where the papers have the word without them. In a script without spaces the stretches of characters stay
    all of whose pairs occur. A question of which nothing occurs is searched as it is.
    """
    embedder = library.about.embedder
    language = language_of(question) if embedder is not None and embedder.provider == "embedded" else ""
    if not language:
        return ReadableQuestion(question, question)
    words = " ".join(_known_words(question, FUNCTION_WORDS.get(language, frozenset()), library))
    warning = (
        f"The question looks {language}; the embedded model reads English, so it was searched by names and numbers. "
        "Ask in English, or use a multilingual embedding model in Ollama."
    )
    if all(word.casefold() in STOP_WORDS for word in words.split()):
        return ReadableQuestion(question, question, warning)
    return ReadableQuestion(words, f"{english_question_word(question)} {words}".strip(), warning)


def _known_words(question: str, dropped: frozenset[str], library: Store) -> list[str]:
    words = [part for word in _WORD.findall(question) for part in _parts(word, dropped)]
    plain = [_without_accents(word) for word in words]
    known = _known(library, [*words, *plain])
    kept: list[str] = []
    for word, bare in zip(words, plain, strict=True):
        if is_unspaced(word):
            kept += _stretches(word, known)
        else:
            kept += [one for one in (bare, word) if one.casefold() in STOP_WORDS or known.intersection(tokenize(one))][
                :1
            ]
    return list(dict.fromkeys(kept))


def _parts(word: str, dropped: frozenset[str]) -> list[str]:
    """The word without function words that are joined to it ("l'index": index); runs of unspaced scripts apart."""
    parts = ["".join(run) for _, run in groupby(word, is_unspaced)]
    if len(parts) == 1 and not is_unspaced(word):
        pieces = _JOINED.split(word)
        content = [piece for piece in pieces if piece.casefold() not in dropped]
        parts = [word] if len(content) == len(pieces) else content
    return [part for part in (part.strip("-.,'’·") for part in parts) if part]


def _without_accents(word: str) -> str:
    """The word in plain letters ("chaîne": chaine); one in another script than Latin as it is."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", word) if not unicodedata.combining(one))
    return bare if bare.isascii() else word


def _known(library: Store, words: Sequence[str]) -> frozenset[str]:
    """The terms of the words that any passage has."""
    terms = list(dict.fromkeys(term for word in words for term in tokenize(word)))
    counts = term_counts(library, terms, np.zeros(0, np.int64), None)
    return frozenset(term for term, number in zip(counts.terms, counts.frequencies.tolist(), strict=True) if number)


def _stretches(run: str, known: frozenset[str]) -> list[str]:
    """The parts of a run of characters all of whose pairs are known."""
    pairs = range(len(run) - 1)
    found = [(fits, list(group)) for fits, group in groupby(pairs, lambda at: run[at : at + 2] in known)]
    return [run[group[0] : group[-1] + 2] for fits, group in found if fits]
