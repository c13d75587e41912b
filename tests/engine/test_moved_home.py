"""A home that was moved, with or without its papers' old places: everything is found again."""

import shutil
import sqlite3

import pytest
from ragscience.library.row_checksums import seal, seal_meta

from ragscience.core.settings import load_settings
from ragscience.engine import AskRequest, Engine
from ragscience.engine.ingest_events import PaperRemoved
from ragscience.engine.source_list import source_now
from ragscience.library.store import Home, Library
from tests.conftest import copied
from tests.pdf_factory import make_pdf


def opened(home):
    return Engine.open(home, load_settings(home=home, offline=True))


@pytest.fixture
def moved(library, tmp_path):
    """A home in which a question was asked, at another place."""
    before = copied(library, tmp_path / "before")
    with opened(before) as engine:
        engine.ingest.add()
        engine.ask(AskRequest("At how many degrees does the glaze mature?"))
    after = tmp_path / "elsewhere" / "after"
    after.parent.mkdir()
    shutil.move(before, after)
    return after


def keep_full_paths(home, root):
    """As a version before this one kept them: the full paths of the place where it was."""
    with Library.open_for_writing(Home(home)) as library, library._writing() as db:
        for paper_id, path in db.execute("SELECT paper_id, path FROM papers").fetchall():
            full = f"{root}/{path.decode()}".encode()
            db.execute("UPDATE papers SET path = ? WHERE paper_id = ?", (full, paper_id))
            seal(db, "papers", "paper_id = ?", (paper_id,))
        seal_meta(db)


def test_a_moved_home_is_as_it_was(moved):
    with opened(moved) as engine:
        assert all(str(moved) in paper.path for paper in engine.papers.list())
        assert not [one for one in engine.doctor().findings if one.area == "papers" and one.severity != "ok"]
        answer = engine.history.answer("").answer
        assert source_now(answer, 1, engine.library).path == str(moved / "papers" / "kilns.pdf")
        assert "1280" in engine.papers.surroundings(answer, 1).text
        assert engine.ingest.sync_plan() == type(engine.ingest.sync_plan())((), ())
        assert engine.ingest.add().known == 3


def test_a_home_of_full_paths_that_was_moved_is_found_by_its_bytes(moved):
    keep_full_paths(moved, moved.parent.parent / "before")
    with opened(moved) as engine:
        messages = [one.message for one in engine.doctor().findings if one.area == "papers" and "gone" in one.message]
        assert not messages
        assert any("is now" in one.message for one in engine.doctor().findings)
        assert engine.ingest.sync_plan().gone == ()
        events = []
        assert engine.ingest.sync(on_event=events.append).known == 3
        assert not [event for event in events if isinstance(event, PaperRemoved)]
        assert {paper.path for paper in engine.papers.list()} == {str(path) for path in moved.rglob("*.pdf")}


def test_full_paths_within_the_home_become_relative(moved):
    keep_full_paths(moved, moved)
    with Library.open_for_writing(Home(moved)) as library:
        papers = library.papers()
    assert all(str(moved) in paper.path for paper in papers)
    with sqlite3.connect(Home(moved).database) as db:
        assert {path for (path,) in db.execute("SELECT path FROM papers")} == {
            str(path.relative_to(moved)).encode() for path in moved.rglob("*.pdf")
        }


def test_a_paper_outside_of_the_home_is_found_in_its_new_folder(moved, tmp_path):
    outside = make_pdf(tmp_path / "outside" / "voles.pdf", ["The voles store 47 grams of seed."])
    with opened(moved) as engine:
        engine.ingest.add([outside])
        outside.parent.rename(tmp_path / "other")
        (gone,) = [one for one in engine.doctor().findings if "gone" in one.message]
        assert "`python ingest.py FOLDER`" in gone.remedy
        assert engine.ingest.add([tmp_path / "other"]).known == 1
        assert str(tmp_path / "other" / "voles.pdf") in {paper.path for paper in engine.papers.list()}
        assert {one.severity for one in engine.doctor().findings if one.area in ("papers", "indexes")} == {"ok"}
