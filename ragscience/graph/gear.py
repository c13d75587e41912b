"""Paths of triples that lead from a question's entities to what it asks for, found by beam search.

After GeAR (Shen et al. 2024, "GeAR: Graph-enhanced Agent for Retrieval-augmented Generation", section 3.2): a path is
scored by the similarity of the question to its triples, and of the continuations of one path the n-th counts less, so
that the beam does not fill with variants of one beginning. Here a path's vector is the mean of its triples' vectors, so
that each triple is embedded once, whatever paths it is on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.graph.graph_records import CO_OCCURS, GraphPath
from ragscience.graph.traversal import damping, edge_strengths
from ragscience.text.tokenizing import tokenize

if TYPE_CHECKING:
    from ragscience.graph.graph_model import KnowledgeGraph

__all__ = ["MOST_EMBEDDED", "Trail", "Vectors", "best_trails", "by_words", "graph_path", "trail_scores", "triple_text"]

BEAM = 8
"""Paths that go on from step to step."""
CONTINUATIONS = 32
"""Relations by which a path may go on at most: the strongest."""
FEWEST = 4
"""Relations by which it may go on however many paths there are."""
MOST_EMBEDDED = 96
"""Triples that are embedded for one question."""
DIVERSITY = 8
"""The n-th continuation of one path, from 0, counts exp(-min(n, DIVERSITY) / DIVERSITY) of its score."""
MOST_TRAILS = 8
"""Paths that are kept."""

Vectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit rows, shape (len(texts), dimension), float32."""


@dataclass(frozen=True, slots=True)
class Trail:
    """A path on its way: relations (numbers) from a seed, and where it has come to."""

    edges: tuple[int, ...]
    entities: tuple[int, ...]
    """Those passed, one more than relations; none comes twice."""
    score: float
    """Cosine of the question and the mean of the triples, -1 to 1."""


def best_trails(
    graph: KnowledgeGraph,
    seeds: Sequence[int],
    question: NDArray[np.float32],
    vectors: Vectors,
    *,
    hops: int,
    cache: dict[int, NDArray[np.float32]],
) -> tuple[Trail, ...]:
    """The at most MOST_TRAILS best paths of 1 to `hops` relations from the seeds, best first.

    `question` is a unit vector. No more than MOST_EMBEDDED triples go through `vectors`, in one call a step; `cache`
    keeps their vectors by relation. Of paths over the same relations the first is kept.
    """
    beam = [Trail((), (number,), 0.0) for number in seeds]
    found: dict[frozenset[int], Trail] = {}
    room = MOST_EMBEDDED // max(hops, 1)
    for _ in range(hops):
        each = min(max(room // max(len(beam), 1), FEWEST), CONTINUATIONS)
        ahead = [(trail, edge, other) for trail in beam for edge, other in _continuations(graph, trail, seeds, each)]
        new = list(dict.fromkeys(edge for _, edge, _ in ahead if edge not in cache))[:room]
        if new:
            cache.update(zip(new, vectors([triple_text(graph, edge) for edge in new]), strict=True))
        ranked: list[tuple[float, Trail]] = []
        for trail in beam:
            longer = [
                Trail((*trail.edges, edge), (*trail.entities, other), _score((*trail.edges, edge), question, cache))
                for beginning, edge, other in ahead
                if beginning is trail and edge in cache
            ]
            longer.sort(key=lambda one: (-one.score, one.edges))
            ranked += [(one.score * _diversity(n), one) for n, one in enumerate(longer)]
        ranked.sort(key=lambda pair: (-pair[0], pair[1].edges))
        for _, trail in ranked:
            found.setdefault(frozenset(trail.edges), trail)
        beam = [trail for _, trail in ranked[:BEAM]]
    return _varied(sorted(found.values(), key=lambda one: (-one.score, len(one.edges), one.edges)))


def trail_scores(graph: KnowledgeGraph, trails: Sequence[Trail]) -> dict[int, float]:
    """Passages by id that are evidence of a path, the best first, each with its best path's score, over 0 to 1.

    It is the cosine as it is: where no path fits the question, none of their passages is pushed.
    """
    scores: dict[int, float] = {}
    for trail in trails:
        for edge in trail.edges if trail.score > 0 else ():
            for chunk_id in graph.evidence_of(edge).tolist():
                scores[chunk_id] = max(scores.get(chunk_id, 0.0), min(1.0, trail.score))
    return {key: scores[key] for key in sorted(scores, key=lambda key: (-scores[key], key))}


def graph_path(graph: KnowledgeGraph, trail: Trail) -> GraphPath:
    """The path as a record."""
    keys = tuple(graph.entity(number).key for number in trail.entities)
    return GraphPath(keys, tuple(graph.relation(edge) for edge in trail.edges), round(trail.score, 6))


def triple_text(graph: KnowledgeGraph, edge: int) -> str:
    """A relation as words: "Tesla has founder Elon Musk"; two names where nothing is said of how they relate."""
    kind = graph.kind(edge)
    says = "and" if kind == CO_OCCURS else kind.replace("_", " ").casefold()
    return f"{graph.label(int(graph.sources[edge]))} {says} {graph.label(int(graph.targets[edge]))}"


def by_words(question: str) -> tuple[NDArray[np.float32], Vectors]:
    """The question's vector and what makes those of texts where there is no embedder: the question's own terms."""
    terms = {term: place for place, term in enumerate(dict.fromkeys(tokenize(question)))}
    width = max(len(terms), 1)

    def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), width), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            its = set(tokenize(text))
            for term in its & terms.keys():
                row[terms[term]] = 1.0 / math.sqrt(len(its))
        return rows

    return np.full(width, 1.0 / math.sqrt(width), dtype=np.float32), vectors


def _continuations(graph: KnowledgeGraph, trail: Trail, seeds: Sequence[int], most: int) -> list[tuple[int, int]]:
    """(relation, entity at its other end) of the strongest relations that lead to where the path has not been.

    Those to another seed come first: what connects two things that the question names is what it asks for.
    """
    _, edges, others = graph.around(np.array([trail.entities[-1]], dtype=np.int64))
    # To a hub rather not: it is beside everything, and says little.
    strengths = edge_strengths(graph, edges) * damping(graph, others) + np.isin(others, list(seeds))
    ahead: dict[int, int] = {}
    for at in np.argsort(-strengths, kind="stable").tolist():
        other = int(others[at])
        if other not in trail.entities:
            ahead.setdefault(int(edges[at]), other)
        if len(ahead) >= most:
            break
    return list(ahead.items())


def _score(edges: tuple[int, ...], question: NDArray[np.float32], cache: Mapping[int, NDArray[np.float32]]) -> float:
    mean = np.sum([cache[edge] for edge in edges], axis=0)
    length = float(np.linalg.norm(mean))
    return float(mean @ question) / length if length > 0 else 0.0


def _diversity(n: int) -> float:
    return math.exp(-min(n, DIVERSITY) / DIVERSITY)


def _varied(trails: Sequence[Trail]) -> tuple[Trail, ...]:
    """The best of them; one whose relations a better one has, too, adds nothing and is left out."""
    kept: list[Trail] = []
    for trail in trails:
        edges = set(trail.edges)
        if not any(edges <= set(better.edges) for better in kept):
            kept.append(trail)
        if len(kept) >= MOST_TRAILS:
            break
    return tuple(kept)
