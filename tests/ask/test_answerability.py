import math

import pytest

from ragscience.ask.confidence import SIGNALS_OF, WITH_TOKEN_VECTORS, answerability, is_answerable
from ragscience.core.records import Found
from tests.ask.passages import SAMPLING, TRAINING

QUESTION = "How long did training take?"
CLOSE = {"terms": 3.0, "keyword_match": 0.6, "missing_term": 0.0, "cosine": 0.7, "maxsim": 0.7}
FAR = {"terms": 3.0, "keyword_match": 0.1, "missing_term": 1.0, "cosine": 0.2, "maxsim": 0.3}


def likely(signals, hits=(TRAINING,), question=QUESTION):
    return answerability(Found(question, "default", hits, signals=signals), question)


def without(signals, *names):
    return {name: value for name, value in signals.items() if name not in names}


def test_it_is_the_logistic_of_the_weighted_signals():
    names = SIGNALS_OF["with token vectors"]
    assert set(names) == {"keyword_match", "maxsim", "missing_term", "cosine"}
    odds = WITH_TOKEN_VECTORS["intercept"] + sum(WITH_TOKEN_VECTORS[name] * CLOSE[name] for name in names)
    assert likely(CLOSE) == pytest.approx(1 / (1 + math.exp(-odds)))


@pytest.mark.parametrize("name", ["keyword_match", "cosine", "maxsim"])
@pytest.mark.parametrize("left_out", [(), ("maxsim",)])
def test_more_of_a_good_sign_never_makes_it_less_likely(name, left_out):
    if name in left_out:
        return
    signals = without(CLOSE, *left_out)
    scores = [likely(signals | {name: step / 10}) for step in range(11)]
    assert scores == sorted(scores)


def test_a_cross_encoder_has_half_the_say():
    unread = likely(CLOSE)
    assert likely(CLOSE | {"rerank": -5.0}) < unread < likely(CLOSE | {"rerank": 8.0})
    assert likely(FAR | {"rerank": 8.0}) > likely(FAR)
    assert likely(CLOSE | {"rerank": 1e5}) == likely(CLOSE | {"rerank": 6.0})


def test_nothing_found_answers_nothing():
    assert likely(CLOSE, hits=()) == 0.0
    assert likely({}, hits=()) == 0.0


def test_without_signals_the_share_of_the_terms_in_one_passage_counts():
    question = "beam size and training of the annealer"
    assert likely({}, hits=(TRAINING, SAMPLING), question=question) == pytest.approx(2 / 4)
    assert likely({}, hits=(TRAINING,), question="quantum annealer") == 0.0


def test_the_threshold_itself_is_enough():
    assert is_answerable(0.25, threshold=0.25, likeness=None)
    assert not is_answerable(0.25 - 1e-9, threshold=0.25, likeness=None)
