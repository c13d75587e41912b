"""The graph as a search uses it: two sources of scores for passages, related concepts, papers to keep to, and paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.errors import ModelProblem
from ragscience.graph.entity_linking import Named, candidates_said, link
from ragscience.graph.gear import Trail, Vectors, best_trails, by_words, graph_path, trail_scores
from ragscience.graph.graph_records import GraphPath
from ragscience.graph.passage_scores import passage_scores
from ragscience.graph.related_concepts import related_concepts, related_passages
from ragscience.graph.traversal import Walk, walk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.models.model_protocols import Embedder
    from ragscience.models.structured_output import StructuredLLM

__all__ = ["GraphSearch"]

MOST_PASSAGES = 60
"""Passages that the graph names for a question, of each of its two kinds of score."""
MOST_KEPT = 20_000
"""Vectors of triples that are kept from question to question."""
LINKING_SECONDS = 20.0
"""Longest time for a model to say which names a question has; its words are looked up then."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question is to the graph."""

    seeds: tuple[Named, ...]
    walked: Walk
    trails: tuple[Trail, ...] | None = None


class GraphSearch:
    """One graph and the questions that are asked of it; what is found for a question is kept for all its uses."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        embedder: Embedder | None,
        passages: int,
        hops: int,
        types: Sequence[str],
        notice: Callable[[str], None],
    ) -> None:
        """`passages` is how many the library has; `types` are the entities that count (none: all).

        Without an embedder paths are compared with the question by its words.
        """
        self.graph = graph
        self._embedder = embedder
        self._passages = passages
        self._hops = hops
        self._types = frozenset(types)
        self._notice = notice
        self._asked: dict[str, _Asked] = {}
        self._triples: dict[int, NDArray[np.float32]] = {}
        self.llm: StructuredLLM | None = None
        """Says which names a question has, where it is there; else the question's words are looked up."""

    @property
    def sources(self) -> Mapping[str, Callable[[str], Mapping[int, float]]]:
        """Scores of passages for a question, by the names that a profile has for them."""
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
        """Names near the question, as the graph guide puts them into the prompt."""
        return related_concepts(self.graph, self._of(question).walked)

    def passages(self, question: str) -> set[int]:
        """Ids of all passages that mention any related entity; none where the question names nothing."""
        return related_passages(self.graph, self._of(question).walked)

    def _of(self, question: str) -> _Asked:
        if question not in self._asked:
            seeds = link(question, self.graph, types=self._types, candidates=self._candidates(question))
            walked = walk(self.graph, [(one.number, one.weight) for one in seeds], hops=self._hops, types=self._types)
            self._asked[question] = _Asked(seeds, walked)
        return self._asked[question]

    def _candidates(self, question: str) -> list[str] | None:
        if self.llm is None:
            return None
        try:
            return candidates_said(question, self.llm, seconds=LINKING_SECONDS)
        except ModelProblem as problem:
            self._notice(str(problem))
            return None

    def _trails(self, question: str) -> tuple[Trail, ...]:
        asked = self._of(question)
        if asked.trails is None:
            vector, vectors, cache = self._vectors(question)
            seeds = [one.number for one in asked.seeds]
            trails = best_trails(self.graph, seeds, vector, vectors, hops=self._hops, cache=cache)
            asked = self._asked[question] = _Asked(asked.seeds, asked.walked, trails)
        return asked.trails or ()

    def _vectors(self, question: str) -> tuple[NDArray[np.float32], Vectors, dict[int, NDArray[np.float32]]]:
        if self._embedder is None:
            return *by_words(question), {}
        if len(self._triples) > MOST_KEPT:
            self._triples.clear()
        return self._embedder.embed_query(question), self._embedder.embed_documents, self._triples
