"""BM25 of given passages, from their own terms and from how common these are in the library: as in keywords.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Frequencies", "bm25", "counts_in", "norms_of"]

K1, B = 1.2, 0.75
_LEAST_IDF = 1e-6


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How common terms are in a library."""

    passages: int
    """How many there are."""
    mean_terms: float
    """How many terms a passage has on average."""
    having: dict[str, int] = field(default_factory=dict)
    """How many passages have each term."""


def bm25(terms: Sequence[str], passages: Sequence[Sequence[str]], known: Frequencies) -> NDArray[np.float64]:
    """The score of each passage, given by all its terms, for distinct terms; float64, shape (len(passages),)."""
    import numpy as np

    having = np.array([known.having.get(term, 0) for term in terms], np.float64)
    idf = np.maximum(np.log((known.passages - having + 0.5) / (having + 0.5)), _LEAST_IDF)
    counts = counts_in(terms, passages)
    return np.asarray((idf[:, np.newaxis] * counts * (K1 + 1) / (counts + norms_of(passages, known))).sum(axis=0))


def counts_in(terms: Sequence[str], passages: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """How often each term occurs in each passage, shape (terms, passages)."""
    import numpy as np

    found = [Counter(passage) for passage in passages]
    return np.array([[one[term] for one in found] for term in terms], np.float64).reshape(len(terms), len(found))


def norms_of(passages: Sequence[Sequence[str]], known: Frequencies) -> NDArray[np.float64]:
    """`k1 * (1 - b + b * length / mean length)` of each passage, shape (passages,)."""
    import numpy as np

    lengths = np.array([len(passage) for passage in passages], np.float64)
    return np.asarray(K1 * (1 - B + B * lengths / max(known.mean_terms, 1e-9)), np.float64)
