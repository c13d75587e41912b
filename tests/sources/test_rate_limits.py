"""How long a server is left alone, and how far apart two questions are."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import SourceError
from ragscience.sources.http_client import Deadline, seconds_to_wait
from tests.sources.fetching import Clock

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("0", 0),
        (" 17 ", 17),
        ("000000000017", 17),
        ("-5", 0),
        ("1.5", 0),
        ("1e9", 0),
        ("\u0661", 0),
        ("soon", 0),
        ("9" * 5000, float("inf")),
        ("Sun, 01 Mar 2026 12:01:30 GMT", 90),
        ("Sunday, 01-Mar-26 12:01:30 GMT", 90),
        ("Sun Mar  1 12:01:30 2026", 90),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0),
        ("Sun, 01 Mar 2026 14:01:30 +0200", 90),
        ("Sun, 99 Mar 2026 12:01:30 GMT", 0),
        ("Sun, 01 Mar 99999999999999 12:01:30 GMT", 0),
    ],
)
def test_what_retry_after_asks_for(header, seconds):
    assert seconds_to_wait(header, NOW.timestamp()) == seconds


@given(st.text(max_size=40))
def test_no_header_breaks_it(header):
    assert seconds_to_wait(header, 0.0) >= 0


def test_a_deadline_leaves_out_what_was_slept():
    clock = Clock()
    deadline = Deadline(clock, 10)
    clock.sleep(6)
    deadline.extend(6)
    assert deadline.left("a.test") == 10
    clock.now += 10
    with pytest.raises(SourceError, match=r"a\.test took longer than the 10 s"):
        deadline.left("a.test")
