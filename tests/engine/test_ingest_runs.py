"""Papers through the engine: what a caller receives on the way and at the end, while others ask."""

import os
from threading import Event

import pytest

from ragscience.core.errors import FileProblem, LibraryBusy
from ragscience.engine import PlanMade, SearchRequest, Warned
from ragscience.engine.events import Noted
from ragscience.reading.reader_process import ReaderProcess
from tests.commands.papers import KILNS
from tests.pdf_factory import make_pdf

VOLES = ["Voles in winter\n\nThe voles store 47 grams of seed in each burrow."]


def test_papers_can_be_searched_while_one_is_added_and_nobody_else_can_write(engine, tmp_path):
    make_pdf(tmp_path / "voles.pdf", VOLES)
    seen = []

    def on_event(event):
        if isinstance(event, PlanMade):
            seen.append(engine.search(SearchRequest("glaze")).hits[0].chunk.file)
            with pytest.raises(LibraryBusy):
                engine.ingest.remove(["bees.pdf"])

    engine.ingest.add([tmp_path / "voles.pdf"], on_event=on_event)
    assert seen == ["kilns.pdf"]


def test_a_cancelled_run_ends_after_the_paper_in_hand(engine, tmp_path):
    for number in range(3):
        make_pdf(tmp_path / "new" / f"{number}.pdf", [f"{VOLES[0]}\nBurrow {number}."])
    cancel = Event()
    cancel.set()
    assert len(engine.ingest.add([tmp_path / "new"], cancel=cancel).added) == 1
    assert len(engine.papers.list()) == 4


def test_a_removed_paper_stays_out_until_it_is_named(engine):
    kilns = engine.home.papers / "kilns.pdf"
    engine.ingest.remove(["kilns.pdf"])
    said = []
    assert engine.ingest.sync_plan(on_event=said.append) == ([], [])
    assert [
        run(on_event=said.append).still_skipped for run in (engine.ingest.add, engine.ingest.sync, engine.ingest.add)
    ] == [0, 1, 1]
    (line,) = [event.line for event in said if isinstance(event, Noted) and "removed" in event.line]
    assert line.startswith("not read: kilns.pdf: It was removed from the library. `python ingest.py add /")
    assert str(kilns) in line
    assert len(engine.papers.list()) == 2
    assert len(engine.ingest.add([engine.home.papers]).added) == 0
    assert [paper.file for paper in engine.ingest.add([kilns]).added] == ["kilns.pdf"]
    (kilns.parent / "kilns.pdf").unlink()
    engine.ingest.sync()
    make_pdf(kilns, KILNS)
    assert [paper.file for paper in engine.ingest.add().added] == ["kilns.pdf"]


def page_of(number):
    return "\n".join(
        f"Sentence {number * 40 + line} tells of glaze {line * 7 + number} and kiln {line * 13 + number}."
        for line in range(20)
    )


@pytest.mark.parametrize("damage", ["empty pages", "fewer pages", "cut off"])
def test_a_whole_paper_stays_where_a_newer_copy_lacks_pages(engine, damage):
    head = "The Colours of Glazes in Kilns\n\nAda Lovelace\n\n"
    pages = [head + page_of(0), *map(page_of, range(1, 12))]
    whole, copy = engine.home.papers / "whole.pdf", engine.home.papers / "copy.pdf"
    make_pdf(whole, pages)
    if damage == "cut off":
        content = whole.read_bytes()
        copy.write_bytes(content[: int(0.7 * len(content))])
    else:
        make_pdf(copy, [*pages[:3], *[""] * 9] if damage == "empty pages" else pages[:8])
    os.utime(whole, (1, 1))
    engine.ingest.add()
    (pair,) = engine.papers.duplicates()
    assert (pair.newer, pair.older, pair.newer_by) == ("whole.pdf", "copy.pdf", "completeness")
    assert engine.ingest.keep_newest() == (pair,)
    assert {"whole.pdf"} == {paper.file for paper in engine.papers.list()} & {"whole.pdf", "copy.pdf"}


@pytest.mark.parametrize("is_its_own", [True, False])
def test_a_paper_whose_file_is_gone_stays_while_a_new_file_cannot_be_read(engine, is_its_own):
    papers = engine.home.papers
    (papers / "kilns.pdf").rename(engine.home.root / "kept.pdf")
    bad = papers / ("bees.pdf" if is_its_own else "other-name.pdf")
    if is_its_own:
        bad.rename(engine.home.root / "bees.pdf")
    bad.symlink_to(bad.name)  # no process can open it
    said = []
    result = engine.ingest.sync(on_event=said.append)
    assert [failure.path.name for failure in result.failures] == [bad.name]
    files = {paper.file for paper in engine.papers.list()}
    stays = [event.text for event in said if isinstance(event, Warned) and "stays until other-name.pdf" in event.text]
    assert ("kilns.pdf" in files, len(stays)) == ((False, 0) if is_its_own else (True, 1))
    bad.unlink()
    (engine.home.root / "kept.pdf").rename(papers / "other-name.pdf")
    result = engine.ingest.sync()
    assert "other-name.pdf" in {paper.file for paper in engine.papers.list()}
    assert [paper.file for paper in result.added] == (["other-name.pdf"] if is_its_own else [])


def test_a_file_whose_reading_the_disk_failed_is_read_by_the_next_run(engine, monkeypatch):
    make_pdf(engine.home.papers / "new.pdf", VOLES)
    failed = FileProblem("new.pdf cannot be read: Input/output error.", "Check its permissions.", reason="unreadable")
    with monkeypatch.context() as patch:
        patch.setattr(ReaderProcess, "read", lambda *_, **__: failed)
        assert [failure.path.name for failure in engine.ingest.add().failures] == ["new.pdf"]
    assert [paper.file for paper in engine.ingest.add().added] == ["new.pdf"]
    assert list(engine.papers.skipped()) == []
