"""How far a run is, by a clock of the test: the remaining time follows from the bytes of what is done."""

from pathlib import Path

import pytest

from ragscience.engine.ingest_pipeline import RunProgress

SHORT, LONG, BROKEN = Path("a.pdf"), Path("long.pdf"), Path("broken.pdf")


@pytest.fixture
def run():
    run = type("Run", (), {"now": 0.0, "events": []})()
    run.events = []
    run.progress = RunProgress({SHORT: 10, LONG: 300, BROKEN: 0}, run.events.append, lambda: run.now)
    return run


def test_the_time_that_is_left_is_that_of_the_bytes_that_are_left(run):
    run.now = 4.0
    run.progress.embedded(SHORT, 20, 20)
    assert run.progress.seconds_left() is None  # too early
    run.now = 10.0
    run.progress.done(SHORT)
    assert run.progress.seconds_left() == pytest.approx(300)
    run.now = 160.0
    run.progress.embedded(LONG, 50, 100)
    assert run.progress.seconds_left() == pytest.approx(150)
    run.progress.done(LONG)
    assert run.progress.seconds_left() == 0
    run.progress.done(BROKEN)
    assert run.progress.seconds_left() == 0
