import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.refusal_metrics import Judged, Probe, auc, rates
from ragscience.core.records import Found

SCORES = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=25)


@given(SCORES, SCORES)
def test_auc_is_what_comparing_each_with_each_gives(yes, no):
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in yes for b in no]
    assert auc(yes, no) == pytest.approx(sum(pairs) / len(pairs))


def judged_of(*scores):
    """(question id, answerable, score) becomes what `rates` wants."""
    judged = [
        Judged(Probe(name, "?", frozenset()), answerable, Found("?", "default", ())) for name, answerable, _ in scores
    ]
    return judged, [score for *_, score in scores]


def test_what_is_refused_is_what_is_below_the_threshold():
    judged, scores = judged_of(
        ("a", True, 0.9), ("a", False, 0.2), ("b", True, 0.35), ("b", False, 0.6), ("c", True, 0.1), ("d", False, 0.34)
    )
    found = rates(judged, scores, 0.35)
    assert (found.answerable, found.unanswerable) == (3, 3)
    assert found.wrongly_refused == pytest.approx(1 / 3)
    assert found.rightly_refused == pytest.approx(2 / 3)
    assert found.auc == pytest.approx(5 / 9)
    for value, (low, high) in (
        (found.auc, found.auc_interval),
        (found.wrongly_refused, found.wrongly_refused_interval),
        (found.rightly_refused, found.rightly_refused_interval),
    ):
        assert 0 <= low <= value <= high <= 1
        assert low < high


def test_the_intervals_narrow_with_more_questions_and_are_the_same_every_time():
    rng = np.random.default_rng(1)

    def width(count):
        rows = [(str(number), number % 2 == 0, float(rng.random())) for number in range(count)]
        found = rates(*judged_of(*rows), 0.5)
        assert found == rates(*judged_of(*rows), 0.5)
        return found.rightly_refused_interval[1] - found.rightly_refused_interval[0]

    assert width(400) < width(40) / 2
