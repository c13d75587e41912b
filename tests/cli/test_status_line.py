"""The status line: what is drawn and when, on a terminal that is a text of ours."""

import io
import sys
import threading
from contextlib import contextmanager

import pytest

from ragscience.cli import status_line
from ragscience.cli.screen import Screen, step_lines
from ragscience.cli.status_line import StatusLine
from ragscience.core.records import Step
from ragscience.engine.events import Token

GONE = "\r\x1b[K"


class Terminal(io.StringIO):
    """A terminal that remembers what was written, and wakes who waits for it."""

    def __init__(self):
        super().__init__()
        self._written = threading.Condition()

    def isatty(self):
        return True

    def write(self, text):
        with self._written:
            count = super().write(text)
            self._written.notify_all()
        return count

    def wait_for(self, text):
        with self._written:
            assert self._written.wait_for(lambda: text in self.getvalue(), timeout=100), self.getvalue()


@contextmanager
def on_a_terminal(arguments=(), stdout=None, stderr=None):
    terminal = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stdout or terminal)
        patch.setattr(sys, "stderr", stderr or terminal)
        patch.setattr(status_line, "_SECONDS", 0.01)
        patch.setenv("TERM", "xterm")
        status = StatusLine()
        status.begin(arguments)
        try:
            yield status, terminal
        finally:
            status.end()


def test_a_line_is_drawn_and_counts_seconds_until_a_result_ends_it(monkeypatch):
    with on_a_terminal() as (status, terminal):
        terminal.wait_for("starting…")
        status.show("searching")
        terminal.wait_for("searching…")
        status._since -= 34.9
        terminal.wait_for("searching… 34 s, Ctrl-C stops")
        status.show("reading", stops="again: leaves", keeps_time=True)
        terminal.wait_for("reading… 34 s, again: leaves")
        print("An answer.")
        assert terminal.getvalue().endswith(f"{GONE}An answer.\n")
        status.end()
        assert sys.stdout is sys.stderr is terminal


def test_the_line_comes_back_after_a_whole_line_on_stderr_alone():
    with on_a_terminal() as (status, terminal):
        status.show("searching")
        terminal.wait_for("searching…")
        sys.stderr.write("a warning\n")
        terminal.wait_for(f"{GONE}a warning\n{GONE}searching…")
        sys.stderr.write("Go on? [y/N] ")
        assert terminal.getvalue().endswith("Go on? [y/N] ")
        status.show("searching on")
        terminal.wait_for("searching on…")


@pytest.mark.parametrize("columns", [20, 40, 200])
@pytest.mark.parametrize("text", ["reading a_paper_with_a_long_name_2106.09685.pdf, page 3 of 26", "论文" * 30])
def test_no_line_is_wider_than_the_terminal(monkeypatch, columns, text):
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", str(columns))
    with on_a_terminal() as (status, terminal):
        status.show(text)
        terminal.wait_for(text[:2])
        status._since -= 1000
        terminal.wait_for(" s")
    assert all(cell_len(line) < max(columns, 25) for line in terminal.getvalue().split(GONE))


@pytest.mark.parametrize("arguments", [["-q"], ["--quiet"], ["what", "-cq"]])
def test_quiet_commands_and_pipes_have_no_line(arguments):
    with on_a_terminal(arguments) as (status, terminal):
        status.show("searching")
        assert sys.stderr is terminal
    pipe = io.StringIO()
    with on_a_terminal(stderr=pipe) as (status, terminal):
        status.show("searching")
        assert sys.stderr is pipe
    assert pipe.getvalue() == terminal.getvalue() == ""


def test_a_terminal_that_is_gone_is_no_error(monkeypatch):
    with on_a_terminal() as (status, terminal):

        def fail(_):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(terminal, "write", fail)
        status.show("searching")
        status.end()


SPLIT = Step("decompose_query", 1, "2 queries", "llm", ("bees in fog", "radar"), llm_calls=1, tokens=120, seconds=0.5)
FOUND = Step("retrieve", 1, "7 new passages, 7 in all", "rules", notes=("calculate(2+2): 4",), searches=2, tool_calls=1)
GRADE = Step("reflect", 2, "0.40 (support)", "rules", score=0.4, missing=("wind", "speed"), seconds=0.25)


def test_what_comes_in_one_piece_is_left_to_the_answer_and_a_stream_is_shown_from_its_second_piece(capsys):
    screen = Screen(quiet=False)
    screen.begin_answer(shows_tokens=True)
    screen(Token("“All of it.”"))
    assert (screen.streamed, capsys.readouterr().out) == ("", "")
    screen.begin_answer(shows_tokens=True)
    for piece in ("Bees ", "steer\x1b[2J ", "home."):
        screen(Token(piece))
    assert screen.streamed == "Bees steer\x1b[2J home."
    screen.end_stream()
    assert capsys.readouterr().out == "Bees steer␛[2J home.\n"


def test_a_step_tells_what_was_asked_told_and_missing():
    assert list(step_lines(SPLIT)) == [
        "Splitting the question: 2 queries [1 model call, 0.5 s]",
        "    ? bees in fog",
        "    ? radar",
    ]
    assert list(step_lines(FOUND)) == [
        "Searching: 7 new passages, 7 in all [2 searches, 1 tool call, 0.0 s]",
        "    - calculate(2+2): 4",
    ]
    assert list(step_lines(GRADE)) == [
        "How well the draft answers the question (pass 2): 0.40 (support) [0.2 s]",
        "    missing: wind; speed",
    ]
