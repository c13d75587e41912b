"""Which questions a route takes, through the engine."""

import json
from collections import Counter
from pathlib import Path

import pytest

from ragscience import AskRequest, Engine
from ragscience.records import Filters, Turn
from ragscience.routes import help_route, library_route, mentions_route, papers_route, route
from tests.pdf_factory import make_pdf
from tests.routes.ordinary_questions import QUESTIONS
from tests.routes.paper_library import context

OWN = {"papers": papers_route, "mentions": mentions_route, "library": library_route, "help": help_route}
SETS = sorted((Path(__file__).parents[2] / "benchmarks" / "questions").glob("*.jsonl"))


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
    assert (answer.route, answer.confidence, answer.refused) == ("papers", "high", False)
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


def test_words_that_no_paper_has_are_a_refusal(engine):
    answer = engine.ask(AskRequest("Does any paper mention honey badgers?", strict=True))
    assert (answer.route, answer.refused, answer.confidence) == ("mentions", True, None)
    assert "None of the 2 papers" in answer.text


def test_the_filters_of_a_request_narrow_a_route(engine):
    answer = engine.ask(AskRequest("How many papers are in my library?", Filters(papers=("one",))))
    assert answer.text.startswith("The filters leave 1 paper")


def test_a_quote_of_a_route_has_its_place(engine):
    answer = engine.ask(AskRequest("Which papers mention flowers?"))
    (citation,) = answer.citations
    assert (citation.file, citation.page) == ("two.pdf", 1)
    assert citation.boxes
    assert "flowers" in citation.quote


def test_a_follow_up_is_understood(engine):
    turns = (Turn("What does Sleep say?", "Sleep helps memory."),)
    assert engine.ask(AskRequest("And how many papers are there?", history=turns)).route == "papers"


def test_a_routed_answer_can_be_replayed(engine):
    for plain in (False, True):
        answer = engine.ask(AskRequest("Which papers mention flowers?", plain=plain))
        record = engine.history.audit_record(answer.answer_id)
        assert (record["plain"], record["route"]) == (plain, answer.route)
        replayed = engine.history.replay(answer.answer_id)
        assert replayed.is_same
        assert replayed.record["route"] == answer.route


def taken_by(question, library):
    given = context(library)
    return [name for name, module in OWN.items() if module.answer(question, given) is not None]


@pytest.mark.parametrize("question", QUESTIONS.strip().split("\n"))
def test_ordinary_questions_are_searched_for(bees, question):
    assert taken_by(question, bees) == []


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_the_questions_of_the_benchmarks_go_their_way(bees, path):
    questions = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    others = [item["question"] for item in questions if item["type"] not in OWN]
    assert [question for question in others if taken_by(question, bees)] == []


def test_deciding_reads_the_papers_once_at_most(bees, monkeypatch):
    """What costs is reading the library: a question that is searched for has it read as often as its words ask."""
    reads = Counter()
    given = context(bees)
    papers = type(bees).papers

    def counted(library):
        reads["papers"] += 1
        return papers(library)

    monkeypatch.setattr(type(bees), "papers", counted)
    for question in ("What learning rate does Adam use?", "How does attention work?", "Why does depth help?"):
        assert route(question, given) is None
    assert reads["papers"] <= 2, "once for the names, once for the papers"
