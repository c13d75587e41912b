"""From entities and relations that a walk reached to the passages that name them and say them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.graph.traversal import Walk

__all__ = ["passage_scores", "specificity"]

SEED_BOOST = 2.0
"""A mention of an entity that the question names counts so many times one that is as near."""
MOST_SCORED = 1_000
"""Entities, and relations, whose passages are counted: the strongest."""


def passage_scores(graph: KnowledgeGraph, walked: Walk, *, passages: int, most: int) -> dict[int, float]:
    """At most `most` passages by id, the best first, each with 0 to 1; the best one has 1.

    A passage gets the strength of each entity that it names, times how specific that is among `passages` in all, seeds
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
        said = graph.evidence_of(int(walked.edges[at])).tolist()
        share = float(walked.edge_strengths[at]) * specificity(len(said), passages)
        for chunk_id in said:
            scores[chunk_id] = scores.get(chunk_id, 0.0) + share
    kept = sorted((key for key in scores if scores[key] > 0), key=lambda key: (-scores[key], key))[:most]
    return {chunk_id: scores[chunk_id] / scores[kept[0]] for chunk_id in kept}


def specificity(count: int, passages: int) -> float:
    """1 for what one passage has, near 0 for what all have: log((N + 1) / n) / log(N + 1)."""
    everything = max(passages, count, 1)
    return math.log((everything + 1) / max(count, 1)) / math.log(everything + 1)
