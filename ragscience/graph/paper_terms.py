"""The names and terms of one paper with their types; its passages are then searched for them.

A name ("BERT") counts if the paper shows its type often enough; a term ("residual connection") if it ends in a
noun of known kind and occurs in enough sentences; a known name counts wherever it occurs. Frequencies
are of the whole paper, without occurrences inside longer terms as in C-value (K. Frantzi, S. Ananiadou, H. Mima,
"Automatic recognition of multi-word terms", Int. J. on Digital Libraries 3, 2000, section 3).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragscience.core.records import StoredChunk
from ragscience.graph.graph_records import LONGEST_NAME, canonical
from ragscience.graph.lexicon import (
    GENERIC_HEADS,
    HARDWARE,
    HEADS,
    IN_LOWER_CASE,
    KNOWN,
    NOUN_ENDINGS,
    ORGANISATIONS,
    PREFIXES,
    TASK_HEADS,
    WEAK,
    WORDS_TOO,
)
from ragscience.graph.passage_words import read_words, sentences_of, short_forms
from ragscience.graph.term_counts import Counts, Phrase, count_names, count_phrases, count_table_heads, count_words

__all__ = ["PaperTerms", "Term", "known_kind", "paper_terms"]

_PARTS = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")

OFTEN_BY_HEAD = 2
"""Minimum number of sentences with a term whose head noun has a known type."""
OFTEN_BY_WEIGHT = 3.0
"""Minimum C-value of a concept that only its ending identifies."""
OFTEN_NAMED = 4
ENOUGH_VOTES = 2.0
CLEAR = 1.5
"""How many times the votes of the next type a name's type must have."""
_BODIES = ("center ", "centre ", "institute ", "department ", "university ", "association ", "society ", "ministry ")
_PRIORITY = ("METHOD", "DATASET", "METRIC", "ALGORITHM", "CONCEPT", "TASK", "ORGANISATION", "PERSON")
_KNOWN_BEGINNINGS = frozenset(name.split()[0] for name in KNOWN)


@dataclass(frozen=True, slots=True)
class Term:
    """The meaning of a name in a paper."""

    kind: str
    confidence: float
    cased: bool
    """Whether it counts only when capitalised."""


@dataclass(frozen=True, slots=True)
class PaperTerms:
    """The terms of a paper by canonical name, and its acronyms."""

    terms: dict[str, Term]
    aliases: frozenset[tuple[str, str]]
    types: frozenset[str]
    """The terms to search for."""
    beginnings: frozenset[str]
    """First words of the terms: where a term may begin."""


def paper_terms(chunks: Sequence[StoredChunk], title: str, types: frozenset[str]) -> PaperTerms:
    """The terms, of these types, of the paper that consists of `chunks`."""
    sentences = [words for chunk in chunks if chunk.kind != "reference" for words in sentences_of(chunk.text)]
    counts = Counts()
    for words in sentences:
        count_words(words, counts)
    for words in (*sentences, read_words(title, "title")):
        if words.kind != "row":
            count_names(words, counts)
            count_phrases(words, counts)
        counts.aliases.update(short_forms(words.text))
    count_table_heads(chunks, counts)
    terms = dict(_terms(counts, types))
    aliases = frozenset(
        pair for pair in counts.aliases if all(canonical(name) in terms or canonical(name) in KNOWN for name in pair)
    )
    return PaperTerms(terms, aliases, types, _KNOWN_BEGINNINGS | {name.split()[0] for name in terms})


def known_kind(name: str, surface: str, *, begins: bool) -> str:
    """The type of a known canonical name, written as `surface`; empty if unknown.

    `begins`: the name begins a sentence, so that its capital is not evidence.
    """
    kind = KNOWN.get(name, "")
    if not kind or " " in name or kind == "CONCEPT" or name in IN_LOWER_CASE:
        return kind
    capitals = sum(letter.isupper() for letter in surface)
    if name in WORDS_TOO:
        return kind if capitals >= 2 or (capitals == 1 and any(c.isdigit() for c in surface[1:])) else ""
    return kind if capitals >= (2 if begins and surface.isalpha() else 1) else ""


def _terms(counts: Counts, types: frozenset[str]) -> Iterator[tuple[str, Term]]:
    """Names by their votes, terms by their head nouns, acronyms by their long forms; the most confident wins."""
    found: dict[str, Term] = {}
    for phrase, kind, confidence in _by_head(counts, types):
        found[canonical(" ".join(phrase))] = Term(kind, confidence, cased=False)
    for name, count in counts.names.items():
        term = _named(name, count, counts)
        if term:
            found[name] = term
    for short, long in sorted(counts.aliases):
        kind = _kind_of_long(short, long, found, counts, types)
        if kind:
            found[canonical(long)] = Term(kind, 0.9, cased=False)
            found[canonical(short)] = Term(kind, 0.9, cased=True)
    for person, count in counts.people.items():
        if count >= OFTEN_BY_HEAD and "PERSON" in types:
            found[canonical(person)] = Term("PERSON", 0.8, cased=True)
    for name, term in found.items():
        if term.kind in types and name not in KNOWN and len(name) <= LONGEST_NAME:
            yield name, term


def _named(name: str, count: int, counts: Counts) -> Term | None:
    words = name.split()
    if any(word in HARDWARE for word in words):
        return None
    if any(word in ORGANISATIONS for word in words) or words[-1] in ("university", "institute", "inc"):
        return Term("ORGANISATION", 0.8, cased=True)
    if all(word.isalpha() and counts.lower[word] > 0.2 * counts.capital[word] for word in words):
        return None  # words that also occur in lower case: from a heading, or a sentence's beginning
    kind, votes = _voted(counts.votes.get(name, Counter()))
    known = _kind_of_beginning(name)
    if known:
        kind, votes = known, max(votes, ENOUGH_VOTES)
    shaped = name in counts.shaped
    if not kind or count < OFTEN_BY_HEAD + (not shaped) or votes < _needed(count, shaped=shaped):
        return None
    return Term(kind, min(0.95, 0.6 + 0.05 * votes), cased=True) if kind != "CONCEPT" else None


def _needed(count: int, *, shaped: bool) -> float:
    """The votes that a name needs: fewer if it is frequent, more if it is only capitalised."""
    if not shaped:
        return 2 * ENOUGH_VOTES
    return ENOUGH_VOTES if count < OFTEN_NAMED else ENOUGH_VOTES / 2


def _kind_of_beginning(name: str) -> str:
    """The type of the known name that a name begins with: "resnet 20", "bert large", "pascal voc2007"."""
    words = _PARTS.findall(name)
    for end in range(len(words) - 1, 0, -1):
        kind = KNOWN.get(canonical(" ".join(words[:end])), "")
        if kind:
            return kind if kind != "CONCEPT" else ""
    return ""


def _voted(votes: Counter[str]) -> tuple[str, float]:
    """The type with clearly most of the votes, and how many; ("", 0) if there is none."""
    order = sorted(votes, key=lambda kind: (-votes[kind], _PRIORITY.index(kind)))
    if not order or (len(order) > 1 and votes[order[0]] < CLEAR * votes[order[1]]):
        return "", 0.0
    return order[0], votes[order[0]]


def _kind_of_long(short: str, long: str, found: dict[str, Term], counts: Counts, types: frozenset[str]) -> str:
    """The type of an acronym: by its long form if known, by the paper's evidence on either, by the long form's head."""
    name, head = canonical(long), canonical(long).split()[-1]
    if name.startswith(_BODIES):
        return "ORGANISATION" if "ORGANISATION" in types else ""
    known = KNOWN.get(canonical(short)) or KNOWN.get(name) or GENERIC_HEADS.get(head)
    if known:
        return known
    kind, votes = _voted(counts.votes.get(canonical(short), Counter()) + counts.votes.get(name, Counter()))
    if head not in HEADS and kind == "METHOD" and votes > ENOUGH_VOTES:
        return kind
    kind = _kind_of_phrase(tuple(name.split()), types) or (found[name].kind if name in found else "")
    return kind or ("CONCEPT" if name.endswith(NOUN_ENDINGS) else "")


def _kind_of_phrase(phrase: Phrase, types: frozenset[str]) -> str:
    """By the longest known term at its end ("multitask gaussian process"), else by its last word."""
    for first in range(1, len(phrase) - 1):
        kind = KNOWN.get(canonical(" ".join(phrase[first:])))
        if kind:
            return kind
    if phrase[-1] in TASK_HEADS:
        return "TASK" if "TASK" in types else "CONCEPT"
    return HEADS.get(phrase[-1], "")


def _is_telling(phrase: Phrase, found: Iterable[str], counts: Counts) -> bool:
    """Whether a phrase is a term, not a name with a noun of its kind, nor a fragment."""
    *modifiers, head = phrase
    if head in modifiers or len(set(phrase)) < len(phrase):
        return False
    if head in GENERIC_HEADS or head == "system":
        if canonical(" ".join(modifiers)) in found:
            return False
        strong = sum(word not in WEAK for word in modifiers)
        if not strong or GENERIC_HEADS.get(head) == "DATASET":
            return False  # a data set has a name: "reading comprehension data sets" is not one
    before = counts.before.get(phrase)
    return not before or max(before.values()) < 0.6 * counts.phrases[phrase]


def _by_head(counts: Counts, types: frozenset[str]) -> Iterator[tuple[Phrase, str, float]]:
    """Phrases that qualify, each with its type and confidence; the longest first, each without nested occurrences."""
    phrases = counts.phrases
    for phrase, before in counts.before.items():
        word = min(before, key=lambda each: (-before[each], each))
        if word in PREFIXES and before[word] >= 0.6 * phrases[phrase]:
            phrases[word, *phrase] = before[word]
    left = Counter(phrases)
    around: dict[Phrase, set[Phrase]] = defaultdict(set)
    names = {*counts.names, *KNOWN}
    for phrase in sorted(phrases, key=lambda each: (-len(each), each)):
        count = left[phrase]
        kind = _kind_of_phrase(phrase, types)
        # The C-value: frequency less the mean frequency of the terms around it, by the length in words.
        longer = [phrases[each] for each in around[phrase]]
        weight = math.log2(len(phrase)) * (phrases[phrase] - (sum(longer) / len(longer) if longer else 0))
        enough = count >= OFTEN_BY_HEAD if kind else min(count, weight) >= OFTEN_BY_WEIGHT
        if enough and _is_telling(phrase, names, counts):
            yield phrase, kind or "CONCEPT", 0.8 if kind else 0.6
            for first in range(1, len(phrase) - 1):
                left[phrase[first:]] -= count
                around[phrase[first:]].add(phrase)
