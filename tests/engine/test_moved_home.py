"""A home that was moved, with or without its papers' old places: everything is found again."""

import shutil

import pytest

from ragscience.core.settings import load_settings
from ragscience.engine import AskRequest, Engine
from ragscience.engine.places import source_now
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


def test_a_moved_home_is_as_it_was(moved):
    with opened(moved) as engine:
        assert all(str(moved) in paper.path for paper in engine.papers.list())
        assert not [one for one in engine.doctor() if one.area == "papers" and one.severity != "ok"]
        answer = engine.history.answer().answer
        assert source_now(answer, 1, engine.library).path == str(moved / "papers" / "kilns.pdf")
        assert "1280" in engine.papers.surroundings(answer, 1).text
        assert engine.ingest.sync_plan() == ([], [])
        assert engine.ingest.add().known == 3


def test_a_paper_outside_of_the_home_is_found_in_its_new_folder(moved, tmp_path):
    outside = make_pdf(tmp_path / "outside" / "voles.pdf", ["The voles store 47 grams of seed."])
    with opened(moved) as engine:
        engine.ingest.add([outside])
        outside.parent.rename(tmp_path / "other")
        (gone,) = [one for one in engine.doctor() if "gone" in one.message]
        assert "`python ingest.py FOLDER`" in gone.remedy
        assert engine.ingest.add([tmp_path / "other"]).known == 1
        assert str(tmp_path / "other" / "voles.pdf") in {paper.path for paper in engine.papers.list()}
        assert {one.severity for one in engine.doctor() if one.area in ("papers", "indexes")} == {"ok"}
