"""A cancelled question ends at once, whatever was going on."""

import threading

import pytest

from ragscience.ask.check import check
from ragscience.core.errors import Cancelled
from ragscience.core.records import Found
from tests.ask.asking import ask
from tests.ask.passages import SAMPLING, TRAINING, Search


def test_cancelled_while_it_searches_nothing_is_answered():
    cancelled, shown = threading.Event(), []

    def search(question):
        cancelled.set()
        return Found(question, "default", (TRAINING,))

    with pytest.raises(Cancelled):
        ask(None, search, cancelled=cancelled.is_set, on_token=shown.append)
    assert shown == []


class Looks:
    """Cancels at the look number `at`, from 1."""

    def __init__(self, at):
        self.at = at
        self.made = 0

    def __call__(self):
        self.made += 1
        return self.made == self.at


def test_each_stage_of_quotes_is_a_place_to_end_at():
    search = Search(TRAINING, SAMPLING)
    looks = Looks(0)
    assert ask(None, search, cancelled=looks).sentences
    assert looks.made >= 3
    for at in range(1, looks.made + 1):
        with pytest.raises(Cancelled):
            ask(None, search, cancelled=Looks(at))


def test_each_sentence_that_is_checked_is_a_place_to_end_at():
    text = " ".join(f"The model has {n} layers in part {n} (attention.pdf, p.7)." for n in range(20))
    looked = []

    def look():
        looked.append(1)
        if len(looked) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        check(text, [TRAINING], read=None, on_sentence=look)
    assert len(looked) == 3
