"""The status line: what is drawn and when, on a terminal that is a text of ours with a clock of ours."""

import io
import sys
import threading
from contextlib import contextmanager

import pytest

from ragscience.cli import status_line
from ragscience.cli.status_line import StatusLine

GONE = "\r\x1b[K"


class Terminal(io.StringIO):
    """A terminal of 80 columns that remembers what was written, and wakes who waits for it."""

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

    @property
    def line(self):
        """What stands in the last line."""
        return self.getvalue().rpartition("\n")[2].rpartition(GONE)[2]


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@contextmanager
def on_a_terminal(arguments=(), stderr=None):
    """A status line, the terminal that it is on, and its clock; pytest's own streams come back behind it."""
    terminal, clock = Terminal(), Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", stderr or terminal)
        patch.setenv("TERM", "xterm")
        status = StatusLine(clock)
        status.begin(arguments)
        try:
            yield status, terminal, clock
        finally:
            status.end()


def test_seconds_count_from_the_first_full_one():
    with on_a_terminal() as (status, terminal, clock):
        status.show("searching")
        assert terminal.line == "searching…"
        clock.now += 34.9
        terminal.wait_for("searching… 34 s, Ctrl-C stops")


def test_another_text_begins_at_zero_unless_it_keeps_the_time():
    with on_a_terminal() as (status, terminal, clock):
        status.show("reading page 1 of 3")
        clock.now += 5
        status.show("reading page 2 of 3", keeps_time=True)
        assert terminal.line == "reading page 2 of 3… 5 s, Ctrl-C stops"
        status.show("storing", stops="Ctrl-C stops after this paper")
        assert terminal.line == "storing…"
        clock.now += 1
        terminal.wait_for("storing… 1 s, Ctrl-C stops after this paper")


def test_a_command_that_is_done_at_once_shows_nothing():
    with on_a_terminal() as (status, terminal, _):
        status.end()
        assert terminal.getvalue() == ""


def test_starting_is_shown_before_the_command_says_anything():
    with on_a_terminal() as (_, terminal, clock):
        clock.now += status_line.FIRST_SECONDS
        terminal.wait_for("starting…")


def test_a_result_removes_the_line_for_good():
    with on_a_terminal() as (status, terminal, clock):
        status.show("searching")
        print("An answer.")
        clock.now += 3
        status.hide()
        assert terminal.getvalue().endswith(f"searching…{GONE}An answer.\n")


def test_the_line_comes_back_behind_a_line_on_stderr_alone():
    with on_a_terminal() as (status, terminal, clock):
        status.show("searching")
        sys.stderr.write("a warning\n")
        assert f"searching…{GONE}a warning\n" in terminal.getvalue()
        terminal.wait_for(f"a warning\n{GONE}searching…")
        sys.stderr.write("Go on? [y/N] ")
        clock.now += 7
        assert terminal.line == "Go on? [y/N] "
        status.show("searching")
        terminal.wait_for("searching… 7 s")


def test_a_progress_bar_ends_the_line():
    with on_a_terminal() as (status, terminal, _):
        status.show("searching")
        sys.stderr.write("\x1b[?25l 50 %\n")
        status.hide()
        assert terminal.getvalue().endswith(f"{GONE}\x1b[?25l 50 %\n")


def test_end_restores_the_streams_and_removes_the_line():
    with on_a_terminal() as (status, terminal, _):
        status.show("searching")
        assert sys.stdout is not terminal
        status.end()
        assert sys.stdout is sys.stderr is terminal
        assert terminal.getvalue() == f"{GONE}searching…{GONE}"
        status.show("searching")
        assert terminal.line == ""


@pytest.mark.parametrize("columns", [1, 2, 8, 20, 40, 60, 200])
@pytest.mark.parametrize("text", ["reading a_paper_with_a_long_name_2106.09685.pdf, page 3 of 26", "论文" * 30])
def test_no_line_is_wider_than_the_terminal(monkeypatch, columns, text):
    with on_a_terminal() as (status, terminal, clock):
        from rich.cells import cell_len

        monkeypatch.setattr(status_line, "_columns", lambda _: columns)
        status.show(text)
        clock.now += 1000
        status.show(text)
        assert all(cell_len(line) + len("^C") < max(columns, 3) for line in terminal.getvalue().split(GONE) if line)
        if columns >= 40:
            assert terminal.line.endswith("… 1000 s, Ctrl-C stops")


@pytest.mark.parametrize("arguments", [["-q"], ["--quiet"], ["what", "-cq"]])
def test_quiet_commands_have_no_line(arguments):
    with on_a_terminal(arguments) as (status, terminal, _):
        status.show("searching")
    assert terminal.getvalue() == ""


def test_a_pipe_has_no_line():
    pipe = io.StringIO()
    with on_a_terminal(stderr=pipe) as (status, terminal, _):
        status.show("searching")
    assert pipe.getvalue() == terminal.getvalue() == ""


def test_a_terminal_that_is_gone_is_no_error(monkeypatch):
    with on_a_terminal() as (status, terminal, _):

        def fail(_):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(terminal, "write", fail)
        status.show("searching")
        status.show("reading")
        status.end()


def test_interrupts_while_the_line_is_drawn_leave_nothing_behind(monkeypatch):
    with on_a_terminal() as (status, terminal, _):
        real = terminal.write

        def interrupted(text):
            real(text[:7])
            monkeypatch.setattr(terminal, "write", real)
            raise KeyboardInterrupt

        monkeypatch.setattr(terminal, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            status.show("searching")
        status.end()
        assert terminal.line == ""
