"""Which questions a route takes, through the engine."""

import pytest

from ragscience import AskRequest, Engine
from tests.pdf_factory import make_pdf


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    folder = home / "papers"
    folder.mkdir()
    make_pdf(folder / "one.pdf", ["Sleep helps memory. " * 20])
    make_pdf(folder / "two.pdf", ["Bees dance to tell where flowers are. " * 20])
    with Engine.open(home) as engine:
        engine.add()
        yield engine


def test_a_count_of_the_papers_comes_from_the_library(engine):
    answer = engine.ask(AskRequest("How many papers are in my library?"))
    assert answer.text.startswith("The library has 2 papers")
    assert (answer.route, answer.confidence, answer.refused) == ("library", "high", False)
    assert answer.route_note
    assert "route" in {stage.name for stage in answer.stages}


def test_plain_switches_the_routes_off(engine):
    answer = engine.ask(AskRequest("How many papers are in my library?", plain=True))
    assert answer.route == "passages"
    assert answer.found.hits


def test_a_question_of_what_the_papers_say_is_searched_for(engine):
    answer = engine.ask(AskRequest("What do bees tell by their dance?"))
    assert (answer.route, answer.route_note) == ("passages", "")
    assert "where flowers are" in answer.text
