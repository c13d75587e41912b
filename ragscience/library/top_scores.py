"""The arrays that the library's modules pass to each other, and the best of many scores, deterministic."""

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
"""Numbers of passages."""
Matrix = NDArray[np.float32]
"""A vector, or vectors as rows."""
Scores = NDArray[np.float64]
Codes = NDArray[np.uint8]
"""Codes of token vectors, or bits."""
Ranked = tuple[Ids, Scores]
"""Numbers of passages and a score for each."""
Stored = tuple[Ids, Matrix]
"""Numbers of passages and a vector for each."""


def best_first(ids: Ids, scores: Scores, k: int) -> Ranked:
    """The `k` best, higher scores first; ties by lower id, also at the cut.

    Both arrays have shape (n,), in any order; the results have shape (min(k, n),).
    """
    if k <= 0:
        return nothing()
    if scores.size > k:
        cut = np.partition(scores, scores.size - k)[scores.size - k]
        above = np.flatnonzero(scores > cut)
        level = np.flatnonzero(scores == cut)
        level = level[np.argsort(ids[level], kind="stable")[: k - above.size]]
        kept = np.concatenate([above, level])
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]


def nothing() -> Ranked:
    """No ids and no scores."""
    return np.empty(0, np.int64), np.empty(0, np.float64)


def places(ids: Ids, wanted: Ids) -> tuple[Ids, NDArray[np.bool_]]:
    """(positions in `ids`, ascending, of the members of `wanted`; which of `wanted` those are, bool)."""
    if ids.size and int(ids[-1]) - int(ids[0]) == ids.size - 1:  # no gaps: no search needed
        place = wanted - ids[0]
        inside = (place >= 0) & (place < ids.size)
        return place[inside], inside
    place = np.searchsorted(ids, wanted)
    inside = place < ids.size
    inside[inside] = ids[place[inside]] == wanted[inside]
    return place[inside], inside


def marked(ids: Ids, wanted: Ids) -> NDArray[np.bool_]:
    """Which of `ids` (ascending) are in `wanted`, shape of `ids`; fast for few wanted ones among many ids."""
    marks = np.zeros(ids.size, np.bool_)
    marks[places(ids, wanted)[0]] = True
    return marks


def shared(one: Ids, other: Ids) -> Ids:
    """The intersection of two ascending arrays, ascending."""
    few, many = (one, other) if one.size <= other.size else (other, one)
    return many[marked(many, few)]
