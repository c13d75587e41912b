"""A walk over the graph: breadth first from the entities of a question, and from one entity to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.graph.graph_records import CO_OCCURS, GraphPath

if TYPE_CHECKING:
    from ragscience.graph.graph_model import KnowledgeGraph

__all__ = ["LEAVING", "Walk", "damping", "edge_strengths", "shortest_path", "walk"]

LEAVING = 0.5
"""Share of its strength that an entity passes on with a step."""
WEAK = 0.3
"""What a relation counts that says only that two entities stand in one sentence."""
MOST_ENTITIES = 5_000
"""Entities that a walk takes in, the strongest of each ring first."""

Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Walk:
    """The entities that were reached, and the relations between them and the ones they were reached from."""

    entities: Numbers
    """Their numbers, shape (reached,), int64: by depth, within a depth the strongest first."""
    depths: Numbers
    """Steps from the nearest seed, 0 for a seed, shape (reached,), int64."""
    strengths: Shares
    """How near they are to the seeds, over 0 to 1, shape (reached,), float64."""
    edges: Numbers
    """Numbers of the relations walked, each once, ascending, shape (walked,), int64."""
    edge_strengths: Shares
    """What came over each of them, 0 to 1, shape (walked,), float64."""

    def at_depth(self, depth: int) -> list[int]:
        """The entities that many steps away, the strongest first."""
        found: list[int] = self.entities[self.depths == depth].tolist()
        return found


def walk(graph: KnowledgeGraph, seeds: Sequence[tuple[int, float]], *, hops: int, types: frozenset[str]) -> Walk:
    """Breadth first over relations in both directions, to `hops` steps from the seeds (number, weight of 0 to 1).

    `types` are the entities that it enters; none: all. An entity gets LEAVING of the strength of the best one that it
    was reached from, times what the relation counts, times the damping of that one: a hub passes little on to each of
    its many neighbours. Of a ring with more entities than MOST_ENTITIES leaves room for, the strongest are taken in.
    """
    strengths = np.zeros(len(graph))
    depths = np.full(len(graph), -1, dtype=np.int64)
    for number, weight in seeds:
        strengths[number] = max(strengths[number], weight)
        depths[number] = 0
    ring = _strongest(np.flatnonzero(depths == 0), strengths, MOST_ENTITIES)
    reached, over = [ring], np.zeros(graph.relation_count)
    room = MOST_ENTITIES - len(ring)
    for depth in range(1, hops + 1):
        origins, edges, others = graph.around(ring)
        passed = LEAVING * strengths[origins] * edge_strengths(graph, edges) * damping(graph, origins)
        if types:
            allowed = _of_types(graph, others, types)
            edges, others, passed = edges[allowed], others[allowed], passed[allowed]
        is_new = depths[others] < 0
        gained = np.zeros(len(graph))
        np.maximum.at(gained, others[is_new], passed[is_new])
        ring = _strongest(np.unique(others[is_new]), gained, room)
        depths[ring], strengths[ring] = depth, gained[ring]
        room -= len(ring)
        reached.append(ring)
        taken_in = depths[others] >= 0
        np.maximum.at(over, edges[taken_in], passed[taken_in])
        if not len(ring) or not room:
            break
    entities = np.concatenate(reached)
    walked = np.flatnonzero(over)
    return Walk(entities, depths[entities], strengths[entities], walked, over[walked])


def edge_strengths(graph: KnowledgeGraph, edges: Numbers) -> Shares:
    """What relations count in a walk, 0 to 1, float64: their confidence, and little where nothing is said."""
    shares: Shares = graph.confidences[edges].astype(np.float64)
    shares[graph.are_kind(edges, CO_OCCURS)] *= WEAK
    return shares


def damping(graph: KnowledgeGraph, entities: Numbers) -> Shares:
    """1 for an entity of one relation, 0.15 for one of a hundred, 0.06 for one of 50,000, float64."""
    shares: Shares = 1.0 / np.log2(1.0 + np.maximum(graph.degrees()[entities], 1))
    return shares


def shortest_path(graph: KnowledgeGraph, start: int, end: int) -> GraphPath | None:
    """The path of fewest relations from one entity to another, in either direction of them; None where there is none.

    Of equally short ones the one whose relations count the most; its score is the product of what they count.
    """
    best: dict[int, tuple[float, int]] = {start: (1.0, -1)}
    ring = np.array([start], dtype=np.int64)
    while len(ring) and end not in best:
        origins, edges, others = graph.around(ring)
        scores = np.array([best[number][0] for number in origins.tolist()]) * edge_strengths(graph, edges)
        reached: dict[int, tuple[float, int]] = {}
        for score, edge, other in zip(scores.tolist(), edges.tolist(), others.tolist(), strict=True):
            if other not in best and (other not in reached or score > reached[other][0]):
                reached[other] = score, edge
        best |= reached
        ring = np.array(sorted(reached), dtype=np.int64)
    if end not in best:
        return None
    keys, relations, at = [graph.entity(end).key], [], end
    while best[at][1] >= 0:
        edge = best[at][1]
        source, target = int(graph.sources[edge]), int(graph.targets[edge])
        relations.append(graph.relation(edge))
        at = source if at == target else target
        keys.append(graph.entity(at).key)
    return GraphPath(tuple(reversed(keys)), tuple(reversed(relations)), best[end][0])


def _strongest(numbers: Numbers, strengths: Shares, most: int) -> Numbers:
    """At most so many of them, the strongest first, equals by number."""
    order = np.lexsort((numbers, -strengths[numbers]))[:most]
    kept: Numbers = numbers[order]
    return kept


def _of_types(graph: KnowledgeGraph, entities: Numbers, types: frozenset[str]) -> NDArray[np.bool_]:
    once, where = np.unique(entities, return_inverse=True)
    fits: NDArray[np.bool_] = np.array([graph.entity_type(number) in types for number in once.tolist()], dtype=bool)
    return fits[where] if len(once) else np.zeros(0, dtype=bool)
