"""How far a run is, by a clock of the test: the remaining time follows from pages and passages, and never too early."""

from pathlib import Path

import pytest

from ragscience.engine.ingest_progress import RunProgress

SHORT, LONG, BROKEN = Path("a.pdf"), Path("long.pdf"), Path("broken.pdf")


class Run:
    """Two papers and a file without pages; a page is read in a tenth of a second, a passage embedded in half of one."""

    def __init__(self, workers=1):
        self.now = 0.0
        self.events = []
        pages = {SHORT: 10, LONG: 300, BROKEN: 0}
        self.progress = RunProgress(pages, workers, self.events.append, lambda: self.now)

    def read(self, path, pages, of):
        self.progress.page_done(path, 0, 0)
        for number in range(1, pages + 1):
            self.now += 0.1
            self.progress.page_done(path, number, of)

    def embed(self, path, passages):
        self.now += passages / 2
        self.progress.embedded(path, passages, passages / 2)


def test_the_page_then_the_passage_of_the_file_in_hand_is_told():
    run = Run()
    run.read(SHORT, 4, 10)
    run.progress.waiting(SHORT)
    run.read(SHORT, 10, 10)
    run.progress.file_done(SHORT)
    run.progress.cut(SHORT, 20)
    run.embed(SHORT, 16)
    run.progress.done(SHORT)
    run.progress.waiting(LONG)
    told = [(event.path, event.number, event.papers, event.page, event.pages, event.passage) for event in run.events]
    assert told == [(SHORT, 1, 3, 5, 10, 0), (SHORT, 1, 3, 0, 0, 17), (LONG, 2, 3, 1, 300, 0)]


def test_no_time_is_told_before_reading_and_embedding_were_measured():
    run = Run()
    run.read(SHORT, 10, 10)
    run.now += 60
    assert run.progress.seconds_left() is None
    run.progress.file_done(SHORT)
    run.progress.cut(SHORT, 20)
    run.embed(SHORT, 8)
    assert run.progress.seconds_left() is None
    run.embed(SHORT, 8)
    assert run.progress.seconds_left() is not None


def test_a_long_paper_ahead_counts_by_its_pages():
    run = Run()
    run.read(SHORT, 10, 10)
    run.progress.file_done(SHORT)
    run.progress.cut(SHORT, 20)
    run.embed(SHORT, 20)
    run.progress.done(SHORT)
    assert run.progress.seconds_left() == pytest.approx(300 * 0.1 + 600 * 0.5)
    run.read(LONG, 100, 300)
    assert run.progress.seconds_left() == pytest.approx(200 * 0.1 + 600 * 0.5)
    run.progress.file_done(LONG)
    run.progress.cut(LONG, 100)
    run.embed(LONG, 50)
    assert run.progress.seconds_left() == pytest.approx(50 * 0.5)
    run.embed(LONG, 50)
    run.progress.done(LONG)
    assert run.progress.seconds_left() == 0


def test_a_paper_that_is_read_while_another_is_embedded_costs_no_time_of_its_own():
    run = Run()
    run.read(SHORT, 10, 10)
    run.progress.file_done(SHORT)
    run.progress.cut(SHORT, 200)
    run.embed(SHORT, 100)
    assert run.progress.seconds_left() == pytest.approx(100 * 0.5 + 6000 * 0.5)


def test_a_file_that_fails_leaves_the_estimate():
    run = Run()
    run.read(SHORT, 10, 10)
    run.progress.file_done(SHORT)
    run.progress.cut(SHORT, 20)
    run.embed(SHORT, 20)
    run.progress.done(SHORT)
    run.progress.done(LONG)
    assert run.progress.seconds_left() == 0
