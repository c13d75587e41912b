"""Shows the same passage once, though two files contain it: the same paper in other bytes, or in another version."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.core.records import StoredChunk

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["first_of_each"]

_SHINGLE_WORDS = 4
_SAME = 0.9
"""Jaccard similarity at which two passages count as the same."""


def first_of_each(candidates: Sequence[int], wanted: int, library: Store) -> tuple[list[StoredChunk], int]:
    """(the first `wanted` of the passages `candidates`, without repetitions of an earlier one; how many repeated one).

    Two passages are the same if their words are, or if they share nine tenths of all their runs of four words.
    Ids that are no longer in the library are left out.
    """
    kept: list[StoredChunk] = []
    seen: list[_Words] = []
    folded = 0
    for first in range(0, len(candidates), wanted):
        for chunk in library.chunks(candidates[first : first + wanted]):
            words = _Words(chunk.text)
            if any(words.say_the_same_as(other) for other in seen):
                folded += 1
                continue
            kept.append(chunk)
            seen.append(words)
            if len(kept) == wanted:
                return kept, folded
    return kept, folded


class _Words:
    """The text normalised for comparison."""

    def __init__(self, text: str) -> None:
        words = unicodedata.normalize("NFKC", text).casefold().split()
        self._whole = " ".join(words)
        runs = zip(*(words[start:] for start in range(_SHINGLE_WORDS)), strict=False)
        self._shingles = frozenset(map(hash, runs))

    def say_the_same_as(self, other: _Words) -> bool:
        if self._whole == other._whole:
            return True
        shared = len(self._shingles & other._shingles)
        return shared > 0 and shared >= _SAME * (len(self._shingles) + len(other._shingles) - shared)
