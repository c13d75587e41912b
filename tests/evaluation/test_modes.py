"""Ways to ask, by name."""

import pytest

from ragscience.core.errors import UsageError
from ragscience.engine.eval_runs import ASK, Mode, mode_named, modes_of


@pytest.mark.parametrize(
    ("name", "way", "profile"),
    [
        ("ask", "ask", None),
        ("agent", "agent", None),
        ("corrective", "corrective", None),
        ("deep", "ask", "deep"),
        ("graph", "graph", None),
        ("agent+rrf", "agent", "rrf"),
        ("rrf + agent", "agent", "rrf"),
    ],
)
def test_a_way_a_profile_or_both(name, way, profile):
    assert mode_named(name) == Mode(name, way, profile)


@pytest.mark.parametrize("name", ["swarm", "", "agent+", "agent+ask", "deep+rrf", "agent+agent", "Agent"])
def test_what_is_no_mode(name):
    with pytest.raises(UsageError, match="is no mode"):
        mode_named(name)


def test_one_mode_or_two_that_differ():
    assert modes_of("ask", None) == (ASK,)
    assert modes_of("agent", "deep") == (mode_named("agent"), mode_named("deep"))
    for same in ("agent+deep", "deep+agent"):
        with pytest.raises(UsageError, match="compared with itself"):
            modes_of("agent+deep", same)
