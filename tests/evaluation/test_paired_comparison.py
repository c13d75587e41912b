"""Whether a difference between two ways of asking is more than chance, held against scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.significance import ENUMERATED, FLIPS, mcnemar, p_of, shown_p, sign_flip
from ragscience.evaluation.eval_report import compare, paired


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


def test_the_sign_flip_test_of_many_questions_is_near_the_exact_one():
    draw = np.random.default_rng(5)
    differences = draw.normal(0.35, 1.0, ENUMERATED + 1)
    assert sign_flip(differences) == pytest.approx(by_scipy(differences), abs=0.02)
    assert sign_flip(differences) == sign_flip(differences)
    assert sign_flip([1.0 + n / 100 for n in range(60)]) == 1 / (FLIPS + 1)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
@settings(max_examples=30)
def test_the_order_of_the_two_changes_signs_alone(pairs):
    there, back = paired(pairs), paired([(b, a) for a, b in pairs])
    assert (there.first, there.second, there.higher, there.lower) == (back.second, back.first, back.lower, back.higher)
    assert p_of(pairs) == pytest.approx(p_of([(b, a) for a, b in pairs]))
    assert 0 < p_of(pairs) <= 1
    assert there.difference.mean == pytest.approx(-back.difference.mean)
    assert there.difference.low <= there.difference.mean + 1e-9
    assert there.difference.mean <= there.difference.high + 1e-9


def test_what_is_0_or_1_everywhere_gets_the_exact_test_of_proportions():
    both = [(0.0, 1.0)] * 6 + [(1.0, 1.0)] * 10
    found = paired(both)
    assert (found.higher, found.lower, p_of(both), shown_p(p_of(both))) == (6, 0, 0.03125, "0.031")
    assert shown_p(0.0004) == "<0.001"


def test_questions_are_paired_by_their_ids_where_both_have_the_measure():
    first = {"a": {"answer": 0.0, "seconds": 1.0}, "b": {"answer": 1.0}, "c": {"answer": 1.0}, "z": {"answer": 1.0}}
    second = {"c": {"answer": 1.0}, "a": {"answer": 1.0, "seconds": 3.0}, "b": {"refusal precision": 1.0}}
    found = compare(first, second)
    answers, seconds = found["answer"], found["seconds"]
    assert list(found) == ["answer", "seconds"]
    assert (answers.difference.questions, answers.higher, answers.lower) == (2, 1, 0)
    assert (seconds.first, seconds.second, seconds.difference.mean) == (1.0, 3.0, 2.0)
    assert compare({}, second) == {}
