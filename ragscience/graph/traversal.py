"""Graph traversal: breadth first from a question's entities, from one entity to another, and their evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.core.page_spans import page_parts
from ragscience.core.records import PathStep, StoredChunk
from ragscience.core.tokenizing import joined_lines
from ragscience.graph.graph_records import CO_OCCURS, GraphPath, Relation, folded

if TYPE_CHECKING:
    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.library.store import Store

__all__ = [
    "LEAVING",
    "MOST_CONCEPTS",
    "Walk",
    "damping",
    "edge_strengths",
    "label_of",
    "pages_of",
    "passage_scores",
    "related_concepts",
    "related_passages",
    "shortest_path",
    "specificity",
    "steps_of",
    "walk",
]

LEAVING = 0.5
"""Share of its strength that an entity passes on with a step."""
WEAK = 0.3
"""Weight of a co-occurrence relation."""
MOST_ENTITIES = 5_000
"""Maximum entities of a traversal, the strongest of each ring first."""

_ORDINARY = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?<=[a-z])", re.ASCII)
Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Walk:
    """The entities reached, and the relations to them from those they were reached from."""

    entities: Numbers
    """Their numbers, shape (reached,), int64: by depth, within a depth the strongest first."""
    depths: Numbers
    """Steps from the nearest seed, 0 for a seed, shape (reached,), int64."""
    strengths: Shares
    """Strength: proximity to the seeds, over 0 to 1, shape (reached,), float64."""
    edges: Numbers
    """Numbers of the relations traversed, each once, ascending, shape (walked,), int64."""
    edge_strengths: Shares
    """Strength passed over each of them, 0 to 1, shape (walked,), float64."""

    def at_depth(self, depth: int) -> list[int]:
        """The entities that many steps away, the strongest first."""
        found: list[int] = self.entities[self.depths == depth].tolist()
        return found


def walk(
    graph: KnowledgeGraph,
    seeds: Sequence[tuple[int, float]],
    *,
    hops: int,
    types: frozenset[str],
    stated_only: bool = False,
) -> Walk:
    """Breadth first over relations in both directions, to `hops` steps from the seeds (number, weight of 0 to 1).

    `types` are the entity types to enter; none: all. `stated_only` leaves out co-occurrences, and goes through no
    ordinary word. An entity gets LEAVING of the strength of the best one that it was reached from, times the
    relation's weight, times the damping of that one: a hub passes little on to each of its many neighbours. Of a ring
    that exceeds MOST_ENTITIES, the strongest are kept.
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
        origins, edges, others = _stated(graph, ring) if stated_only else graph.around(ring)
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
        if stated_only:
            ring = _without_ordinary(graph, ring)
        if not len(ring) or not room:
            break
    entities = np.concatenate(reached)
    walked = np.flatnonzero(over)
    return Walk(entities, depths[entities], strengths[entities], walked, over[walked])


def edge_strengths(graph: KnowledgeGraph, edges: Numbers) -> Shares:
    """Weights of relations, 0 to 1, float64: their confidence, low for co-occurrences."""
    shares: Shares = graph.confidences[edges].astype(np.float64)
    shares[graph.are_kind(edges, CO_OCCURS)] *= WEAK
    return shares


def damping(graph: KnowledgeGraph, entities: Numbers) -> Shares:
    """1 for an entity of degree 1, 0.15 for degree 100, 0.06 for degree 50,000, float64."""
    shares: Shares = 1.0 / np.log2(1.0 + np.maximum(graph.degrees()[entities], 1))
    return shares


def shortest_path(graph: KnowledgeGraph, start: int, end: int, *, together: bool = False) -> GraphPath | None:
    """The path of fewest relations from one entity to another, ignoring direction; None if there is none.

    Over stated relations, with `together` also over co-occurrences; never through an ordinary word. Among equally
    short ones the one with the highest score: the product of its relations' weights.
    """
    best: dict[int, tuple[float, int]] = {start: (1.0, -1)}
    ring = np.array([start], dtype=np.int64)
    while len(ring) and end not in best:
        origins, edges, others = graph.around(ring) if together else _stated(graph, ring)
        scores = np.array([best[number][0] for number in origins.tolist()]) * edge_strengths(graph, edges)
        reached: dict[int, tuple[float, int]] = {}
        for score, edge, other in zip(scores.tolist(), edges.tolist(), others.tolist(), strict=True):
            if other not in best and (other not in reached or score > reached[other][0]):
                reached[other] = score, edge
        best |= reached
        ring = _without_ordinary(graph, np.array(sorted(reached), dtype=np.int64))
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


def _stated(graph: KnowledgeGraph, ring: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """As `KnowledgeGraph.around`, without co-occurrences."""
    origins, edges, others = graph.around(ring)
    kept = ~graph.are_kind(edges, CO_OCCURS)
    return origins[kept], edges[kept], others[kept]


def _without_ordinary(graph: KnowledgeGraph, ring: Numbers) -> Numbers:
    """Without entities that are one word in lower case, as "attention": what two papers share with it says nothing."""
    return np.array([number for number in ring.tolist() if not _ORDINARY.fullmatch(graph.label(number))], np.int64)


def _strongest(numbers: Numbers, strengths: Shares, most: int) -> Numbers:
    """At most so many of them, the strongest first, ties by number."""
    order = np.lexsort((numbers, -strengths[numbers]))[:most]
    kept: Numbers = numbers[order]
    return kept


def _of_types(graph: KnowledgeGraph, entities: Numbers, types: frozenset[str]) -> NDArray[np.bool_]:
    once, where = np.unique(entities, return_inverse=True)
    fits: NDArray[np.bool_] = np.array([graph.entity_type(number) in types for number in once.tolist()], dtype=bool)
    return fits[where] if len(once) else np.zeros(0, dtype=bool)


SEED_BOOST = 2.0
"""A mention of an entity of the question counts as this many of others as near."""
MOST_SCORED = 1_000
"""Maximum entities, and relations, whose passages are counted: the strongest."""


def passage_scores(graph: KnowledgeGraph, walked: Walk, *, passages: int, most: int) -> dict[int, float]:
    """At most `most` passages by id, the best first, each with 0 to 1; the best one has 1.

    A passage gets the strength of each entity that it names, times its specificity among `passages` in all, seeds
    SEED_BOOST times, and that of each relation that it is evidence of.
    """
    scores: dict[int, float] = {}
    best = np.argsort(-walked.strengths, kind="stable")[:MOST_SCORED]
    for at in best.tolist():
        number = int(walked.entities[at])
        chunks = graph.chunks_of(number).tolist()
        share = float(walked.strengths[at]) * specificity(len(chunks), passages)
        share *= SEED_BOOST if walked.depths[at] == 0 else 1.0
        for chunk_id in chunks:
            scores[chunk_id] = scores.get(chunk_id, 0.0) + share
    best = np.argsort(-walked.edge_strengths, kind="stable")[:MOST_SCORED]
    for at in best.tolist():
        evidence = graph.evidence_of(int(walked.edges[at])).tolist()
        share = float(walked.edge_strengths[at]) * specificity(len(evidence), passages)
        for chunk_id in evidence:
            scores[chunk_id] = scores.get(chunk_id, 0.0) + share
    kept = sorted((key for key in scores if scores[key] > 0), key=lambda key: (-scores[key], key))[:most]
    return {chunk_id: scores[chunk_id] / scores[kept[0]] for chunk_id in kept}


def specificity(count: int, passages: int) -> float:
    """1 for an entity in one passage, near 0 for one in all: log((N + 1) / n) / log(N + 1)."""
    everything = max(passages, count, 1)
    return math.log((everything + 1) / max(count, 1)) / math.log(everything + 1)


MOST_CONCEPTS = 10


def related_concepts(graph: KnowledgeGraph, walked: Walk) -> tuple[str, ...]:
    """Names of at most MOST_CONCEPTS entities: those that the question names, then their neighbours, best first."""
    labels: dict[str, str] = {}
    for number in (*walked.at_depth(0), *walked.at_depth(1)):
        label = " ".join(graph.label(number).split())
        labels.setdefault(folded(label), label)
        if len(labels) >= MOST_CONCEPTS:
            break
    return tuple(labels.values())


def related_passages(graph: KnowledgeGraph, walked: Walk) -> set[int]:
    """Ids of the passages that mention any of the entities reached (the graph guide's step before its filter)."""
    return _all(graph.chunks_of(number).tolist() for number in walked.entities.tolist())


def _all(lists: Iterable[list[int]]) -> set[int]:
    return {chunk_id for chunks in lists for chunk_id in chunks}


MOST_PAGES = 3
"""Maximum pages cited for a relation."""


def steps_of(relations: Sequence[Relation], graph: KnowledgeGraph, library: Store) -> tuple[PathStep, ...]:
    """The relations with names and pages in place of keys and passages."""
    steps = []
    for one in relations:
        ends = [_names(graph, one.source), _names(graph, one.target)]
        pages = pages_of(one.chunk_ids, ends, library)
        steps.append(PathStep(label_of(graph, one.source), one.relation, label_of(graph, one.target), pages))
    return tuple(steps)


def pages_of(
    chunk_ids: Sequence[int], entities: Sequence[Sequence[str]], library: Store, most: int = MOST_PAGES
) -> tuple[tuple[str, int], ...]:
    """(file, page) of at most `most` passages, each once, in the order of the library.

    For a passage on several pages it is the first of those that name the most of `entities`, each given by its names.
    """
    chunks = library.chunks(sorted(chunk_ids)[:most])
    return tuple(dict.fromkeys((chunk.file, _page_naming(chunk, entities)) for chunk in chunks))


def _page_naming(chunk: StoredChunk, entities: Sequence[Sequence[str]]) -> int:
    best, most = chunk.page_start, 0
    for page, start, end in page_parts(chunk, 0, len(chunk.text)) if chunk.page_start < chunk.page_end else ():
        text = folded(joined_lines(chunk.text[start:end]))
        named = sum(any(folded(name) in text for name in names) for names in entities)
        if named > most:
            best, most = page, named
    return best


def _names(graph: KnowledgeGraph, key: str) -> tuple[str, ...]:
    number = graph.number_of(key)
    return () if number is None else graph.entity(number).names


def label_of(graph: KnowledgeGraph, key: str) -> str:
    """The display name of an entity, or its key if it is not in the graph."""
    number = graph.number_of(key)
    return key if number is None else graph.label(number)
