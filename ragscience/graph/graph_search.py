"""Graph retrieval: scores of passages, related concepts, papers to search in, and paths of triples.

Paths lead from a question's entities to what it asks for, found by beam search after GeAR (Shen et al. 2024, "GeAR:
Graph-enhanced Agent for Retrieval-augmented Generation", section 3.2): a path's score is the similarity of the question
to its triples, and the n-th continuation of one path counts less, so that the beam does not fill with variants of one
beginning. A path's vector is the mean of its triples' vectors, so that each triple is embedded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem
from ragscience.core.tokenizing import tokenize
from ragscience.graph.entity_linking import Named, candidates_said, link
from ragscience.graph.graph_records import CO_OCCURS, GraphPath
from ragscience.graph.traversal import (
    Walk,
    damping,
    edge_strengths,
    passage_scores,
    related_concepts,
    related_passages,
    walk,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.models.model_protocols import ChatModel, Embedder

__all__ = [
    "MOST_EMBEDDED",
    "GraphSearch",
    "Trail",
    "Vectors",
    "best_trails",
    "by_words",
    "graph_path",
    "trail_scores",
    "triple_text",
]

BEAM = 8
"""Beam width: paths that continue from step to step."""
CONTINUATIONS = 32
"""Maximum continuations of a path: the strongest relations."""
FEWEST = 4
"""Minimum continuations of a path, however many paths there are."""
MOST_EMBEDDED = 96
"""Maximum triples embedded for one question."""
DIVERSITY = 8
"""The n-th continuation of one path, from 0, counts exp(-min(n, DIVERSITY) / DIVERSITY) of its score."""
MOST_TRAILS = 8
"""Maximum paths returned."""

Vectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Embeds texts: unit rows, shape (len(texts), dimension), float32."""


@dataclass(frozen=True, slots=True)
class Trail:
    """A partial path: relations (numbers) from a seed, and its current end."""

    edges: tuple[int, ...]
    entities: tuple[int, ...]
    """The entities on the path, one more than relations; none occurs twice."""
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

    `question` is a unit vector. At most MOST_EMBEDDED triples go through `vectors`, in one call per step; `cache`
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
    """Ids of passages that are evidence of a path, the best first, each with its best path's score, over 0 to 1.

    The score is the cosine, unscaled: if no path fits the question, none of their passages is promoted.
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
    """A relation as words: "Tesla has founder Elon Musk"; two names joined by "and" for a co-occurrence."""
    kind = graph.kind(edge)
    says = "and" if kind == CO_OCCURS else kind.replace("_", " ").casefold()
    return f"{graph.label(int(graph.sources[edge]))} {says} {graph.label(int(graph.targets[edge]))}"


def by_words(question: str) -> tuple[NDArray[np.float32], Vectors]:
    """Bag-of-words vectors without an embedder: the question's vector, and a function for texts, over its terms."""
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
    """(relation, entity at its other end) of the strongest relations to entities that are not on the path.

    Those to another seed come first: what connects two entities of the question is what it asks for.
    """
    _, edges, others = graph.around(np.array([trail.entities[-1]], dtype=np.int64))
    # Penalise hubs: they are neighbours of everything, and tell little.
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
    """The best paths; one whose relations a better one has too is redundant and left out."""
    kept: list[Trail] = []
    for trail in trails:
        edges = set(trail.edges)
        if not any(edges <= set(better.edges) for better in kept):
            kept.append(trail)
        if len(kept) >= MOST_TRAILS:
            break
    return tuple(kept)


MOST_PASSAGES = 60
"""Passages that the graph returns for a question, for each of its two scores."""
MOST_KEPT = 20_000
"""Vectors of triples cached from question to question."""
LINKING_SECONDS = 20.0
"""Timeout for a model to find the names in a question; then its words are looked up."""


@dataclass(frozen=True, slots=True)
class _Results:
    """The cached results of a question."""

    seeds: tuple[Named, ...]
    walked: Walk
    trails: tuple[Trail, ...] | None = None


class GraphSearch:
    """Search in one graph; the results for a question are cached for all its uses."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        embedder: Embedder | None,
        passages: int,
        hops: int,
        types: Sequence[str],
        warning: Callable[[str], None],
    ) -> None:
        """`passages` is how many the library has; `types` are the entity types to use (none: all).

        Without an embedder paths are compared with the question by its words.
        """
        self.graph = graph
        self._embedder = embedder
        self._passages = passages
        self._hops = hops
        self._types = frozenset(types)
        self._warning = warning
        self._results: dict[str, _Results] = {}
        self.triples: dict[int, NDArray[np.float32]] = {}
        """Vectors of triples by relation number; may be shared between questions."""
        self.llm: ChatModel | None = None
        """Finds the names in a question, if set; else the question's words are looked up."""

    @property
    def sources(self) -> Mapping[str, Callable[[str], Mapping[int, float]]]:
        """Scores of passages for a question, by their names in a profile."""
        return {"graph": self.graph_scores, "gear": self.gear_scores}

    def seeds(self, question: str) -> tuple[Named, ...]:
        """The entities that the question names."""
        return self._of(question).seeds

    def graph_scores(self, question: str) -> dict[int, float]:
        """Passages near the question's entities, 0 to 1."""
        walked = self._of(question).walked
        return passage_scores(self.graph, walked, passages=self._passages, most=MOST_PASSAGES)

    def gear_scores(self, question: str) -> dict[int, float]:
        """Passages on the paths that fit the question best, 0 to 1. Raises ModelProblem where the embedder fails."""
        scores = trail_scores(self.graph, self._trails(question))
        return dict(list(scores.items())[:MOST_PASSAGES])

    def paths(self, question: str) -> tuple[GraphPath, ...]:
        """Those paths, best first. Raises ModelProblem where the embedder fails."""
        return tuple(graph_path(self.graph, trail) for trail in self._trails(question))

    def concepts(self, question: str) -> tuple[str, ...]:
        """Names near the question, for the prompt (the graph guide)."""
        return related_concepts(self.graph, self._of(question).walked)

    def passages(self, question: str) -> set[int]:
        """Ids of all passages that mention any related entity; empty if the question names no entity."""
        return related_passages(self.graph, self._of(question).walked)

    def _of(self, question: str) -> _Results:
        if question not in self._results:
            seeds = link(question, self.graph, types=self._types, candidates=self._candidates(question))
            walked = walk(self.graph, [(one.number, one.weight) for one in seeds], hops=self._hops, types=self._types)
            self._results[question] = _Results(seeds, walked)
        return self._results[question]

    def _candidates(self, question: str) -> list[str] | None:
        if self.llm is None:
            return None
        try:
            return candidates_said(question, self.llm, seconds=LINKING_SECONDS)
        except ModelProblem as problem:
            self._warning(str(problem))
            return None

    def _trails(self, question: str) -> tuple[Trail, ...]:
        results = self._of(question)
        if results.trails is None:
            vector, vectors, cache = self._vectors(question)
            seeds = [one.number for one in results.seeds]
            trails = best_trails(self.graph, seeds, vector, vectors, hops=self._hops, cache=cache)
            results = self._results[question] = _Results(results.seeds, results.walked, trails)
        return results.trails or ()

    def _vectors(self, question: str) -> tuple[NDArray[np.float32], Vectors, dict[int, NDArray[np.float32]]]:
        if self._embedder is None:
            return *by_words(question), {}
        if len(self.triples) > MOST_KEPT:
            self.triples.clear()
        return self._embedder.embed_query(question), self._embedder.embed_documents, self.triples
