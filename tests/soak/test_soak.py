"""A short form of the campaign, and that its oracle finds what is wrong."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.soak.messages import complaints
from tests.soak.processes import Ran
from tests.soak.state import State, between, is_reached


@pytest.mark.kill
@pytest.mark.skipif(sys.platform != "linux", reason="the campaign needs Linux")
def test_twelve_rounds_break_nothing(tmp_path, model_cache):
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", "--rounds", "12", "--seed", "3", "--folder", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "RAG_CACHE_FOLDER": str(model_cache)},
        capture_output=True,
        text=True,
    )
    shutil.rmtree(tmp_path / "pdfs", ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 rounds of seed 3, 0 broken" in done.stdout


def pairs(text):
    return frozenset(tuple(pair.split("=")) for pair in text.split())


def test_a_committed_paper_that_is_lost_is_found():
    before, goal = pairs("a=1 b=2"), pairs("a=1 b=2 c=3")
    assert between(before, [goal], pairs("a=1 b=2")) == []
    assert between(before, [goal], pairs("a=1 c=3")) == ["the paper b (2) was committed and is lost"]


def test_a_changed_paper_is_there_in_one_of_its_versions():
    before, goal = pairs("a=1"), pairs("a=2")
    assert between(before, [goal], pairs("a=1")) == between(before, [goal], pairs("a=2")) == []
    assert between(before, [goal], frozenset())
    assert between(before, [goal], pairs("a=1 a=2"))
    assert between(before, [goal], pairs("a=9"))


def test_a_run_that_was_not_disturbed_reaches_its_goal():
    assert is_reached(pairs("a=1"), pairs("a=1"), ()) == []
    assert is_reached(pairs("a=1 b=2"), pairs("a=1"), ()) == ["b (2) is not in the library"]
    assert is_reached(pairs("a=1"), pairs("a=1 b=2"), ()) == ["b (2) should not be in the library"]


def test_what_an_ingest_and_a_sync_make_of_files():
    state = State(disk={"a": "1", "b": "5", "c": "3"}, held={"a": "1", "b": "2", "gone": "4"}, removed={"3"})
    assert state.after_ingest(is_sync=False) == pairs("a=1 b=5 gone=4")
    assert state.after_ingest(is_sync=True) == pairs("a=1 b=5")


@pytest.mark.parametrize(
    "ran",
    [
        Ran("ingest.py sync", 1, "", "Traceback (most recent call last):\n"),
        Ran("ingest.py sync", 1, "", "error: The disk is full.\n"),
        Ran("ingest.py sync", 77, "", "error: The disk is full.\n       Make room.\n"),
        Ran("ingest.py sync", -11, "", ""),
        Ran("ingest.py sync", 0, "", "error: The disk is full.\n       Make room.\n"),
        Ran("ingest.py sync", -9, "", "", is_hung=True),
    ],
)
def test_a_command_that_ends_badly_is_found(ran):
    assert complaints(ran, may_fail=True, may_be_killed=True)


def test_a_clear_error_is_no_complaint():
    ran = Ran("ingest.py sync", 1, "", "error: The disk is full.\n       Make room.\n")
    assert complaints(ran, may_fail=True, may_be_killed=False) == []
    assert complaints(ran, may_fail=False, may_be_killed=False)
