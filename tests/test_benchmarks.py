"""The benchmarks measure what they say: the order of the runs, and the rules by which evidence counts."""

import pytest

from benchmarks.quality import Place, _evidence
from benchmarks.running import by_turns, clock, medians


def test_sides_run_by_turns_and_the_first_round_does_not_count():
    ran = []
    results = by_turns({"a": lambda: ran.append("a") or len(ran), "b": lambda: ran.append("b") or len(ran)}, 2)
    assert ran == ["a", "b"] * 3
    assert results == {"a": [3, 5], "b": [4, 6]}


def test_cold_sides_have_no_warm_round():
    assert by_turns({"a": lambda: 1}, 2, warm=False) == {"a": [1, 1]}


def test_the_middle_of_the_runs_counts():
    assert medians({"a": [9.0, 1.0, 2.0], "b": [1.0, 2.0]}) == {"a": 2.0, "b": 1.5}


def test_a_clock_calls_once_and_gives_seconds():
    calls = []
    assert clock(lambda: calls.append(1))() >= 0
    assert calls == [1]


QUESTION = {
    "evidence": [{"file": "a.pdf", "page": 3}, {"file": "b.pdf", "page": 7}],
    "alternatives": [{"file": "c.pdf", "page": 1, "for": 1}],
}


@pytest.mark.parametrize(
    ("places", "any_at_1", "full_at_1", "any_at_4", "full_at_4"),
    [
        ([], 0, 0, 0, 0),
        ([Place("a.pdf", 2, 3)], 1, 0, 1, 0),
        ([Place("a.pdf", 4, 5), Place("a.pdf", 3, 3)], 0, 0, 1, 0),
        ([Place("a.pdf", 3, 3), Place("b.pdf", 6, 8)], 1, 0, 1, 1),
        ([Place("c.pdf", 1, 1), Place("a.pdf", 3, 4)], 1, 0, 1, 1),
        ([Place("b.pdf", 3, 3), Place("a.pdf", 7, 7)], 0, 0, 0, 0),
        ([Place("x.pdf", 1, 1)] * 4 + [Place("a.pdf", 3, 3)], 0, 0, 0, 0),
    ],
)
def test_evidence_counts_by_page_and_alternatives_stand_in(places, any_at_1, full_at_1, any_at_4, full_at_4):
    values = _evidence([QUESTION], [places])
    assert [int(values[name][0]) for name in ("any@1", "full@1", "any@4", "full@4")] == [
        any_at_1,
        full_at_1,
        any_at_4,
        full_at_4,
    ]
