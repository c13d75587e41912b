"""Two ranked lists become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["RRF_CONSTANT", "min_max", "reciprocal_rank", "weighted_sum"]

RRF_CONSTANT = 60
"""Cormack, Clarke and Buettcher 2009 (SIGIR), "Reciprocal rank fusion outperforms Condorcet …": k = 60."""


def min_max(scores: Mapping[int, float]) -> dict[int, float]:
    """The scores moved and stretched to 0-1; where all are equal, all are 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def weighted_sum(lists: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    """For each id the sum over lists of weight x min-max score; a list that lacks the id adds nothing."""
    fused: dict[int, float] = {}
    for weight, scores in lists:
        for key, score in min_max(scores).items():
            fused[key] = fused.get(key, 0.0) + weight * score
    return fused


def reciprocal_rank(lists: Sequence[tuple[float, Sequence[int]]]) -> dict[int, float]:
    """For each id the sum over lists of weight / (60 + rank), rank from 1."""
    fused: dict[int, float] = {}
    for weight, ids in lists:
        for rank, key in enumerate(ids, start=1):
            fused[key] = fused.get(key, 0.0) + weight / (RRF_CONSTANT + rank)
    return fused
