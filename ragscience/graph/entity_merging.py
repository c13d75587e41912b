"""Mentions and triples of all passages become entities and relations: the same names, in any order of passages.

Mentions are one entity where their types and canonical names agree (graph/entity_names.py). An acronym stands for its
expansion: the one that its own paper states, else the one that all papers that state one agree on, else it stays by
itself. One step only, so that no chain of aliases can pull unrelated names together. What an import says to be of an
entity is of it. A name that a person has set apart is an entity of its own, whatever else is said.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragscience.graph.entity_names import canonical, folded, matched
from ragscience.graph.graph_records import Entity, Extracted, Relation

__all__ = ["Edges", "Gathered", "Merged", "Node", "Passage", "gather", "merge"]

Passage = tuple[int, Extracted]
"""(id of its paper, what it gave)."""
Edges = dict[tuple[str, str, str], dict[int, float]]
"""(source, target, relation): {passage: how sure it is}."""
AGREEMENT = 2 / 3
"""Share of the papers that state an expansion, that must state the same one."""
SUREST = 0.99
"""Confidence of a relation at most."""
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Merged:
    """A graph: entities by key, relations by (source, target, relation)."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


class Node:
    """What all passages say of an entity."""

    def __init__(self, entity_type: str) -> None:
        self.entity_type = entity_type
        self.counts: dict[str, dict[int, int]] = {}
        """Name: {passage: how often it stands there}."""
        self.confidence = 0.0

    def entity(self, key: str) -> Entity:
        """The record of it."""
        totals = {name: sum(counts.values()) for name, counts in self.counts.items()}
        label = min(totals, key=lambda name: (-totals[name], name))
        chunks = tuple(sorted({chunk for counts in self.counts.values() for chunk in counts}))
        confidence = round(self.confidence, 6)
        return Entity(key, label, self.entity_type, tuple(sorted(totals)), sum(totals.values()), confidence, chunks)


@dataclass(frozen=True, slots=True)
class Gathered:
    """All that passages say, by entity and by relation, in no order."""

    nodes: dict[str, Node]
    edges: Edges


def merge(passages: Iterable[Passage], apart: frozenset[str] = frozenset()) -> Merged:
    """The graph of these passages; a passage may come more than once, read by several extractors.

    A name whose `folded` form is in `apart` is an entity of its own. A relation of an entity with itself is dropped.
    """
    gathered = gather(passages, apart)
    entities = tuple(gathered.nodes[key].entity(key) for key in sorted(gathered.nodes))
    return Merged(entities, tuple(relation(edge, gathered.edges[edge]) for edge in sorted(gathered.edges)))


def gather(passages: Iterable[Passage], apart: frozenset[str] = frozenset()) -> Gathered:
    """What `merge` makes records of, passage by passage."""
    kept = list(passages)
    meaning = _Meaning(kept, apart)
    nodes: dict[str, Node] = {}
    for paper, found in kept:
        for mention in found.mentions:
            key = meaning.key(paper, mention.name, mention.entity_type, mention.key)
            node = nodes.get(key) or nodes.setdefault(key, Node(mention.entity_type))
            counts = node.counts.setdefault(mention.name, {})
            counts[found.chunk_id] = max(counts.get(found.chunk_id, 0), mention.count)
            node.confidence = max(node.confidence, mention.confidence)
    edges: Edges = defaultdict(dict)
    for paper, found in kept:
        for triple in found.triples:
            source = meaning.key(paper, triple.subject, triple.subject_type, triple.subject_key)
            target = meaning.key(paper, triple.object, triple.object_type, triple.object_key)
            if source != target and source in nodes and target in nodes:
                said = edges[source, target, triple.relation]
                said[found.chunk_id] = max(said.get(found.chunk_id, 0.0), triple.confidence)
    return Gathered(nodes, dict(edges))


def relation(edge: tuple[str, str, str], said: dict[int, float]) -> Relation:
    """The record of an edge.

    Its confidence is 1 - the product of (1 - confidence) over its passages (noisy or), at most SUREST. The factors are
    sorted: a rounded product depends on their order, and passages that leave and come back have other ids.
    """
    doubt = math.prod(sorted(1.0 - min(each, 1.0) for each in said.values()))
    return Relation(*edge, len(said), round(min(1.0 - doubt, SUREST), 6), tuple(sorted(said)))


class _Meaning:
    """What a name means in a paper."""

    def __init__(self, passages: Sequence[Passage], apart: frozenset[str]) -> None:
        self._apart = apart
        votes: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for paper, found in passages:
            for short, long in found.aliases:
                shortened, meant = canonical(short), canonical(long)
                if shortened and meant and shortened != meant:
                    votes[paper][shortened][meant] += 1
        self._own = {paper: {short: _most(longs) for short, longs in stated.items()} for paper, stated in votes.items()}
        stated: dict[str, Counter[str]] = defaultdict(Counter)
        for meanings in self._own.values():
            for short, long in meanings.items():
                stated[short][long] += 1
        self._common = {
            short: _most(longs) for short, longs in stated.items() if longs[_most(longs)] >= AGREEMENT * longs.total()
        }
        self._forms: dict[str, tuple[str, str]] = {}

    def key(self, paper: int, name: str, entity_type: str, given: str) -> str:
        """The key of the entity that the name means; `given` where an import says it."""
        forms = self._forms.get(name)
        if forms is None:
            forms = self._forms[name] = (folded(name), matched(name))
        as_it_is, own = forms
        if as_it_is in self._apart:
            return f'{entity_type}:"{as_it_is}"'  # canonical names have no quotation marks
        if given:
            return given
        long = self._own.get(paper, _NONE).get(own) or self._common.get(own)
        return f"{entity_type}:{long or own}"


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))
