"""Graph traversal: breadth first from a question's entities, from one entity to another, and their evidence."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ragscience.core.records import PathStep
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import CO_OCCURS, Entity, GraphPath, Relation
from ragscience.graph.paper_map import passage_quotes
from ragscience.library.store import Store

LEAVING = 0.5
"""Share of its strength that an entity passes on with a step."""
WEAK = 0.3
"""Weight of a co-occurrence relation."""
SEED_BOOST = 2.0
"""A mention of an entity of the question counts as this many of others as near."""
MOST_PAGES = 3
"""Maximum pages cited for a relation."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What is within some steps of the seeds."""

    depths: Mapping[str, int]
    """Key of each entity reached: steps from the nearest seed, 0 for a seed; within a depth the strongest first."""
    strengths: Mapping[str, float]
    """Key: proximity to the seeds, over 0 to 1."""
    relations: Mapping[Relation, float]
    """The relations traversed, with the strength passed over each, 0 to 1."""


def walk(
    graph: KnowledgeGraph, seeds: Mapping[str, float], *, hops: int, types: frozenset[str], stated_only: bool = False
) -> Walk:
    """Breadth first over relations in both directions, to `hops` steps from the seeds (key: weight of 0 to 1).

    `types` are the entity types to enter; none: all. `stated_only` leaves out co-occurrences. An entity gets LEAVING of
    the strength of the best one that it was reached from, times the relation's weight, times the damping of that one: a
    hub passes little on to each of its many neighbours.
    """
    depths, strengths, passed = dict.fromkeys(seeds, 0), dict(seeds), dict[Relation, float]()
    ring = list(seeds)
    for depth in range(1, hops + 1):
        gained: dict[str, float] = {}
        for key in ring:
            share = LEAVING * strengths[key] * damping(graph, key)
            for relation in graph.around(key, stated_only=stated_only):
                other = relation.other_end(key)
                if types and graph.entity(other).entity_type not in types:
                    continue
                gain = share * strength(relation)
                passed[relation] = max(gain, passed.get(relation, 0.0))
                if other not in depths:
                    gained[other] = max(gain, gained.get(other, 0.0))
        ring = sorted(gained, key=lambda key: (-gained[key], key))
        depths |= dict.fromkeys(ring, depth)
        strengths |= gained
    return Walk(depths, strengths, passed)


def strength(relation: Relation) -> float:
    """Weight of a relation, 0 to 1: its confidence, low for a co-occurrence."""
    return relation.confidence * (WEAK if relation.relation == CO_OCCURS else 1.0)


def damping(graph: KnowledgeGraph, key: str) -> float:
    """1 for an entity with one relation, 0.15 with 100, 0.06 with 50,000."""
    return 1.0 / math.log2(1.0 + max(graph.degree(key), 1))


def shortest_path(graph: KnowledgeGraph, start: str, end: str, *, together: bool = False) -> GraphPath | None:
    """The path of fewest relations from one entity to another, ignoring direction; None if there is none.

    Over stated relations, with `together` also over co-occurrences. Of two equally short ones that with the stronger
    relations, its score being the product of their weights.
    """
    from networkx import NetworkXNoPath, bidirectional_dijkstra

    def best(edges: Mapping[str, Mapping[str, Any]]) -> Relation | None:
        known = [edge["record"] for edge in edges.values()]
        allowed = [one for one in known if together or one.relation != CO_OCCURS]
        return max(allowed, key=strength, default=None)

    def cost(_one: str, _other: str, edges: Mapping[str, Mapping[str, Any]]) -> float | None:
        relation = best(edges)  # a step costs far more than its weakness
        return None if relation is None else 1.0 - math.log(max(strength(relation), 1e-6)) / 1000

    try:
        _, keys = bidirectional_dijkstra(graph.both_ways, start, end, weight=cost)
    except NetworkXNoPath:
        return None
    steps = [best(graph.both_ways[one][other]) for one, other in pairwise(keys)]
    relations = tuple(step for step in steps if step is not None)
    return GraphPath(tuple(keys), relations, math.prod(map(strength, relations)))


def passage_scores(graph: KnowledgeGraph, walked: Walk, *, passages: int, most: int) -> dict[int, float]:
    """At most `most` passages by id, the best first, each with 0 to 1; the best one has 1.

    A passage gets the strength of each entity that it names, times its specificity among `passages` in all, seeds
    SEED_BOOST times, and that of each relation that it is evidence of.
    """
    scores: Counter[int] = Counter()
    shares: list[tuple[float, Sequence[int]]] = [
        (share * (1.0 if walked.depths[key] else SEED_BOOST), graph.entity(key).chunk_ids)
        for key, share in walked.strengths.items()
    ]
    shares += [(share, relation.chunk_ids) for relation, share in walked.relations.items()]
    for share, chunks in shares:
        for chunk_id in chunks:
            scores[chunk_id] += share * _specificity(len(chunks), passages)  # type: ignore[assignment]  # not whole
    kept = sorted((key for key in scores if scores[key] > 0), key=lambda key: (-scores[key], key))[:most]
    return {chunk_id: scores[chunk_id] / scores[kept[0]] for chunk_id in kept}


def _specificity(count: int, passages: int) -> float:
    """1 for an entity in one passage, near 0 for one in all: log((N + 1) / n) / log(N + 1)."""
    everything = max(passages, count, 1)
    return math.log((everything + 1) / max(count, 1)) / math.log(everything + 1)


def steps_of(relations: Iterable[Relation], graph: KnowledgeGraph, library: Store) -> tuple[PathStep, ...]:
    """The relations with names and pages in place of keys and passages."""
    return tuple(
        PathStep(
            graph.label(one.source),
            one.relation,
            graph.label(one.target),
            pages_of(one.chunk_ids, library, *(graph.entity(key).names for key in (one.source, one.target))),
        )
        for one in relations
    )


def pages_of(chunk_ids: Sequence[int], library: Store, *names: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """(file, page) of at most MOST_PAGES passages, each once: the page on which the first of the names stands."""
    quotes = passage_quotes(library, sorted(chunk_ids)[:MOST_PAGES], *names)
    return tuple(dict.fromkeys((one.file, one.page) for one in quotes))


@dataclass(frozen=True, slots=True)
class NearEntity:
    """An entity, with (file, page) of passages that name it."""

    entity: Entity
    pages: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class NearRelation:
    """A relation near an entity."""

    step: PathStep
    depth: int
    """Steps to its farther end, from 1."""
    confidence: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The entities of a name and what is around them, nearest first."""

    entities: tuple[NearEntity, ...]
    hops: int
    relations: tuple[NearRelation, ...]
    reached: int
    """Entities within so many hops, without those of the name."""
    walked: int
    """Relations within so many hops, shown or not."""
    co_occurring: int = 0
    """Entities that are only named in one sentence with these, and were left out."""


def co_occurring(graph: KnowledgeGraph, keys: Sequence[str]) -> int:
    """How many entities have no stated relation with these, only a sentence in common."""
    stated = {one.other_end(key) for key in keys for one in graph.around(key, stated_only=True)}
    return len({one.other_end(key) for key in keys for one in graph.around(key)} - stated - set(keys))


def relations_around(graph: KnowledgeGraph, around: Walk, library: Store, most: int) -> tuple[NearRelation, ...]:
    """The relations walked, by the depth of their farther end, then the strongest first."""
    far = {one: max(1, around.depths[one.source], around.depths[one.target]) for one in around.relations}
    order = sorted(far, key=lambda one: (far[one], -around.relations[one], one.source, one.target))[:most]
    steps = steps_of(order, graph, library)
    return tuple(NearRelation(step, far[one], one.confidence) for step, one in zip(steps, order, strict=True))
