"""Whether a difference between two ways of asking is more than chance, held against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.significance import mcnemar, p_of, shown_p, sign_flip
from ragscience.evaluation.eval_report import paired


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_wins_and_losses(higher, lower):
    from scipy.stats import binomtest

    expected = binomtest(higher, higher + lower).pvalue if higher + lower else 1.0
    assert mcnemar(higher, lower) == pytest.approx(expected)


def by_scipy(differences):
    from scipy.stats import permutation_test

    found = permutation_test(
        (np.array(differences),), np.mean, permutation_type="samples", n_resamples=2**20, vectorized=False
    )
    return found.pvalue


@settings(max_examples=15)
@given(st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=2, max_size=8))
def test_the_sign_flip_test_is_exact_for_few_questions(differences):
    assert sign_flip(differences) == pytest.approx(by_scipy(differences))


def test_what_is_0_or_1_everywhere_gets_the_exact_test_of_proportions():
    both = [(0.0, 1.0)] * 6 + [(1.0, 1.0)] * 10
    found = paired(both)
    assert (found.higher, found.lower, p_of(both), shown_p(p_of(both))) == (6, 0, 0.03125, "0.031")
    assert shown_p(0.0004) == "<0.001"
