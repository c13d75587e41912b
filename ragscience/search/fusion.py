"""Fuses several ranked lists into one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

RRF_CONSTANT = 60
"""Cormack, Clarke and Buettcher 2009 (SIGIR), "Reciprocal rank fusion outperforms Condorcet …": k = 60."""


def min_max(scores: Mapping[int, float]) -> dict[int, float]:
    """The scores min-max scaled to 0-1; if all are equal, all are 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def by_max(scores: Mapping[int, float]) -> dict[int, float]:
    """The scores divided by the highest, negative ones as 0; if none is above 0, all are 0."""
    high = max(scores.values(), default=0.0)
    if high <= 0:
        return dict.fromkeys(scores, 0.0)
    return {key: max(0.0, score) / high for key, score in scores.items()}


def weighted_sum(lists: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    """For each id the sum over lists of weight x min-max score; a list without the id adds nothing."""
    return plain_sum([(weight, min_max(scores)) for weight, scores in lists])


def plain_sum(lists: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    """For each id the sum over lists of weight x score; a list without the id adds nothing."""
    fused: dict[int, float] = {}
    for weight, scores in lists:
        for key, score in scores.items():
            fused[key] = fused.get(key, 0.0) + weight * score
    return fused


def reciprocal_rank(lists: Sequence[tuple[float, Sequence[int]]]) -> dict[int, float]:
    """For each id the sum over lists of weight / (60 + rank), rank from 1."""
    fused: dict[int, float] = {}
    for weight, ids in lists:
        for rank, key in enumerate(ids, start=1):
            fused[key] = fused.get(key, 0.0) + weight / (RRF_CONSTANT + rank)
    return fused


def shared_weights(weights: Mapping[str, float], present: Collection[str]) -> dict[str, float]:
    """The weights of those `present`, rescaled to the sum of all `weights`.

    If those present have no weight together, all get 0.
    """
    kept = {name: weight for name, weight in weights.items() if name in present}
    total = sum(kept.values())
    if len(kept) == len(weights) or total <= 0:
        return kept
    return {name: weight * sum(weights.values()) / total for name, weight in kept.items()}
