"""The status line: what is drawn and when, on a terminal that is a text of ours."""

import io
import sys
import threading
from contextlib import contextmanager

import pytest

from ragscience.cli import status_line
from ragscience.cli.status_line import StatusLine

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
