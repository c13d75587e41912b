"""What a walk says beside its passages: concepts near the question, and the papers that mention them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragscience.graph.entity_names import folded

if TYPE_CHECKING:
    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.graph.traversal import Walk

__all__ = ["MOST_CONCEPTS", "related_concepts", "related_passages"]

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
