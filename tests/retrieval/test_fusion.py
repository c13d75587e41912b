import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.errors import UsageError
from ragscience.retrieval import PROFILE_NAMES, profile_named
from ragscience.retrieval.fusion import min_max, reciprocal_rank, weighted_sum

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


def numbers(name, wanted=None):
    return profile_named(name, candidates=20, top_k=4, dense_weight=0.7, bm25_weight=0.3, wanted=wanted)


def test_every_profile_has_its_name():
    for name in PROFILE_NAMES:
        assert numbers(name).name == name


def test_asking_for_more_widens_the_lists():
    profile = numbers("default", wanted=50)
    assert (profile.top_k, profile.dense_candidates, profile.bm25_candidates, profile.rerank_depth) == (50, 50, 50, 50)


def test_balanced_reads_nothing_again_however_many_are_asked_for():
    assert numbers("balanced", wanted=50).rerank_depth == 0
    assert numbers("balanced", wanted=50).top_k == 50


def test_asking_for_fewer_keeps_the_lists():
    profile = numbers("default", wanted=1)
    assert (profile.top_k, profile.dense_candidates) == (1, 20)


def test_an_unknown_profile_names_the_known():
    with pytest.raises(UsageError, match=r"no profile 'fast'.*default, rrf, balanced"):
        numbers("fast")
