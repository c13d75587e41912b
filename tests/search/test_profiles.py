"""The table of profiles, held against the documents that it comes from."""

from typing import get_args

import pytest

from ragscience.core.settings import Settings
from ragscience.search.profiles import PROFILE_NAMES, profile_named, read_by_llm, with_graph


def named(name, wanted=None):
    return profile_named(name, Settings(), wanted)


def test_the_table_the_names_and_the_setting_agree():
    assert get_args(Settings.model_fields["profile"].annotation) == PROFILE_NAMES
    assert all(named(name).name == name and named(name).about for name in PROFILE_NAMES)


def test_default_is_made_of_the_settings():
    profile = profile_named("default", Settings(top_k_candidates=7, top_k=3, dense_weight=0.6, bm25_weight=0.4))
    assert (profile.dense_candidates, profile.bm25_candidates, profile.rerank_depth, profile.top_k) == (7, 7, 7, 3)
    assert (profile.dense_weight, profile.bm25_weight, profile.fusion) == (0.6, 0.4, "weighted")


def test_with_the_graph_a_profile_keeps_the_sum_of_its_weights():
    default, rrf, deep = (with_graph(named(name)) for name in ("default", "rrf", "deep"))
    assert dict(default.more_weights) == {"graph": 0.20, "gear": 0.15}
    assert (default.dense_weight, default.bm25_weight) == pytest.approx((0.65 * 0.7, 0.65 * 0.3))
    assert (rrf.dense_weight, dict(rrf.more_weights)["graph"]) == pytest.approx((0.65, 0.4))
    assert deep == named("deep")


def test_asking_for_more_widens_the_lists():
    profile = named("default", wanted=50)
    assert (profile.top_k, profile.dense_candidates, profile.bm25_candidates, profile.rerank_depth) == (50, 50, 50, 50)
    assert named("deep", wanted=100).prefilter == 200
    assert named("default", wanted=50).prefilter == 0


def test_asking_for_fewer_keeps_the_lists():
    profile = named("default", wanted=1)
    assert (profile.top_k, profile.dense_candidates) == (1, 20)
    assert named("even", wanted=1).prefilter == 10


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_an_llm_reads_ten_and_five_are_kept_unless_others_are_wanted(name):
    profile = read_by_llm(named(name), wanted=None)
    assert (profile.rerank_depth, profile.top_k, profile.rerank_batch) == (10, 5, 0)
    assert read_by_llm(named(name, wanted=8), wanted=8).top_k == 8
