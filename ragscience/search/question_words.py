"""What a question is searched for as: misspelt words corrected; of another language, names, numbers and known words.

Misspelt is what neither a dictionary of English nor a passage has; the library's own words are meant.

The keyword index has stems, not words as they are spelled. So the words one edit away from the one that was written are
made and looked up (Norvig 2007, "How to Write a Spelling Corrector"), a few hundred for a word, however large the
library is.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any

from ragscience.core.tokenizing import (
    FUNCTION_WORDS,
    STOP_WORDS,
    english_question_word,
    is_unspaced,
    language_of,
    tokenize,
)
from ragscience.library.store import Store

SHORTEST = 5
"""Letters of a word that is corrected: shorter ones, and names of letters and digits, are too near to others."""
LONGEST = 24
FEWEST_PASSAGES = 2
"""That have the word: what one passage has may be a misspelling itself."""
MOST_WORDS = 4
"""Of a question, that are looked for."""
_LOOKED_INTO = 8
"""Passages in which the word must stand as it is spelled."""
_TRIED = 3
"""Candidates whose passages are read."""

_WORD = re.compile(r"(?<![\w’'.+/-])[A-Za-z]+(?![\w’'+/-])")
_VOWELS = "aeiou"
_KEYS = "qwertyuiop asdfghjkl zxcvbnm"


@dataclass(frozen=True, slots=True)
class Correction:
    """A word of a question, `question[start:end]`, and what was meant by it."""

    written: str
    meant: str
    start: int
    end: int

    @property
    def note(self) -> str:
        """For the user, a sentence."""
        return f"No paper has ‘{self.written}’. Did you mean ‘{self.meant}’? That was searched for."


def corrected(question: str, library: Store) -> tuple[str, tuple[Correction, ...]]:
    """The question with its misspelt words corrected, and what was corrected.

    A word is misspelt where no passage has its stem and the dictionary does not have it. It is taken for the word one
    edit away that most passages have; its first and last letter stay, and no letter becomes another but a vowel another
    vowel, or a key its neighbour: "statin" is not "static". Numbers, short words and what has digits, hyphens or
    capitals in it stay ("FlashAttention"). A question in another language stays as it is.
    """
    if language_of(question):
        return question, ()
    written = [match for match in _WORD.finditer(question) if SHORTEST <= len(match[0]) <= LONGEST]
    passages = _passages([match[0] for match in written], library) if written else []
    found: list[Correction] = []
    for match, having in zip(written, passages, strict=True):
        is_known = having or not match[0][1:].islower() or match[0].lower() in _dictionary()
        if len(found) < MOST_WORDS and not is_known and (meant := _meant(match[0], library)):
            found.append(Correction(match[0], meant, *match.span()))
    for each in reversed(found):
        question = question[: each.start] + each.meant + question[each.end :]
    return question, tuple(found)


@cache
def _dictionary() -> Any:
    from spellchecker import SpellChecker

    return SpellChecker(language="en", distance=1)


def _one_edit_away(word: str) -> set[str]:
    """The strings one edit away that have the first and the last letter of the word, and no unlikely letter."""
    variants: set[str] = _dictionary().edit_distance_1(word)
    return {each for each in variants if (each[:1], each[-1:]) == (word[0], word[-1]) and _is_likely(word, each)}


def _is_likely(word: str, other: str) -> bool:
    """Whether a letter that became another is a vowel for a vowel, or a key for its neighbour."""
    changed = [a + b for a, b in zip(word, other, strict=False) if a != b]
    (pair, *more) = changed or [""]
    is_replaced = len(word) == len(other) and not more
    return not is_replaced or set(pair) <= set(_VOWELS) or pair in _KEYS or pair[::-1] in _KEYS


def _passages(words: Sequence[str], library: Store) -> list[int]:
    """How many passages have the stem of each word; 0 for a stop word."""
    stems = [next(iter(tokenize(word)), "") for word in words]
    known = library.keywords.frequencies(filter(None, stems)).having
    return [known.get(stem, 0) for stem in stems]


def _meant(word: str, library: Store) -> str:
    """The likeliest word, which a passage has as it is spelled, with the same first letter; empty without one."""
    variants = sorted(_one_edit_away(word.lower()), key=lambda each: (each not in _dictionary(), each))
    of_stem = {next(iter(tokenize(each)), ""): each for each in reversed(variants)}
    passages = zip(_passages([*of_stem.values()], library), of_stem.values(), strict=True) if variants else ()
    likely = sorted(passages, key=lambda each: -each[0])[:_TRIED]
    for meant in (each for having, each in likely if having >= FEWEST_PASSAGES):
        ids, _ = library.keywords.search(meant, _LOOKED_INTO, None)
        if any(meant in map(str.lower, _WORD.findall(chunk.text)) for chunk in library.chunks(ids.tolist())):
            return word[0] + meant[1:]
    return ""


_WRITTEN = re.compile(r"[^\W_]++(?:[-.,'’·][^\W_]++)*+")
_JOINING_MARK = re.compile(r"['’-]")


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
    words = [part for word in _WRITTEN.findall(question) for part in _parts(word, dropped)]
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
        pieces = _JOINING_MARK.split(word)
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
    return frozenset(term for term, number in library.keywords.frequencies(terms).having.items() if number)


def _stretches(run: str, known: frozenset[str]) -> list[str]:
    """The parts of a run of characters all of whose pairs are known."""
    pairs = range(len(run) - 1)
    found = [(fits, list(group)) for fits, group in groupby(pairs, lambda at: run[at : at + 2] in known)]
    return [run[group[0] : group[-1] + 2] for fits, group in found if fits]
