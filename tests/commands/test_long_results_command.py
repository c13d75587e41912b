"""Results on a real terminal and in a real pipe: a pager for the long ones, whole lines for programs."""

import os

import pytest

from tests.conftest import ROOT, Commands, ProcessCommands
from tests.pdf_factory import make_pdf
from tests.screens.emulator import CommandTerminal, Terminal
from tests.screens.sessions import Processes

PAGED = "the pager has it"


@pytest.fixture
def pager(tmp_path):
    def made(commands):
        script = tmp_path / "a pager"
        script.write_text(f"#!/bin/sh\necho {PAGED}\n{commands}\n")
        script.chmod(0o700)
        return f"'{script}' -x"

    return made


def test_what_is_longer_than_the_screen_goes_through_the_pager(library, pager):
    words = ("ingest.py", "show", "bees.pdf")
    with CommandTerminal(library, *words, columns=60, rows=4, PAGER=pager("cat")) as terminal:
        assert terminal.end() == 0
    assert terminal.said.index(PAGED) < terminal.said.index("Navigation of honeybees in fog")


def processes_in(home):
    kept = {"PYTHONPATH": str(ROOT), "RAG_CACHE_FOLDER": os.environ["RAG_CACHE_FOLDER"]}
    return Processes(home, PAGER="less", **kept)


def test_nothing_is_drawn_over_the_pager_and_ctrl_c_leaves_it(tmp_path):
    for number in range(25):
        make_pdf(tmp_path / "papers" / f"{number}.pdf", [f"Bees of valley {number}\nThey fly."])
    assert Commands(tmp_path).ingest().code == 0
    processes = processes_in(tmp_path)
    with Terminal(80, 24) as terminal:
        processes.start(f"python {ROOT / 'ingest.py'} list", terminal)
        processes.read_until(lambda: terminal.emulator.display[-1].startswith(":"), terminal)
        assert processes.ended is None
        assert terminal.is_silent(seconds=1.3), "the status line counts seconds"
        terminal.type("\x03")
        processes.read_until(lambda: False, terminal)
        assert processes.ended == 0
        assert "starting" not in "".join(terminal.emulator.shown)


@pytest.mark.parametrize(
    "line",
    [
        "python {}/ingest.py list | head -1",
        "python {}/query.py search fog -k 0",
        "python {}/query.py ask --from questions.txt | (cat; sleep 1)",
    ],
)
def test_the_status_line_leaves_no_trace_beside_a_pipe(library, line):
    (library / "questions.txt").write_text("How fast do bees fly in fog?\n" * 3)
    with Terminal(80, 24) as terminal:
        processes_in(library).run(line.format(ROOT), terminal)
        assert b"starting" in terminal.written
        result = terminal.written.partition(b"3.7 metres")[2]
        assert b"searching" not in result, "it may come between what the pipe's reader writes"
        assert [row for row in terminal.emulator.shown if "…" in row] == []


def test_in_a_pipe_there_is_one_whole_record_a_line_and_no_pager(library, pager):
    Commands(library).query("ask", "How fast do bees fly in fog? " + "And in clear air? " * 12)
    for kind, script, *args in (
        (ProcessCommands, "ingest.py", "list"),
        (ProcessCommands, "query.py", "history", "list"),
        (Commands, "query.py", "audit"),
        (Commands, "query.py", "models"),
        (Commands, "query.py", "profiles"),
        (Commands, "ingest.py", "doctor", "--fast"),
    ):
        ran = kind(library).run(script, *args, COLUMNS="40", PAGER=pager("cat"), FORCE_COLOR="1")
        lines = ran.out.splitlines()
        assert lines, args
        assert len({line.count("\t") for line in lines}) == 1, args
        assert "…" not in ran.out, args
        assert "\x1b" not in ran.out, args
        assert PAGED not in ran.out, args
        assert [line for line in lines if line != line.rstrip(" ")] == [], args
    listed = Commands(library).ingest("list", "--sort", "title").out
    assert listed.splitlines()[0].endswith("Firing porcelain in a tunnel kiln\tkilns.pdf")
