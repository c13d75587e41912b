"""Where words occur, over a real library with the real embedded model."""

import pytest

from ragscience.library.store import Library
from ragscience.search.token_matches import WordPresence
from tests.search.test_late_interaction import Broken, home, model

__all__ = ["home", "model"]


def test_terms_are_counted_in_the_papers_given(home):
    with Library.open(home) as library:
        presence = WordPresence(library, None)
        assert presence.passages_with(["fog", "tide", "xenon"], [1]) == {"fog": 1, "tide": 0, "xenon": 0}
        assert presence.passages_with(["fog", "tide"], [1, 3, 4]) == {"fog": 2, "tide": 2}


def test_what_no_passage_has_is_rarest(home):
    with Library.open(home) as library:
        rarity = WordPresence(library, None).rarity(["xenon", "glaze", "fog"])
    assert rarity["xenon"] == pytest.approx(1.0)
    assert rarity["xenon"] > rarity["glaze"] > rarity["fog"] > 0


def test_a_word_is_like_the_passage_that_has_it(home, model):
    with Library.open(home) as library:
        likeness = WordPresence(library, model).likeness("Does porcelain glaze steer by light?", [1, 2, 4])
    assert set(likeness) == {"porcelain", "glaze", "steer", "light"}
    assert likeness["porcelain"][1] > max(likeness["porcelain"][0], 0.6)
    assert likeness["steer"][0] > likeness["steer"][1]
    assert {values[2] for values in likeness.values()} == {-1.0}, "the last passage has no stored vectors"


def test_without_a_model_or_vectors_no_likeness_is_known(home, model, model_cache):
    broken = Broken(cache_folder=model_cache, on_warning=pytest.fail)
    with Library.open(home) as library:
        assert WordPresence(library, None).likeness("porcelain", [1]) == {}
        assert WordPresence(library, model).likeness("porcelain", [4]) == {}
        assert WordPresence(library, model).likeness("porcelain", []) == {}
        assert WordPresence(library, model).likeness("and the?", [1]) == {}
        assert WordPresence(library, broken).likeness("porcelain", [1]) == {}
