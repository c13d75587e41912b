"""The reader stops when its time is up; a clock that the test winds tells the time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import ModelProblem
from ragscience.search.reranking import InBatches, Reranked, rerank_within_budget

QUESTION = "how fast?"


class Reader:
    """A Reranker that says what it is told to and winds the clock by a second for each character that it reads."""

    name = "reader"
    scale = "other"

    def __init__(self, scores):
        self.scores = scores
        self.batches = []
        self.now = 1000.0

    def score(self, question, passages):
        self.batches.append([int(passage) for passage in passages])
        self.now += sum(len(question) + len(passage) for passage in passages)
        return np.array([self.scores[int(passage)] for passage in passages], dtype=np.float32)

    @property
    def read(self):
        return [number for batch in self.batches for number in batch]


def passages(count):
    """Each passage is its own number, in three digits."""
    return [f"{number:03d}" for number in range(count)]


SECONDS_A_PASSAGE = len(QUESTION) + 3


def reranked(reader, count, *, budget_ms, batch_size=4):
    return rerank_within_budget(
        QUESTION, passages(count), reader, budget_ms=budget_ms, batch_size=batch_size, clock=lambda: reader.now
    )


def test_without_a_budget_all_are_read_in_one_call():
    reader = Reader([0.1, 0.9, 0.5])
    result = reranked(reader, 3, budget_ms=None)
    assert reader.batches == [[0, 1, 2]]
    assert (result.read, result.complete, result.order) == (3, True, [1, 2, 0])
    assert result.scores == pytest.approx((0.1, 0.9, 0.5))


def test_no_passages_are_no_trouble():
    for budget_ms in (None, 0.0, 100.0):
        result = reranked(Reader([]), 0, budget_ms=budget_ms)
        assert (result.scores, result.read, result.complete, result.order) == ((), 0, True, [])


@pytest.mark.parametrize("budget_ms", [0.0, -1.0, 1.0])
def test_one_batch_is_read_whatever_it_costs(budget_ms):
    reader = Reader([0.1, 0.2, 0.9, 0.4] + [9.0] * 16)
    result = reranked(reader, 20, budget_ms=budget_ms)
    assert reader.batches == [[0, 1, 2, 3]]
    assert (result.read, result.complete) == (4, False)
    assert result.scores[4:] == (None,) * 16
    assert result.order == [2, 3, 1, 0, *range(4, 20)]


def test_a_batch_that_would_end_too_late_is_not_begun():
    batch_ms = 4 * SECONDS_A_PASSAGE * 1000
    for budget_ms, read in ((2 * batch_ms - 1, 4), (2 * batch_ms, 8), (3 * batch_ms - 1, 8)):
        reader = Reader(list(range(20)))
        result = reranked(reader, 20, budget_ms=budget_ms)
        assert (result.read, result.complete) == (read, False)
        assert reader.read == list(range(read))


def test_a_first_batch_that_was_slow_to_begin_is_forgotten_by_the_third():
    class Loading(Reader):
        def score(self, question, given):
            self.now += 0 if self.batches else 1000
            return super().score(question, given)

    reader = Loading(list(range(20)))
    batch_seconds = 4 * SECONDS_A_PASSAGE
    result = reranked(reader, 20, budget_ms=(2 * (1000 + batch_seconds) + 3 * batch_seconds) * 1000)
    assert (result.read, result.complete) == (20, True)


def test_ties_keep_the_order_of_the_first_pass():
    assert Reranked((1.0, 2.0, 1.0, 2.0, None, None), 4, False).order == [1, 3, 0, 2, 4, 5]
    assert Reranked((0.0, -1.0, 0.0), 3, True).order == [0, 2, 1]


def test_a_passage_without_a_score_keeps_the_place_of_the_first_pass():
    nan = float("nan")
    result = reranked(Reader([nan, 0.5, -3.0, nan, 2.0]), 5, budget_ms=None)
    assert result.scores == (None, 0.5, -3.0, None, 2.0)
    assert result.order == [0, 4, 1, 3, 2]
    result = reranked(Reader([nan] * 12), 12, budget_ms=1e9)
    assert (result.read, result.order) == (12, list(range(12)))


def test_those_that_were_not_read_follow_those_without_a_score():
    result = reranked(Reader([0.1, float("nan"), 0.3, 0.2] + [9.0] * 4), 8, budget_ms=0.0)
    assert result.order == [2, 1, 3, 0, 4, 5, 6, 7]


def test_batches_are_what_the_reranker_gets_and_change_nothing():
    reader = Reader(np.random.default_rng(3).normal(size=20).tolist())
    in_batches = InBatches(reader, 8)
    assert in_batches.name == "reader"
    assert in_batches.score(QUESTION, passages(20)).tolist() == pytest.approx(reader.scores)
    assert [len(batch) for batch in reader.batches] == [8, 8, 4]
    assert in_batches.score(QUESTION, []).shape == (0,)


def test_a_reader_that_fails_says_so():
    class Failing(Reader):
        def score(self, question, given):
            if self.batches:
                raise ModelProblem("The model failed.")
            return super().score(question, given)

    with pytest.raises(ModelProblem, match="failed"):
        reranked(Failing([1.0] * 12), 12, budget_ms=1e9)


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), max_size=60),
    st.integers(1, 9),
    st.none() | st.floats(0, 1e6),
)
def test_whatever_comes_the_first_are_read_and_each_passage_keeps_its_place(scores, batch_size, budget_ms):
    reader = Reader(scores)
    result = reranked(reader, len(scores), budget_ms=budget_ms, batch_size=batch_size)
    assert reader.read == list(range(result.read))
    assert result.read >= min(batch_size, len(scores))
    assert len(result.scores) == len(scores)
    assert list(result.scores[: result.read]) == scores[: result.read]
    assert set(result.scores[result.read :]) <= {None}
    assert sorted(result.order) == list(range(len(scores)))
    told = [scores[number] for number in result.order[: result.read]]
    assert told == sorted(told, reverse=True)
    assert result.order[result.read :] == list(range(result.read, len(scores)))
    assert result.complete or budget_ms is not None
