"""What a question asks for that the papers it is about do not have: names, numbers and other words.

A question whose words are borrowed from a paper finds that paper's passages whether they answer it or not. What tells
is whether the thing asked for is there: "the LC50 of fruits" where the paper speaks of roots. So each thing of the
question is looked for in the papers that it is about, and a number in the passages found of them.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ragscience.core.records import Hit
from ragscience.core.tokenizing import STOP_WORDS, tokenize
from ragscience.search.first_pass import asked_terms
from ragscience.search.reranking import WordPresence

_WORD = re.compile(r"\d++(?:[.,]\d++)*+(?![^\W_])|[^\W_]++(?:[-'’.][^\W_]++)*+")
_SHORTEST_STEM = 3
"""Letters of a term that may be a part of another word."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A word of a question that its answer must be about."""

    text: str
    kind: str
    """ "name" (with a capital or a letter beside a digit), "number" or "word"."""
    is_there: bool
    """Whether it occurs in the papers, a number in the passages found of them."""


def things_of(
    question: str,
    subject: Collection[tuple[int, int]],
    presence: WordPresence,
    paper_ids: Sequence[int],
    hits: Sequence[Hit],
) -> tuple[Thing, ...]:
    """The names, numbers and other content words of the question, each once, none within the spans of `subject`.

    They are looked for in the papers `paper_ids` and in `hits`, passages of them.
    """
    near = frozenset(term for hit in hits for term in tokenize(hit.chunk.searched))
    words: dict[str, tuple[str, str, list[str]]] = {}
    for match in _WORD.finditer(question):
        word, terms = match[0].removesuffix("'s").removesuffix("’s"), list(dict.fromkeys(tokenize(match[0])))
        has_digit, has_letter = (any(map(kind, word)) for kind in (str.isdigit, str.isalpha))
        is_name = any(map(str.isupper, word[match.start() == 0 :])) or (has_digit and has_letter)
        kind = "name" if is_name else "number" if has_digit else "word"
        is_of_subject = any(start <= match.start() and match.end() <= end for start, end in subject)
        is_general = kind == "word" and (len(word) < 3 or not asked_terms(word))
        if terms and not (is_of_subject or is_general or match[0].casefold() in STOP_WORDS):
            words.setdefault(word.casefold(), (word, kind, terms))
    counts = presence.passages_with([term for _, _, terms in words.values() for term in terms], paper_ids)

    def is_there(word: str, kind: str, terms: Sequence[str]) -> bool:
        """A compound is there as one word, or, without a digit, in its parts."""
        held = [term in near if kind == "number" else bool(counts[term]) or _has(near, term) for term in terms]
        return held[0] or (len(held) > 1 and not any(map(str.isdigit, word)) and all(held[1:]))

    return tuple(Thing(word, kind, is_there(word, kind, terms)) for word, kind, terms in words.values())


def missing_sentences(things: Sequence[Thing], files: Sequence[str]) -> tuple[str, ...]:
    """That `things` do not occur, for the user; `files` are the papers that were looked through."""
    marked = [f"‘{thing.text}’" for thing in things]
    said = " and ".join([", ".join(marked[:-1]), marked[-1]]) if len(marked) > 1 else "".join(marked)
    return (f"{said} {'do' if len(things) > 1 else 'does'} not occur in {' or '.join(files)}.",) if things else ()


def _has(text: Collection[str], term: str) -> bool:
    """Whether the text has the term, a compound with it ("CO2": "CO2eq"), or another form ("eradicated")."""
    if term in text or len(term) < _SHORTEST_STEM:
        return term in text
    stem = term[: max(5, len(term) - 3)] if len(term) > 5 and term.isalpha() else term
    return any(other.startswith(stem) or other.endswith(term) for other in text)
