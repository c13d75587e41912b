"""Results on a real terminal and in a real pipe: a pager for the long ones, whole lines for programs."""

import fcntl
import os
import struct
import sys
import termios

import pytest

from tests.conftest import ROOT, Commands, ProcessCommands
from tests.warm_processes import WarmProcess

PAGED = "the pager has it"


@pytest.fixture
def home(library):
    return library


def watched(home, script, *args, typed=None, rows=4, columns=60, **env):
    """The exit code and all bytes of a command in a terminal; of `typed`, a text to wait for and the keys after it."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "RAG_HOME": str(home), "TERM": "xterm-256color", "PAGER": "cat", **env}
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        environment.pop(name, None)
    process = WarmProcess(
        [sys.executable, str(ROOT / script), *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | env,
        cwd=home,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
            if typed and typed[0].encode() in seen:
                os.write(ours, typed[1])
                typed = None
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    return process.wait(60), seen.decode().replace("\r\n", "\n")


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
    code, seen = watched(home, "ingest.py", "show", "bees.pdf", PAGER=pager("exec sleep 100"), typed=(PAGED, b"\x03"))
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
