"""Entities and relations of a passage without an LLM: the paper's terms in it, and relations from its sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from ragscience.core.records import StoredChunk
from ragscience.graph.graph_records import CO_OCCURS, Extracted, Mention, Triple, canonical, clean
from ragscience.graph.lexicon import TAILS, TOGETHER
from ragscience.graph.paper_terms import PaperTerms, known_kind
from ragscience.graph.passage_words import Words, sentences_of, short_forms
from ragscience.graph.relation_patterns import Place, relations
from ragscience.graph.term_counts import LONGEST_TERM

__all__ = ["VERSION", "extract"]

VERSION = "2"
"""Version of the rules: passages read by an older version are read again."""
SURE = 0.9
"""Confidence of a known name."""
TOGETHER_CONFIDENCE = 0.2
MOST_TOGETHER = 12
"""Maximum co-occurring pairs per passage."""
CROWDED = 7
"""Entities in a sentence from which co-occurrence is not counted: a list."""


@dataclass(frozen=True, slots=True)
class _Named:
    """An entity in a sentence: words `start` to `end` (exclusive)."""

    start: int
    end: int
    name: str
    kind: str
    confidence: float


_DASH = re.compile(r"[-‐‑–/]")
_Key = tuple[str, str]
"""(type, canonical name)."""


def extract(chunk: StoredChunk, terms: PaperTerms) -> Extracted:
    """The entities and relations of a passage; `terms` are those of its whole paper. Deterministic."""
    surfaces: dict[_Key, Counter[str]] = {}
    sure: dict[_Key, float] = {}
    stated_triples: dict[tuple[_Key, str, _Key], float] = {}
    co_occurring: dict[tuple[_Key, _Key], None] = {}
    aliases: list[tuple[str, str]] = []
    for words in sentences_of(chunk.text):
        named = list(_named(words, terms))
        for one in named:
            surfaces.setdefault(_key(one), Counter())[one.name] += 1
            sure[_key(one)] = max(sure.get(_key(one), 0.0), one.confidence)
        stated = [pair for pair in short_forms(words.text) if pair in terms.aliases]
        aliases += stated
        if words.kind != "row":
            for triple, confidence in _relations(words, named):
                stated_triples[triple] = max(stated_triples.get(triple, 0.0), confidence)
            co_occurring.update(dict.fromkeys(_together(named, stated)))
    names = {key: min(each, key=lambda name: (-each[name], name)) for key, each in surfaces.items()}
    related = {frozenset((source, target)) for source, _, target in stated_triples}
    weak = [pair for pair in co_occurring if frozenset(pair) not in related][:MOST_TOGETHER]
    triples = [_triple(names, *triple, confidence) for triple, confidence in sorted(stated_triples.items())]
    triples += [_triple(names, one, CO_OCCURS, other, TOGETHER_CONFIDENCE) for one, other in sorted(weak)]
    mentions = [Mention(names[key], key[0], surfaces[key].total(), round(sure[key], 3)) for key in sorted(surfaces)]
    return Extracted(chunk.chunk_id, tuple(mentions), tuple(triples), tuple(sorted(set(aliases))))


def _key(named: _Named) -> _Key:
    return named.kind, canonical(named.name)


def _triple(names: dict[_Key, str], source: _Key, relation: str, target: _Key, confidence: float) -> Triple:
    return Triple(names[source], source[0], relation, names[target], target[0], confidence)


def _named(words: Words, terms: PaperTerms) -> Iterator[_Named]:
    """The terms of a sentence from left to right, the longest first at each word."""
    at = 0
    while at < len(words.words):
        if not terms.beginnings.intersection(_firsts(words.lower[at])):
            at += 1
            continue
        for end in range(min(at + LONGEST_TERM, len(words.words)), at, -1):
            found = _term_at(words, at, end, terms)
            if found:
                yield found
                at = end
                break
        else:
            at += 1


@lru_cache(maxsize=1 << 15)
def _firsts(word: str) -> frozenset[str]:
    """The words that a canonical name beginning with `word` may begin with: all of it, or its part before a hyphen."""
    own = canonical(word)
    return frozenset({own.split()[0], *_DASH.split(word)[:1]} if own else ())


def _term_at(words: Words, start: int, end: int, terms: PaperTerms) -> _Named | None:
    if end > start + 1 and not words.is_joined(start, end):
        return None
    name = canonical(" ".join(words.lower[start:end]))
    term = terms.terms.get(name)
    if term is None:
        begins = start == 0 or words.gaps[start].strip() in (".", ":", "•")
        kind = known_kind(name, words.joined(start, end), begins=begins)
        if not kind or kind not in terms.types or not _stands_together(name, words):
            return None
        return _Named(start, end, clean(words.joined(start, end)), kind, SURE)
    if term.cased and not any(word[:1].isupper() or word[1:2].isupper() for word in words.words[start:end]):
        return None
    return _Named(start, end, clean(words.joined(start, end)), term.kind, term.confidence)


def _stands_together(name: str, words: Words) -> bool:
    return all(pair <= set(words.lower) for pair in TOGETHER if name in pair)


def _relations(words: Words, named: Sequence[_Named]) -> Iterator[tuple[tuple[_Key, str, _Key], float]]:
    """The relations that verb patterns find between the entities of a sentence."""
    places = [Place(words.starts[one.start], words.ends[_behind(words, one) - 1], one.kind) for one in named]
    for source, relation, target, confidence in relations(words.text, places):
        one, other = _key(named[source]), _key(named[target])
        if one != other:
            yield (one, relation, other), confidence


def _behind(words: Words, named: _Named) -> int:
    """The word after an entity and after the noun of its kind: "the BERT model"."""
    end = named.end
    if end < len(words.words) and words.gaps[end] == " " and canonical(words.lower[end]) in TAILS:
        return end + 1
    return end


def _together(named: Sequence[_Named], stated: Sequence[tuple[str, str]]) -> Iterator[tuple[_Key, _Key]]:
    """Pairs of different entities of a sentence, each pair in the order of its keys."""
    keys = list(dict.fromkeys(_key(one) for one in named))
    if len(keys) > CROWDED:
        return
    same = {frozenset((canonical(short), canonical(long))) for short, long in stated}
    for one, other in combinations(keys, 2):
        if frozenset((one[1], other[1])) not in same and one[1] != other[1]:
            yield min(one, other), max(one, other)
