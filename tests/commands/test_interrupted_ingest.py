"""Ctrl-C in a real terminal: what is in and how to go on is said; a second one leaves at once and loses nothing."""

import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from contextlib import contextmanager

import pytest

from ragscience.library.store import Home, Library
from tests.conftest import ROOT
from tests.pdf_factory import make_pdf
from tests.screens.emulator import readable
from tests.warm_processes import WarmProcess

PAGES = 60


@contextmanager
def ingest_in_terminal(home, *args):
    """A run whose terminal is ours: `read_until(text)` gives what it has shown up to then."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = WarmProcess(
        [sys.executable, str(ROOT / "ingest.py"), *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "RAG_HOME": str(home), "TERM": "xterm", "RAG_OFFLINE": "1"},
        cwd=home,
    )
    os.close(theirs)
    shown = ""

    def read_until(text):
        nonlocal shown
        while text not in shown:
            ready = readable([ours], 120)
            assert ready, shown
            try:
                piece = os.read(ours, 65536)
            except OSError:
                piece = b""
            if not piece:
                assert not text, shown
                break
            shown += piece.decode()
        return shown

    try:
        yield process, read_until
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def rest_of(process, read_until):
    """What is shown until the end of the process, and its exit code."""
    with pytest.raises(AssertionError) as ended:
        read_until("never shown")
    return str(ended.value), process.wait(60)


@pytest.fixture
def home(tmp_path):
    """A short paper, and one that takes seconds to read."""
    make_pdf(tmp_path / "papers" / "a.pdf", ["Voles in winter\n\nThe voles store 47 grams of seed."])
    line = "Burrow {} of page {} holds some grams of seed for the winter."
    pages = ["\n".join(line.format(number, page) for number in range(30)) for page in range(PAGES)]
    make_pdf(tmp_path / "papers" / "b.pdf", pages)
    return tmp_path


def papers_of(home):
    with Library.open(Home(home)) as library:
        return len(library.papers())


def test_one_says_what_is_in_and_how_to_go_on_and_a_second_one_leaves_at_once(home):
    with ingest_in_terminal(home) as (process, read_until):
        read_until(": b.pdf")
        process.send_signal(signal.SIGINT)
        shown, code = rest_of(process, read_until)
    assert (code, papers_of(home)) == (130, 1)
    assert "1 of 2 papers is in; `python ingest.py` continues with the rest." in shown
    assert "stopped." in shown
    assert "Traceback" not in shown
    with ingest_in_terminal(home) as (process, read_until):
        read_until(": b.pdf")
        process.send_signal(signal.SIGINT)
        read_until("stopping")
        process.send_signal(signal.SIGINT)
        shown, code = rest_of(process, read_until)
    assert (code, papers_of(home)) == (130, 1)
    assert "Traceback" not in shown
