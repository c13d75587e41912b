"""kill -9 at random moments of a real ingest: at most the paper in hand is lost, and the next run makes it whole."""

import json
import random
import signal
import sqlite3
import subprocess
from contextlib import closing

import pytest

from ragscience.library.store import Home, Library
from tests.conftest import Commands, started
from tests.pdf_factory import make_pdf
from tests.screens.emulator import CommandTerminal

PAPERS = 8
ROUNDS = 4


def fill(home):
    dice = random.Random(5)
    words = [f"word{number}" for number in range(300)]
    for number in range(PAPERS):
        pages = ["\n".join(" ".join(dice.choices(words, k=9)) for _ in range(12)) for _ in range(3)]
        make_pdf(home / "papers" / f"paper{number:02}.pdf", pages)


def content(home):
    with Library.open(Home(home)) as library:
        return {
            paper.file: [(chunk.start, chunk.end, chunk.text) for chunk in library.paper_chunks(paper.paper_id)]
            for paper in library.papers()
        }


def ingest_and_kill(home, dice):
    """Start an ingest, and kill it with its readers at a random moment after a random line."""
    with started(home, "ingest.py") as process:
        for _ in range(dice.randint(1, 3)):
            process.stderr.readline()
        try:
            process.wait(timeout=dice.random() / 40)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    return process.returncode


@pytest.mark.kill
def test_a_killed_ingest_loses_at_most_the_paper_in_hand(tmp_path):
    home, undisturbed = tmp_path / "home", tmp_path / "undisturbed"
    fill(home)
    fill(undisturbed)
    assert Commands(undisturbed).ingest().code == 0
    whole = content(undisturbed)
    assert len(whole) == PAPERS
    dice = random.Random(11)
    killed, seen = 0, 0
    for _ in range(ROUNDS):
        killed += ingest_and_kill(home, dice) == -signal.SIGKILL
        database = home / "vectorstore" / "library.sqlite"
        if database.exists():
            with closing(sqlite3.connect(database)) as db:
                assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        now = content(home)
        assert len(now) >= seen, "a paper that was in is gone"
        seen = len(now)
        for file, chunks in now.items():
            assert chunks == whole[file]
        found = json.loads(Commands(home).query("search", "word7 word9", "-k", "100", "--json").out)
        assert {hit["file"] for hit in found["hits"]} <= set(now)
    assert killed >= ROUNDS // 2
    assert Commands(home).ingest().code == 0
    assert content(home) == whole
    ledger = json.loads((home / "ingested.json").read_text())
    assert len(ledger["files"]) == PAPERS


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
