"""Ctrl-C in a real terminal: what is in and how to go on is said; a second one leaves at once and loses nothing."""

import signal

import pytest

from ragscience.library.store import Home, Library
from tests.pdf_factory import make_pdf
from tests.screens.emulator import CommandTerminal

PAGES = 60


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
    for signals in (1, 2):
        with CommandTerminal(home, "ingest.py", TERM="xterm", RAG_OFFLINE="1") as terminal:
            terminal.wait_for(": b.pdf")
            terminal.process.send_signal(signal.SIGINT)
            if signals == 2:
                terminal.wait_for("stopping")
                terminal.process.send_signal(signal.SIGINT)
            assert (terminal.end(), papers_of(home)) == (130, 1)
        assert "Traceback" not in terminal.said
        if signals == 1:
            assert "1 of 2 papers is in; the same command continues with the rest." in terminal.said
            assert "stopped." in terminal.said
