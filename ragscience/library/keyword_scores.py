"""BM25 of passages, from how often terms occur in them and how common these are in the library.

The formula is that of `BM25Okapi` of the package rank-bm25 0.2.2, with its k1, b and epsilon: the tests hold the scores
against it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Frequencies", "bm25", "counts_in", "mean_idf_of", "norms_of", "scores_of"]

K1, B, EPSILON = 1.5, 0.75, 0.25


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How common terms are in a library."""

    passages: int
    """How many there are."""
    mean_terms: float
    """How many terms a passage has on average."""
    having: dict[str, int] = field(default_factory=dict)
    """How many passages have each term."""
    mean_idf: float = 0.0
    """The mean inverse document frequency of all terms, for `idf`; any where each term is in half of them at most."""

    def idf(self, term: str) -> float:
        """ln((N - n + 0.5) / (n + 0.5)), N being the passages and n those with the term.

        Where that is negative, a quarter of the mean (epsilon) stands in for it; 0 for a term that no passage has.
        """
        having = self.having.get(term, 0)
        if not having:
            return 0.0
        idf = math.log(self.passages - having + 0.5) - math.log(having + 0.5)
        return idf if idf >= 0 else EPSILON * self.mean_idf


def mean_idf_of(numbers: Mapping[int, int], passages: int) -> float:
    """The mean inverse document frequency of all terms, negative ones as they are.

    `numbers` are how many terms so many passages have each.
    """
    terms = sum(numbers.values())
    total = sum(
        count * (math.log(max(passages - having, 0) + 0.5) - math.log(having + 0.5))
        for having, count in numbers.items()
    )
    return total / terms if terms else 0.0


def bm25(terms: Sequence[str], passages: Sequence[Sequence[str]], known: Frequencies) -> NDArray[np.float64]:
    """The score of each passage, given by all its terms, float64, shape (len(passages),).

    A term counts as often as `terms`, those of the question, have it.
    """
    return scores_of(terms, counts_in(terms, passages), norms_of([len(each) for each in passages], known), known)


def scores_of(
    terms: Sequence[str], counts: NDArray[np.float64], norms: NDArray[np.float64], known: Frequencies
) -> NDArray[np.float64]:
    """The scores, shape (passages,), from the counts, shape (terms, passages), and the norms, shape (passages,)."""
    import numpy as np

    idf = np.array([known.idf(term) for term in terms], np.float64)
    return np.asarray((idf[:, np.newaxis] * counts * (K1 + 1) / (counts + norms)).sum(axis=0))


def counts_in(terms: Sequence[str], passages: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """How often each term occurs in each passage, shape (terms, passages)."""
    import numpy as np

    found = [Counter(passage) for passage in passages]
    return np.array([[one[term] for one in found] for term in terms], np.float64).reshape(len(terms), len(found))


def norms_of(lengths: Sequence[int], known: Frequencies) -> NDArray[np.float64]:
    """`k1 * (1 - b + b * length / mean length)` of passages of so many terms, shape (passages,)."""
    import numpy as np

    relative = np.array(lengths, np.float64) / max(known.mean_terms, 1e-9)
    return np.asarray(K1 * (1 - B + B * relative), np.float64)
