import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.search.fusion import by_max, min_max, reciprocal_rank, shared_weights, weighted_sum

SCORES = st.dictionaries(st.integers(1, 50), st.floats(-1e3, 1e3), max_size=12)


@given(SCORES)
def test_min_max_spans_zero_to_one_and_keeps_the_order(scores):
    scaled = min_max(scores)
    assert scaled.keys() == scores.keys()
    if len(set(scores.values())) > 1:
        assert min(scaled.values()) == 0.0
        assert max(scaled.values()) == 1.0
    for one in scores:
        for other in scores:
            if scores[one] < scores[other]:
                assert scaled[one] <= scaled[other]


def test_equal_scores_are_all_best():
    assert min_max({3: 2.5, 9: 2.5}) == {3: 1.0, 9: 1.0}


def test_the_guides_weights_by_hand():
    fused = weighted_sum([(0.7, {1: 0.9, 2: 0.5, 3: 0.1}), (0.3, {2: 12.0, 4: 4.0})])
    assert fused == pytest.approx({1: 0.7, 2: 0.7 * 0.5 + 0.3, 3: 0.0, 4: 0.0})


def test_reciprocal_rank_by_hand():
    fused = reciprocal_rank([(1.0, [7, 8]), (1.0, [8, 9])])
    assert fused == pytest.approx({7: 1 / 61, 8: 1 / 62 + 1 / 61, 9: 1 / 62})


def test_over_the_highest_by_hand():
    assert by_max({1: 12.5, 2: 10.0, 3: 0.0, 4: -5.0}) == pytest.approx({1: 1.0, 2: 0.8, 3: 0.0, 4: 0.0})
    assert by_max({1: 0.0, 2: -1.0}) == {1: 0.0, 2: 0.0}
    assert by_max({}) == {}


def test_the_weights_of_a_graph_that_is_not_there_are_shared_in_proportion():
    weights = {"dense": 0.45, "bm25": 0.20, "graph": 0.20, "gear": 0.15}
    assert shared_weights(weights, {"dense", "bm25"}) == pytest.approx({"dense": 0.45 / 0.65, "bm25": 0.20 / 0.65})
    assert shared_weights(weights, weights) == weights
    assert shared_weights({"dense": 0.0, "graph": 1.0}, {"dense"}) == {"dense": 0.0}


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 2), min_size=1), st.sets(st.sampled_from("abcdef")))
def test_shared_weights_keep_their_sum_and_proportion(weights, present):
    shared = shared_weights(weights, present)
    assert shared.keys() == weights.keys() & present
    if shared:
        assert sum(shared.values()) == pytest.approx(sum(weights.values()))
        ratios = [shared[name] / weights[name] for name in shared]
        assert ratios == pytest.approx([ratios[0]] * len(ratios))
