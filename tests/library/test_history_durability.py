"""Kills, crowds, full disks, and files that are not what they should be."""

import random

import pytest

from ragscience.core.errors import RagScienceError
from ragscience.library.history import History

from .answers_made import turn
from .making import run_program, start_program

WRITE = """
import sys
from pathlib import Path
from ragscience.library.history import History
from tests.library.answers_made import turn

path, name, turns = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(turns):
    with History.open_for_writing(path) as history:
        history.add([turn(f"{name} {number}", "x" * 3000, answer_id=f"{name}-{number}")], name="shared")
    print(number, flush=True)
"""

REFUSED = """
import os, resource, sys
from pathlib import Path
from ragscience.core.errors import RagScienceError
from ragscience.library.history import History
from ragscience.core.records import Turn
from ragscience.core.serialization import from_json
from tests.library.answers_made import turn

from_json(Turn, {"question": "", "answer": ""})  # not everybody may read what it imports
path, what = Path(sys.argv[1]), sys.argv[2]
if what == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
elif os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
with History.open(path) as history:
    print([item.answer.question for found in history.conversations() for item in history.turns(found.conversation_id)])
for number in range(100):
    try:
        with History.open_for_writing(path) as history:
            history.add([turn(f"more {number}", "x" * 3000, answer_id=f"more-{number}")])
    except RagScienceError as error:
        print(type(error).__name__, error)
        break
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history.sqlite"


def test_writers_that_begin_at_once_keep_every_turn(path):
    writers = [start_program(WRITE, path, name, 15) for name in "abcd"]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=100)
        assert writer.returncode == 0
    with History.open(path) as history:
        (shared,) = history.conversations()
        kept = [item.answer.question for item in history.turns(shared.conversation_id)]
    assert sorted(kept) == sorted(f"{name} {number}" for name in "abcd" for number in range(15))
    for name in "abcd":
        assert [item for item in kept if item[0] == name] == [f"{name} {number}" for number in range(15)]


def test_a_disk_that_fills_up_is_one_line_and_costs_what_is_not_written(path):
    with History.open_for_writing(path) as history:
        history.add([turn("kept")])
    room = path.stat().st_size + 200_000
    seen, refused = run_program(REFUSED, path, "full", room)
    assert seen == "['kept']"
    assert "could not be read or written" in refused
    with History.open_for_writing(path) as history:
        history.add([turn("after", answer_id="after")])
        assert history.last().title == "after"


def ruined(content, dice):
    kind = dice.choice(["noise", "cut", "hole"])
    if kind == "noise":
        return dice.randbytes(len(content))
    if kind == "cut":
        return content[: dice.randrange(20, len(content) - 4096)]
    start = dice.randrange(0, len(content) - 8192)
    return content[:start] + dice.randbytes(8192) + content[start + 8192 :]


def test_a_damaged_file_is_one_line_or_still_read(path):
    with History.open_for_writing(path) as history:
        for number in range(30):
            history.add([turn(f"question {number}", "x" * 1000)])
    content = path.read_bytes()
    dice, damaged = random.Random(8), 0
    for _ in range(40):
        path.write_bytes(ruined(content, dice))
        for leftover in path.parent.glob("history.sqlite-*"):
            leftover.unlink()
        try:
            with History.open(path) as history:
                for found in history.conversations():
                    history.turns(found.conversation_id)
                history.search("question", 50)
            with History.open_for_writing(path) as history:
                history.add([turn()])
        except RagScienceError as error:
            damaged += 1
            assert "Move" in str(error) or "move" in str(error), error
    assert damaged > 20
