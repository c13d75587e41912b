"""The order that a reranker's scores make."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragscience.search.reranking import Reranked, rerank

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


@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=60))
def test_each_passage_has_one_place_best_first(scores):
    result = rerank(QUESTION, passages(len(scores)), Reader(scores))
    assert list(result.scores) == scores
    assert sorted(result.order) == list(range(len(scores)))
    told = [scores[number] for number in result.order]
    assert told == sorted(told, reverse=True)
