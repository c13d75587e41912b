"""A short form of the campaign, and that its oracle finds what is wrong."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.soak.answers import AUDIT, HISTORY, Answers
from tests.soak.messages import complaints
from tests.soak.processes import Ran
from tests.soak.state import State, between, is_reached


@pytest.mark.kill
@pytest.mark.skipif(sys.platform != "linux", reason="the campaign needs Linux")
def test_five_rounds_break_nothing(tmp_path, model_cache):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.soak", "--kind", "embedded", "--rounds", "5", "--seed", "3"),
            *("--folder", str(tmp_path)),
        ],
        cwd=ROOT,
        env={**os.environ, "RAG_CACHE_FOLDER": str(model_cache)},
        capture_output=True,
        text=True,
    )
    shutil.rmtree(tmp_path / "pdfs", ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 rounds of seed 3, 0 broken" in done.stdout


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


def kept_answers(history, audit, said_of_history="", said_of_audit=""):
    """What `read_answers` gives for answers written as "id=text:digest"."""
    found = {"said": {HISTORY: said_of_history, AUDIT: said_of_audit}}
    for place, text in ((HISTORY, history), (AUDIT, audit)):
        pairs = (one.split("=") for one in text.split())
        found[place] = {key: ("Why?", *value.split(":")) for key, value in pairs}
    return found


def answered(*warnings):
    """Answers that a command said it kept, and that were there the next time."""
    answers = Answers()
    answers.asked.add("Why?")
    answers.note("Why?", json.dumps({"answer_id": "1", "answer": "so", "warnings": warnings}))
    return answers


def test_a_kept_answer_is_held_to_its_text_and_then_to_all_of_it():
    answers = answered()
    assert answers.hold_against(kept_answers("1=so:x", "1=so:y")) == []
    assert answers.hold_against(kept_answers("1=so:x", "1=so:y")) == []
    assert len(answers.hold_against(kept_answers("1=so:z", "1=so:y"))) == 1


@pytest.mark.parametrize(
    ("history", "audit"),
    [("", "1=so:y"), ("1=so:x", ""), ("1=no:x", "1=so:y"), ("1=so:x 2=so:x", "1=so:y 2=so:y")],
)
def test_an_answer_that_is_lost_or_another_is_found(history, audit):
    answers = answered()
    if "2" in history:
        answers.asked.clear()
    assert answers.hold_against(kept_answers(history, audit))


def test_an_answer_that_was_not_kept_is_not_missed():
    assert answered("This conversation is not kept: full.").hold_against(kept_answers("", "1=so:y")) == []


@pytest.mark.parametrize(
    ("path", "how", "said", "is_found"),
    [
        ("history.sqlite", "history.sqlite flip@9", "", True),
        ("history.sqlite", "history.sqlite flip@9", "1 saved answer is damaged", False),
        ("history.sqlite", "history.sqlite deleted", "", False),
        ("history.sqlite-wal", "history.sqlite-wal flip@9", "", False),
    ],
)
def test_damage_loses_answers_with_a_word_alone_where_one_is_possible(path, how, said, is_found):
    answers = answered()
    assert answers.hold_against(kept_answers("1=so:x", "1=so:y")) == []
    answers.damaged(Path(path), how)
    assert bool(answers.hold_against(kept_answers("", "1=so:y", said))) == is_found


def test_a_word_of_damage_without_damage_is_found():
    assert answered().hold_against(kept_answers("1=so:x", "1=so:y", "", "1 line is left out"))
