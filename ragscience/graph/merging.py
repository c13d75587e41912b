"""Mentions and triples of all passages become entities and relations: the same names, in any order of passages.

Mentions are one entity where their types agree and their canonical names do (graph/names.py). An acronym stands for its
expansion: the one that its own paper states, else the one that all papers that state one agree on, else it stays by
itself. One step only, so that no chain of aliases can pull unrelated names together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragscience.graph.names import canonical, folded
from ragscience.graph.records import Entity, Extracted, Relation

__all__ = ["Merged", "Passage", "merge"]

Passage = tuple[int, Extracted]
"""(id of its paper, what it gave)."""
AGREEMENT = 2 / 3
"""Share of the papers that state an expansion, that must state the same one."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A graph: entities by key, relations by (source, target, relation)."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


class _Node:
    """What is known of an entity so far."""

    def __init__(self, entity_type: str) -> None:
        self.entity_type = entity_type
        self.counts: dict[int, dict[str, int]] = defaultdict(dict)  # passage: {name: how often}
        self.confidence = 0.0

    def entity(self, key: str) -> Entity:
        names = Counter[str]()
        for counts in self.counts.values():
            names.update(counts)
        label = min(names, key=lambda name: (-names[name], name))
        return Entity(
            key,
            label,
            self.entity_type,
            tuple(sorted(names)),
            names.total(),
            self.confidence,
            tuple(sorted(self.counts)),
        )


def merge(passages: Iterable[Passage], apart: frozenset[str] = frozenset()) -> Merged:
    """The graph of these passages; a passage may come more than once, read by several extractors.

    A name whose `folded` form is in `apart` is an entity of its own. A relation of an entity with itself is dropped.
    Confidence of a relation: 1 - the product of (1 - confidence) over its passages (noisy or), at most 0.99.
    """
    kept = sorted(passages, key=lambda passage: (passage[1].chunk_id, passage[0]))
    meaning = _Meaning(kept, apart)
    nodes: dict[str, _Node] = {}
    edges: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    for paper, found in kept:
        chunk = found.chunk_id
        for mention in found.mentions:
            key = meaning.key(paper, mention.name, mention.entity_type)
            node = nodes.setdefault(key, _Node(mention.entity_type))
            counts = node.counts[chunk]
            counts[mention.name] = max(counts.get(mention.name, 0), mention.count)
            node.confidence = max(node.confidence, mention.confidence)
    for paper, found in kept:
        for triple in found.triples:
            source = meaning.key(paper, triple.subject, triple.subject_type)
            target = meaning.key(paper, triple.object, triple.object_type)
            if source != target and source in nodes and target in nodes:
                said = edges[source, target, triple.relation]
                said[found.chunk_id] = max(said.get(found.chunk_id, 0.0), triple.confidence)
    entities = tuple(nodes[key].entity(key) for key in sorted(nodes))
    return Merged(entities, tuple(_relation(edge, edges[edge]) for edge in sorted(edges)))


def _relation(edge: tuple[str, str, str], said: dict[int, float]) -> Relation:
    source, target, relation = edge
    doubt = 1.0
    for chunk in sorted(said):
        doubt *= 1.0 - min(said[chunk], 1.0)
    return Relation(source, target, relation, len(said), round(min(1.0 - doubt, 0.99), 6), tuple(sorted(said)))


class _Meaning:
    """What a name means in a paper."""

    def __init__(self, passages: Sequence[Passage], apart: frozenset[str]) -> None:
        self._apart = apart
        votes: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for paper, found in passages:
            for short, long in found.aliases:
                if canonical(short) != canonical(long):
                    votes[paper][canonical(short)][canonical(long)] += 1
        self._own = {paper: {short: _most(longs) for short, longs in stated.items()} for paper, stated in votes.items()}
        stated: dict[str, Counter[str]] = defaultdict(Counter)
        for meanings in self._own.values():
            for short, long in meanings.items():
                stated[short][long] += 1
        self._common = {
            short: _most(longs)
            for short, longs in stated.items()
            if longs[_most(longs)] >= AGREEMENT * longs.total() and len(_top(longs)) == 1
        }
        self._key = lru_cache(maxsize=1 << 16)(self._made)

    def key(self, paper: int, name: str, entity_type: str) -> str:
        return self._key(paper, name, entity_type)

    def _made(self, paper: int, name: str, entity_type: str) -> str:
        if folded(name) in self._apart:
            return f"{entity_type}:={folded(name)}"
        own = canonical(name) or folded(name)
        long = self._own.get(paper, {}).get(own) or self._common.get(own)
        return f"{entity_type}:{long or own}"


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))


def _top(counts: Counter[str]) -> list[str]:
    highest = max(counts.values())
    return [name for name, count in counts.items() if count == highest]
