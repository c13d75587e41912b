"""How likely the difference of two ways of asking the same questions is chance: two-sided tests for pairs."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from ragscience.evaluation.answer_metrics import SEED

ENUMERATED = 14
"""Differences up to which all 2**n signs are tried."""
FLIPS = 20_000
"""Random signs tried beyond that."""
_AT_ONCE = 500
_ROUNDING = 1e-9


def p_of(pairs: Sequence[tuple[float, float]]) -> float:
    """By McNemar's test where every value is 0 or 1, else by sign_flip; of at least one pair."""
    values = np.asarray(pairs, np.float64)
    differences = values[:, 1] - values[:, 0]
    if np.isin(values, (0.0, 1.0)).all():
        return mcnemar(int((differences > _ROUNDING).sum()), int((differences < -_ROUNDING).sum()))
    return sign_flip(differences)


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


def shown_p(p: float) -> str:
    """A p-value with three decimals: "0.031", or "<0.001"."""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"
