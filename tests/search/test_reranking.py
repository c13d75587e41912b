"""The order that a reranker's scores make."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.search.reranking import InBatches, Reranked, rerank

QUESTION = "how fast?"


class Reader:
    """A Reranker with a score for each passage, which is its number."""

    name = "reader"
    scale = "other"

    def __init__(self, scores):
        self.scores = scores
        self.batches = []

    def score(self, question, passages):
        self.batches.append([int(passage) for passage in passages])
        return np.array([self.scores[int(passage)] for passage in passages], dtype=np.float32)


def passages(count):
    return [str(number) for number in range(count)]


def test_ties_keep_the_order_of_the_first_pass():
    assert Reranked((1.0, 2.0, 1.0, 2.0)).order == [1, 3, 0, 2]
    assert Reranked((0.0, -1.0, 0.0)).order == [0, 2, 1]
    assert rerank(QUESTION, [], Reader([])).order == []


def test_a_passage_without_a_score_keeps_the_place_of_the_first_pass():
    nan = float("nan")
    result = rerank(QUESTION, passages(5), Reader([nan, 0.5, -3.0, nan, 2.0]))
    assert result.scores == (None, 0.5, -3.0, None, 2.0)
    assert result.order == [0, 4, 1, 3, 2]
    assert rerank(QUESTION, passages(12), Reader([nan] * 12)).order == list(range(12))


def test_batches_are_what_the_reranker_gets_and_change_nothing():
    reader = Reader(np.random.default_rng(3).normal(size=20).tolist())
    in_batches = InBatches(reader, 8)
    assert in_batches.name == "reader"
    assert in_batches.score(QUESTION, passages(20)).tolist() == pytest.approx(reader.scores)
    assert [len(batch) for batch in reader.batches] == [8, 8, 4]
    assert in_batches.score(QUESTION, []).shape == (0,)


@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=60))
def test_each_passage_has_one_place_best_first(scores):
    result = rerank(QUESTION, passages(len(scores)), Reader(scores))
    assert list(result.scores) == scores
    assert sorted(result.order) == list(range(len(scores)))
    told = [scores[number] for number in result.order]
    assert told == sorted(told, reverse=True)
