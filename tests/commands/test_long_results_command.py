"""Results on a real terminal and in a real pipe: a pager for the long ones, whole lines for programs."""

import pytest

from tests.conftest import Commands, ProcessCommands
from tests.screens.emulator import CommandTerminal

PAGED = "the pager has it"


@pytest.fixture
def home(library):
    return library


def watched(home, script, *args, typed=None, **env):
    """The exit code and all that a command writes in a terminal of 4 rows; of `typed`, a text and the keys after it."""
    with CommandTerminal(home, script, *args, columns=60, rows=4, **{"PAGER": "cat", **env}) as terminal:
        if typed:
            terminal.wait_for(typed[0])
            terminal.type(typed[1])
        return terminal.end(), terminal.said


@pytest.fixture
def pager(tmp_path):
    def made(commands):
        script = tmp_path / "a pager"
        script.write_text(f"#!/bin/sh\necho {PAGED}\n{commands}\n")
        script.chmod(0o700)
        return f"'{script}' -x"

    return made


def test_what_is_longer_than_the_screen_goes_through_the_pager(home, pager):
    code, seen = watched(home, "ingest.py", "show", "bees.pdf", PAGER=pager("cat"))
    assert code == 0
    assert seen.index(PAGED) < seen.index("Navigation of honeybees in fog")


def test_ctrl_c_and_leaving_early_are_no_failures(home, pager):
    code, seen = watched(home, "ingest.py", "show", "bees.pdf", PAGER=pager("exec sleep 100"), typed=(PAGED, "\x03"))
    assert (code, "stopped" in seen, "Traceback" in seen) == (0, False, False)
    code, seen = watched(home, "ingest.py", "show", "bees.pdf", PAGER="head -n 1")
    assert (code, "Traceback" in seen, "error" in seen) == (0, False, False)


def test_in_a_pipe_there_is_one_whole_record_a_line_and_no_pager(home, pager):
    Commands(home).query("ask", "How fast do bees fly in fog? " + "And in clear air? " * 12)
    for kind, script, *args in (
        (ProcessCommands, "ingest.py", "list"),
        (ProcessCommands, "query.py", "history", "list"),
        (Commands, "query.py", "audit"),
        (Commands, "query.py", "models"),
        (Commands, "query.py", "profiles"),
        (Commands, "ingest.py", "doctor", "--fast"),
    ):
        ran = kind(home).run(script, *args, COLUMNS="40", PAGER=pager("cat"), FORCE_COLOR="1")
        lines = ran.out.splitlines()
        assert lines, args
        assert len({line.count("\t") for line in lines}) == 1, args
        assert "…" not in ran.out, args
        assert "\x1b" not in ran.out, args
        assert PAGED not in ran.out, args
        assert [line for line in lines if line != line.rstrip(" ")] == [], args
    listed = Commands(home).ingest("list", "--sort", "title").out
    assert listed.splitlines()[0].endswith("Firing porcelain in a tunnel kiln\tkilns.pdf")
