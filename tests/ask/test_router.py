"""Which questions a route takes, through the engine."""

from pathlib import Path
from shutil import copy

import numpy as np
import pytest

from ragscience import AskRequest, Engine
from ragscience.ask.intents import WEIGHTS, kinds, probabilities
from ragscience.ask.router import route
from ragscience.core.settings import load_settings
from tests.ask.ordinary_questions import QUESTIONS
from tests.ask.paper_library import context, embedder
from tests.ollama_server import OllamaServer, chat_model
from tests.pdf_factory import make_pdf

ROOT = Path(__file__).parents[2]


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


def test_plain_switches_the_routes_off(engine):
    answer = engine.ask(AskRequest("How many papers are in my library?", plain=True))
    assert answer.route == "passages"
    assert answer.found.hits


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
    assert "in no text of the 2 papers" in answer.text


def test_an_ordinary_question_is_searched_for(bees):
    """Questions that look like those of the library: few are taken for one, and none of its papers or program."""
    given = context(bees)
    taken = [question for question in QUESTIONS.strip().split("\n") if route(question, given) is not None]
    assert len(taken) <= 0.13 * len(QUESTIONS.strip().split("\n")), taken


def test_the_weights_are_those_of_the_examples():
    """`python tools/fit_intents.py` makes them anew after a change of the examples."""
    named = [(kind.name, text) for kind in kinds() for text in kind.examples if "THING" not in text]
    asked = [text.replace("PAPER", "X1").replace("NAME", "Smith").replace("YEAR", "2018") for _, text in named]
    weights = np.load(WEIGHTS)
    assert weights.shape[1] == len(kinds())
    guessed = probabilities(weights, embedder().embed_documents(asked)).argmax(axis=1)
    right = sum(kinds()[number].name == name for number, (name, _) in zip(guessed, named, strict=True))
    assert right >= 0.95 * len(named)
