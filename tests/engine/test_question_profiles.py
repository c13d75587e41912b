"""How many passages come of a question: what somebody set wins, and what nobody set is as it was."""

import pytest

from ragscience import AskRequest, Engine, SearchRequest
from ragscience.core.settings import default_settings, load_settings
from ragscience.search.profiles import profile_of

SPEED = "How fast do bees fly in fog?"


@pytest.mark.parametrize(
    ("profile", "flags", "requested", "of_search", "of_answer"),
    [
        ("default", {}, None, 4, 8),
        ("rrf", {}, None, 5, 8),
        ("deep", {}, None, 12, 12),
        ("default", {"top_k": 2}, None, 2, 2),
        ("default", {"top_k": 4}, None, 4, 4),
        ("default", {"top_k": 11}, None, 11, 11),
        ("rrf", {"top_k": 2}, None, 2, 2),
        ("deep", {"top_k": 6}, None, 6, 6),
        ("default", {"answer_passages": 3}, None, 4, 3),
        ("default", {"answer_passages": 8}, None, 4, 8),
        ("deep", {"answer_passages": 8}, None, 12, 8),
        ("default", {"top_k": 2, "answer_passages": 9}, None, 2, 9),
        ("default", {"top_k": 2, "answer_passages": 9}, 5, 5, 5),
        ("default", {}, 1, 1, 1),
    ],
)
def test_what_somebody_set_wins(tmp_path, profile, flags, requested, of_search, of_answer):
    settings = default_settings(tmp_path, profile=profile, **flags)
    assert profile_of(settings, requested).top_k == of_search
    assert profile_of(settings, requested, for_answer=True).top_k == of_answer


def test_the_environment_sets_and_a_request_changes_nothing_of_it(library, monkeypatch):
    monkeypatch.setenv("RAG_TOP_K", "2")
    with Engine.open(library, load_settings(home=library, offline=True, history=False)) as engine:
        assert [one.top_k for one in engine.profiles()] == [2] * 6
        assert len(engine.search(SearchRequest(SPEED, rerank="off")).hits) == 2
        assert len(engine.ask(AskRequest(SPEED, profile="rrf")).found.hits) == 2
