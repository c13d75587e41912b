"""Files that a run skips are named once, and again when they change; a run with nothing new in them is a good run."""

import os

from ragscience.core.errors import FileProblem
from ragscience.core.settings import load_settings
from ragscience.engine import Engine, PaperFailed
from ragscience.engine.events import Noted
from ragscience.reading.reader_process import ReaderProcess
from tests.commands.papers import BEES, spoil
from tests.pdf_factory import make_pdf


def run(own_home, *paths, sync=False, **settings):
    """The names of the files that a run says it could not read, how many it only counts, and its events."""
    events = []
    with Engine.open(own_home, load_settings(home=own_home, offline=True, **settings)) as engine:
        result = (
            engine.ingest.sync(on_event=events.append) if sync else engine.ingest.add(paths, on_event=events.append)
        )
    failed = {failure.path.name for failure in result.failures}
    assert failed == {event.path.name for event in events if isinstance(event, PaperFailed)}
    return failed, result.still_skipped, events


def listed(own_home):
    with Engine.open(own_home) as engine:
        return {os.path.basename(file.path): file.reason for file in engine.papers.skipped()}  # noqa: PTH119


def test_a_file_whose_reading_the_disk_failed_is_read_by_the_next_run(own_home, monkeypatch):
    make_pdf(own_home / "papers" / "new.pdf", BEES)
    real = ReaderProcess.read
    failed = FileProblem("new.pdf cannot be read: Input/output error.", "Check its permissions.", reason="unreadable")
    monkeypatch.setattr(ReaderProcess, "read", lambda *_, **__: failed)
    assert run(own_home)[:2] == ({"new.pdf"}, 0)
    monkeypatch.setattr(ReaderProcess, "read", real)
    assert run(own_home)[:2] == (set(), 0)
    assert "new.pdf" not in listed(own_home)


def test_one_that_is_named_is_tried_again_and_its_folder_is_no_name(own_home):
    spoil(own_home / "papers")
    run(own_home)
    assert run(own_home, own_home / "papers")[:2] == (set(), 4)
    assert run(own_home, own_home / "papers" / "page.pdf")[:2] == ({"page.pdf"}, 0)
    assert run(own_home)[:2] == (set(), 4)


def test_a_file_that_may_not_be_opened_is_named_once(own_home):
    (own_home / "papers" / "folder.pdf").symlink_to(own_home / "nowhere")
    assert run(own_home)[:2] == ({"folder.pdf"}, 0)
    assert run(own_home)[:2] == (set(), 1)
    assert listed(own_home) == {"folder.pdf": "unreadable"}


def test_documents_in_other_formats_are_named_once(own_home):
    for name in ("thesis.odt", "notes.rst", ".hidden.md", "data.csv"):
        (own_home / "papers" / name).write_text("words")
    said = [run(own_home)[2], run(own_home, sync=True)[2]]
    (own_home / "papers" / "more" / "figure.png").write_text("dots")
    said.append(run(own_home)[2])
    names = [
        [event.line.partition(". ")[0] for event in events if isinstance(event, Noted) and "Only PDF" in event.line]
        for events in said
    ]
    assert names == [
        ["Not read: 2 files, notes.rst, thesis.odt"],
        [],
        ["Not read: figure.png"],
    ]
    assert listed(own_home) == dict.fromkeys(("figure.png", "notes.rst", "thesis.odt"), "other-format")
