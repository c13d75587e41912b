"""Whether one way of asking is better than another, on the same questions.

A difference between two means of the same questions is judged by the questions on which they differ, not by the two
intervals. Both tests are two-sided and exact where that can be afforded; nothing is corrected for how many measures are
looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from ragscience.evaluation.answer_metrics import MEASURES, SEED, Estimate, estimate

__all__ = ["Comparison", "compare", "mcnemar", "paired", "sign_flip"]

ENUMERATED = 14
"""Differences up to which all 2**n signs are tried."""
FLIPS = 20_000
"""Random signs tried beyond that."""
_AT_ONCE = 500
_ROUNDING = 1e-9
_NOT_PAIRED = ("refusal precision",)
"""Measured on the refused questions alone, which are others for each way of asking."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of two ways of asking, on the questions that have it in both."""

    first: float
    """Its mean with the first way,"""
    second: float
    """and with the second."""
    difference: Estimate
    """Second minus first: the mean over the questions, and its bootstrap interval."""
    higher: int
    """On how many questions the second is higher,"""
    lower: int
    """and on how many it is lower."""
    p: float
    """How likely a difference as large would be if the two were alike."""
    test: str
    """ "McNemar" is the exact test."""


def compare(
    first: Mapping[str, Mapping[str, float]], second: Mapping[str, Mapping[str, float]]
) -> dict[str, Comparison]:
    """Each measure that is there for some question in both, in the order of MEASURES.

    `first` and `second` map a question's id to its values.
    """
    both = [(first[key], second[key]) for key in first if key in second]
    found = {}
    for name in MEASURES:
        pairs = [(one[name], other[name]) for one, other in both if name in one and name in other]
        if pairs and name not in _NOT_PAIRED:
            found[name] = paired(pairs)
    return found


def paired(pairs: Sequence[tuple[float, float]]) -> Comparison:
    """The comparison of one measure, from its values (first, second) on each question, of which there is at least one.

    Measures that are 0 or 1 everywhere are tested by McNemar's test, all others by sign_flip.
    """
    values = np.asarray(pairs, np.float64)
    differences = values[:, 1] - values[:, 0]
    higher, lower = int((differences > _ROUNDING).sum()), int((differences < -_ROUNDING).sum())
    if np.isin(values, (0.0, 1.0)).all():
        p, test = mcnemar(higher, lower), "McNemar"
    else:
        p, test = sign_flip(differences), "sign flip"
    first, second = (float(mean) for mean in values.mean(axis=0))
    return Comparison(first, second, estimate(differences.tolist()), higher, lower, p, test)


def mcnemar(higher: int, lower: int) -> float:
    """The exact p-value of so many questions won and lost: two-sided, binomial with one half.

    McNemar 1947, "Note on the sampling error of the difference between correlated proportions or percentages", in its
    exact form (Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91, section 2.3).
    """
    total = higher + lower
    tail = sum(comb(total, i) for i in range(min(higher, lower) + 1))
    return min(1.0, 2 * tail / (1 << total))


def sign_flip(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """The p-value of a mean difference: how often it is as far from 0 with signs at random.

    Fisher's randomisation test for pairs (The Design of Experiments, 1935, section 21). All signs are tried for up to
    ENUMERATED differences that are not 0; beyond that FLIPS random ones with a fixed seed, the real ones counted in
    (Phipson and Smyth 2010, "Permutation p-values should never be zero").
    """
    kept = np.asarray(differences, np.float64)
    kept = kept[np.abs(kept) > _ROUNDING]
    if not kept.size:
        return 1.0
    # A little less than it is, so that sums which differ by rounding alone count as equal.
    observed = float(np.abs(kept.sum()) - _ROUNDING * np.abs(kept).sum())
    if kept.size <= ENUMERATED:
        bits = (np.arange(2**kept.size)[:, None] >> np.arange(kept.size)) & 1
        return float(np.mean(np.abs((1 - 2 * bits) @ kept) >= observed))
    draw, as_far = np.random.default_rng(SEED), 0
    for _ in range(FLIPS // _AT_ONCE):
        signs = draw.choice(np.array([-1.0, 1.0]), (_AT_ONCE, kept.size))
        as_far += int(np.count_nonzero(np.abs(signs @ kept) >= observed))
    return (as_far + 1) / (FLIPS + 1)
