import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask.confidence import (
    LEXICAL,
    SIGNALS_OF,
    WITH_TOKEN_VECTORS,
    WITHOUT_COSINE,
    answerability,
    is_answerable,
)
from ragscience.core.records import Found
from tests.ask.passages import SAMPLING, TRAINING

QUESTION = "How long did training take?"
CLOSE = {"terms": 3.0, "keyword_match": 0.6, "missing_term": 0.0, "cosine": 0.7, "maxsim": 0.7}
FAR = {"terms": 3.0, "keyword_match": 0.1, "missing_term": 1.0, "cosine": 0.2, "maxsim": 0.3}
VALUES = st.fixed_dictionaries(
    {"keyword_match": st.floats(0, 1), "missing_term": st.floats(0, 1)},
    optional={
        "terms": st.floats(0, 100),
        "cosine": st.floats(-1, 1),
        "maxsim": st.floats(-1, 1),
        "rerank": st.floats(-1e6, 1e6),
    },
)


def likely(signals, hits=(TRAINING,), question=QUESTION):
    return answerability(Found(question, "default", hits, signals=signals), question)


def without(signals, *names):
    return {name: value for name, value in signals.items() if name not in names}


def test_it_is_the_logistic_of_the_weighted_signals():
    names = SIGNALS_OF["with token vectors"]
    assert set(names) == {"keyword_match", "maxsim", "missing_term", "cosine"}
    odds = WITH_TOKEN_VECTORS["intercept"] + sum(WITH_TOKEN_VECTORS[name] * CLOSE[name] for name in names)
    assert likely(CLOSE) == pytest.approx(1 / (1 + math.exp(-odds)))


def test_with_another_embedder_words_and_maxsim_decide():
    odds = WITHOUT_COSINE["intercept"] + sum(WITHOUT_COSINE[name] * CLOSE[name] for name in ("keyword_match", "maxsim"))
    assert likely(without(CLOSE, "cosine")) == pytest.approx(1 / (1 + math.exp(-odds)))


def test_without_token_vectors_words_decide_alone():
    lexical = LEXICAL["intercept"] + LEXICAL["keyword_match"] * 0.6
    assert likely(without(CLOSE, "maxsim")) == pytest.approx(1 / (1 + math.exp(-lexical)))
    assert likely(without(CLOSE, "maxsim")) == likely(without(CLOSE, "maxsim", "cosine"))


@pytest.mark.parametrize("left_out", [(), ("cosine",), ("maxsim",), ("maxsim", "cosine")])
def test_what_is_close_is_likely_and_what_is_far_is_not(left_out):
    assert likely(without(CLOSE, *left_out)) > 0.9
    assert likely(without(FAR, *left_out)) < 0.1


@pytest.mark.parametrize("name", ["keyword_match", "cosine", "maxsim"])
@pytest.mark.parametrize("left_out", [(), ("maxsim",)])
def test_more_of_a_good_sign_never_makes_it_less_likely(name, left_out):
    if name in left_out:
        return
    signals = without(CLOSE, *left_out)
    scores = [likely(signals | {name: step / 10}) for step in range(11)]
    assert scores == sorted(scores)


def test_a_term_that_is_nowhere_makes_it_less_likely():
    assert likely(CLOSE | {"missing_term": 1.0}) < likely(CLOSE)
    assert likely(without(CLOSE, "maxsim") | {"missing_term": 1.0}) < likely(without(CLOSE, "maxsim"))


def test_a_cross_encoder_has_half_the_say():
    unread = likely(CLOSE)
    assert likely(CLOSE | {"rerank": -5.0}) < unread < likely(CLOSE | {"rerank": 8.0})
    assert likely(FAR | {"rerank": 8.0}) > likely(FAR)
    assert likely(CLOSE | {"rerank": 1e5}) == likely(CLOSE | {"rerank": 6.0})


@pytest.mark.parametrize("log_odds", [-2.0, 0.0, 0.05, 0.9, 1.0, 5.0])
def test_the_best_log_odds_are_taken_as_they_are_also_between_0_and_1(log_odds):
    odds = math.log(likely(CLOSE) / (1 - likely(CLOSE)))
    assert likely(CLOSE | {"rerank": log_odds}) == pytest.approx(1 / (1 + math.exp(-(odds + log_odds) / 2)))


@given(VALUES)
def test_it_is_always_a_probability(signals):
    assert 0.0 <= likely(signals) <= 1.0


def test_nothing_found_answers_nothing():
    assert likely(CLOSE, hits=()) == 0.0
    assert likely({}, hits=()) == 0.0


def test_a_question_without_a_content_word_is_not_judged():
    assert likely({"terms": 0.0, "cosine": 0.9, "maxsim": 0.9}) == 0.5
    assert likely({}, question="What is it?") == 0.5


def test_without_signals_the_share_of_the_terms_in_one_passage_counts():
    question = "beam size and training of the annealer"
    assert likely({}, hits=(TRAINING, SAMPLING), question=question) == pytest.approx(2 / 4)
    assert likely({}, hits=(TRAINING,), question="quantum annealer") == 0.0


def test_the_threshold_itself_is_enough():
    assert is_answerable(0.25, threshold=0.25, likeness=None)
    assert not is_answerable(0.25 - 1e-9, threshold=0.25, likeness=None)


def test_near_the_threshold_the_likeness_of_the_words_decides():
    assert is_answerable(0.1, threshold=0.12, likeness=0.8)
    assert not is_answerable(0.4, threshold=0.12, likeness=0.6)
    assert is_answerable(0.1, threshold=0.12, likeness=0.6, has_name=True)
    assert not is_answerable(0.02, threshold=0.12, likeness=0.6, has_name=True)
    assert is_answerable(0.5, threshold=0.12, likeness=0.6)
    assert not is_answerable(0.02, threshold=0.12, likeness=0.9)


def test_a_threshold_of_zero_refuses_nothing():
    assert is_answerable(0.0, threshold=0.0, likeness=0.1)
