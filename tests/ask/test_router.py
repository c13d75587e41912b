"""Which questions a route takes, through the engine."""

import json
import subprocess
import sys
from ast import literal_eval
from collections import Counter
from importlib import import_module
from pathlib import Path
from shutil import copy

import pytest

from ragscience import AskRequest, Engine
from ragscience.ask import help_route, library_route, mentions_route, papers_route
from ragscience.ask.router import ROUTES, route
from ragscience.core.records import Filters, Turn
from ragscience.core.settings import load_settings
from tests.ask.ordinary_questions import QUESTIONS
from tests.ask.paper_library import context
from tests.ollama_server import OllamaServer, chat_model
from tests.pdf_factory import make_pdf

OWN = {"papers": papers_route, "mentions": mentions_route, "library": library_route, "help": help_route}
ROOT = Path(__file__).parents[2]
SETS = sorted((ROOT / "benchmarks" / "questions").glob("*.jsonl"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    folder = home / "papers"
    folder.mkdir()
    make_pdf(folder / "one.pdf", ["Sleep helps memory. " * 20])
    make_pdf(folder / "two.pdf", ["Bees dance to tell where flowers are. " * 20])
    with Engine.open(home) as engine:
        engine.ingest.add()
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


def test_a_language_model_words_a_summary_from_the_passages_of_its_route(tmp_path):
    (tmp_path / "papers").mkdir()
    copy(ROOT / "papers" / "sample" / "ragscience.pdf", tmp_path / "papers")
    said = "Each fact has its page (ragscience.pdf, p.1)."
    with OllamaServer(models={"llama3.1:8b": chat_model()}, default_reply=lambda _: said) as server:
        settings = load_settings(home=tmp_path, embedder="embedded", ollama_url=server.url, history=False)
        with Engine.open(tmp_path, settings) as engine:
            engine.ingest.add()
            shown = engine.ask(AskRequest("Summarize ragscience.pdf"))
        (body,) = server.of("/api/chat")
    assert (shown.mode, shown.refused, shown.text) == ("llm", False, said)
    assert shown.found.hits
    assert "wants two things: the answer, and the place where it stands" in body["messages"][-1]["content"]


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


def all_questions():
    sets = [json.loads(line)["question"] for path in SETS for line in path.read_text("utf-8").splitlines()]
    return [*sets, *QUESTIONS.strip().split("\n")]


def test_a_route_is_asked_for_whatever_it_takes(bees):
    """The words by which a route's module is imported leave out no question that the route would take."""
    given = context(bees)
    taken = Counter()
    for name, words in ROUTES:
        module = import_module(f"ragscience.ask.{name}")
        for question in all_questions():
            if words.search(question) is None:
                assert module.answer(question, given) is None, (name, question)
            else:
                taken[name] += 1
    assert set(taken) == {name for name, _ in ROUTES}


def test_an_ordinary_question_imports_no_route_of_papers():
    """What a route needs is loaded for the questions that have one of its words: a start costs no more than before."""
    question = "How does dropout keep a net from overfitting?"
    code = (
        "import sys\nfrom ragscience.ask import router\n"
        f"print([name for name, words in router.ROUTES if words.search({question!r})])\n"
        "print([name for name in sys.modules if name.endswith('_route')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    asked, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    assert not {"papers_route", "mentions_route", "library_route", "help_route"} & set(literal_eval(asked))


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
    for question in ("What learning rate does Adam use?", "How does attention scale?", "Why does depth help?"):
        assert route(question, given) is None
    assert reads["papers"] <= 2, "once for the names, once for the papers"
