"""The graph in memory: NetworkX's MultiDiGraph, made from what was read of each passage.

Mentions are one entity if their types and canonical names agree; CONCEPT, the type of what no paper shows a type of,
gives way to the one that most mentions of the same name have. An acronym means its expansion: the one that its own
paper states, else the one that most of the papers that state one agree on, else none. One step only, so no chain of
aliases joins unrelated names. A key from an import is kept. The order of passages does not matter.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING

from ragscience.graph.graph_records import CO_OCCURS, Entity, Extracted, Relation, canonical, decoded, matched

if TYPE_CHECKING:
    from networkx import MultiDiGraph, MultiGraph

    from ragscience.library.store import Store


AGREEMENT = 2 / 3
"""Minimum share of the papers that state an expansion that must state the same one."""
SUREST = 0.99
"""Maximum confidence of a relation."""


class KnowledgeGraph:
    """Entities by key, and the relations between them."""

    def __init__(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> None:
        """From records in any order."""
        from networkx import MultiDiGraph

        self.network: MultiDiGraph[str] = MultiDiGraph()
        """Entities' keys as nodes (attribute `entity`), an edge for each relation (its type as key, `record`)."""
        for entity in sorted(entities, key=lambda one: one.key):
            self.network.add_node(entity.key, entity=entity)
        for one in sorted(relations, key=lambda one: (one.source, one.target, one.relation)):
            self.network.add_edge(one.source, one.target, one.relation, record=one)

    def __len__(self) -> int:
        """Number of entities."""
        return len(self.network)

    @property
    def relation_count(self) -> int:
        """Number of relations."""
        return self.network.number_of_edges()

    def entity(self, key: str) -> Entity:
        """The record of an entity. Raises KeyError."""
        found: Entity = self.network.nodes[key]["entity"]
        return found

    def entities(self) -> Iterator[Entity]:
        """All, by key."""
        return map(self.entity, self.network)

    def relations(self) -> Iterator[Relation]:
        """All, by source, target and relation."""
        return (edge["record"] for _, _, edge in self.network.edges(data=True))

    def around(self, key: str, *, stated_only: bool = False) -> list[Relation]:
        """The relations of an entity, in either direction; `stated_only` without co-occurrences."""
        ends = (self.network.succ[key].values(), self.network.pred[key].values())
        found = [edge["record"] for side in ends for edges in side for edge in edges.values()]
        return [one for one in found if one.relation != CO_OCCURS] if stated_only else found

    def degree(self, key: str) -> int:
        """The number of relations of an entity."""
        return int(self.network.degree[key])

    def label(self, key: str) -> str:
        """The display name of an entity; its key if it is not in the graph."""
        return self.entity(key).label if key in self.network else key

    def by_name(self, name: str) -> tuple[str, ...]:
        """Keys of the entities with this name, ignoring hyphens, plural and case, sorted."""
        return self.names.get(matched(name), ())

    @cached_property
    def both_ways(self) -> MultiGraph[str]:
        """`network` without directions."""
        return self.network.to_undirected(as_view=True)

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Canonical names, each with the keys of the entities that have it, sorted.

        An entity's key is one of its names: an acronym's expansion may occur in no passage of the entity.
        """
        found: defaultdict[str, list[str]] = defaultdict(list)
        for entity in self.entities():
            for name in {matched(name) for name in (*entity.names, entity.key.partition(":")[2])} - {""}:
                found[name].append(entity.key)
        return {name: tuple(keys) for name, keys in found.items()}


# Merging

Passage = tuple[int, Extracted]
"""(id of its paper, its extraction)."""


class Node:
    """The evidence of all passages about an entity."""

    def __init__(self, entity_type: str) -> None:
        self.entity_type = entity_type
        self.counts: dict[str, dict[int, int]] = {}
        """Name: {passage: number of occurrences}."""
        self.confidence = 0.0

    def entity(self, key: str) -> Entity:
        """The entity's record."""
        totals = {name: sum(counts.values()) for name, counts in self.counts.items()}
        label = min(totals, key=lambda name: (-totals[name], name))
        chunks = tuple(sorted({chunk for counts in self.counts.values() for chunk in counts}))
        confidence = round(self.confidence, 6)
        return Entity(key, label, self.entity_type, tuple(sorted(totals)), sum(totals.values()), confidence, chunks)


Edges = dict[tuple[str, str, str], dict[int, float]]
"""(source, target, relation): {passage: confidence}."""


def merge(passages: Iterable[Passage]) -> KnowledgeGraph:
    """The graph of these passages; a passage may come more than once, read by several extractors.

    A relation of an entity with itself is dropped.
    """
    nodes, edges = gather(passages)
    return KnowledgeGraph((node.entity(key) for key, node in nodes.items()), starmap(relation_of, edges.items()))


def gather(passages: Iterable[Passage]) -> tuple[dict[str, Node], Edges]:
    """The evidence that `merge` turns into records, by entity and by relation, unordered."""
    kept = list(passages)
    meaning = _Meaning(kept)
    nodes: dict[str, Node] = {}
    edges: Edges = defaultdict(dict)
    for paper, found in kept:
        for mention in found.mentions:
            key = meaning.key(paper, mention.name, mention.entity_type, mention.key)
            is_typed = mention.key or mention.entity_type != "CONCEPT"
            kind = mention.entity_type if is_typed else key.partition(":")[0]
            node = nodes.get(key) or nodes.setdefault(key, Node(kind))
            counts = node.counts.setdefault(mention.name, {})
            counts[found.chunk_id] = max(counts.get(found.chunk_id, 0), mention.count)
            node.confidence = max(node.confidence, mention.confidence)
    for paper, found in kept:
        for triple in found.triples:
            source = meaning.key(paper, triple.subject, triple.subject_type, triple.subject_key)
            target = meaning.key(paper, triple.object, triple.object_type, triple.object_key)
            if source != target and source in nodes and target in nodes:
                evidence = edges[source, target, triple.relation]
                evidence[found.chunk_id] = max(evidence.get(found.chunk_id, 0.0), triple.confidence)
    return nodes, edges


def relation_of(edge: tuple[str, str, str], evidence: Mapping[int, float]) -> Relation:
    """The record of an edge.

    Its confidence is 1 - the product of (1 - confidence) over its passages (noisy or), at most SUREST. The factors are
    sorted: a rounded product depends on their order, and passages that leave and come back have other ids.
    """
    doubt = math.prod(sorted(1.0 - min(each, 1.0) for each in evidence.values()))
    return Relation(*edge, len(evidence), round(min(1.0 - doubt, SUREST), 6), tuple(sorted(evidence)))


class _Meaning:
    """The meaning of a name in a paper."""

    def __init__(self, passages: Sequence[Passage]) -> None:
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
        typed: dict[str, Counter[str]] = defaultdict(Counter)
        for paper, found in passages:
            for mention in found.mentions:
                if mention.entity_type != "CONCEPT" and not mention.key:
                    typed[self._name(paper, mention.name)][mention.entity_type] += mention.count
        self._types = {name: _most(types) for name, types in typed.items()}

    def key(self, paper: int, name: str, entity_type: str, given: str) -> str:
        """The key of the entity that the name means; `given` if an import sets it."""
        if given:
            return given
        meant = self._name(paper, name)
        return f"{self._types.get(meant, entity_type) if entity_type == 'CONCEPT' else entity_type}:{meant}"

    def _name(self, paper: int, name: str) -> str:
        """The canonical name that is meant."""
        own = matched(name)
        return self._own.get(paper, {}).get(own) or self._common.get(own) or own


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))


def load_graph(library: Store) -> KnowledgeGraph:
    """The graph from the library's rows; empty if there are none. Raises RagScienceError for an unreadable row."""
    return merge((paper, decoded(chunk, text)) for chunk, paper, _, text in library.graph.rows())
