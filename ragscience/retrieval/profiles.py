"""The ways to search, in one table."""

from __future__ import annotations

from dataclasses import replace

from ragscience.errors import UsageError
from ragscience.records import Profile

__all__ = ["PROFILE_NAMES", "profile_named"]

PROFILE_NAMES = ("default", "rrf", "balanced")


def profile_named(
    name: str, *, candidates: int, top_k: int, dense_weight: float, bm25_weight: float, wanted: int | None
) -> Profile:
    """The profile `name`; `default` takes its numbers from the settings, `rrf` is that of the agentic notes.

    `balanced` weighs words as much as meaning and reads nothing again: the best on SciFact (docs/choices.md).

    `wanted` is how many passages were asked for, or None for as many as the profile gives; the candidate lists grow
    with it, so that 50 asked for are 50 found. Raises UsageError for a name that is not in the table.
    """
    table = {
        "default": Profile("default", candidates, candidates, "weighted", dense_weight, bm25_weight, candidates, top_k),
        "rrf": Profile("rrf", 20, 20, "rrf", 1.0, 1.0, 20, 5),
        "balanced": Profile("balanced", 20, 20, "weighted", 0.5, 0.5, 0, 4),
    }
    if name not in table:
        raise UsageError(f"There is no profile {name!r}.", f"Take one of: {', '.join(table)}.")
    profile = table[name]
    if wanted is None:
        return profile
    return replace(
        profile,
        top_k=wanted,
        dense_candidates=max(profile.dense_candidates, wanted),
        bm25_candidates=max(profile.bm25_candidates, wanted),
        rerank_depth=max(profile.rerank_depth, wanted) if profile.rerank_depth else 0,
    )
