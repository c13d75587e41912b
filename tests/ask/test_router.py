"""Which questions a route takes, through the engine."""

import shlex
from pathlib import Path
from shutil import copy

import numpy as np
import pytest
import typer.main

from ragscience import AskRequest, Engine
from ragscience.ask.intents import WEIGHTS, help_topics, kinds, probabilities
from ragscience.ask.router import route
from ragscience.cli import config_commands, ingest_app, query_app
from ragscience.core.settings import load_settings
from tests.ask.ordinary_questions import QUESTIONS, SEARCHED
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


@pytest.mark.parametrize("question", SEARCHED.strip().split("\n"))
def test_what_no_route_answers_is_searched_for(bees, question):
    assert route(question, context(bees)) is None


def test_the_weights_are_those_of_the_examples():
    """`python tools/fit_intents.py` makes them anew after a change of the examples."""
    named = [(kind.name, text) for kind in kinds() for text in kind.examples if "THING" not in text]
    asked = [text.replace("PAPER", "X1").replace("NAME", "Smith").replace("YEAR", "2018") for _, text in named]
    weights = np.load(WEIGHTS)
    assert weights.shape[1] == len(kinds())
    guessed = probabilities(weights, np.stack([each.vector for each in embedder().questions(asked)])).argmax(axis=1)
    right = sum(kinds()[number].name == name for number, (name, _) in zip(guessed, named, strict=True))
    assert right >= 0.95 * len(named)


APPS = {"ingest.py": ingest_app.app, "query.py": query_app.app, "config.py": config_commands.config_app}
TOPICS = help_topics().values()
COMMANDS = [command for topic in TOPICS for command, _ in topic["commands"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_and_option_is_one(command):
    python, script, *words = shlex.split(command.replace("…", "x"))
    assert python == "python"
    group = typer.main.get_command(APPS[script])
    found = group
    while words and words[0] in getattr(found, "commands", {}):
        found = found.commands[words.pop(0)]
    options = {name for param in found.params for name in [*param.opts, *param.secondary_opts]} | {"--help"}
    assert {word for word in words if word.startswith("-")} <= options
    takes_words = any(param.param_type_name == "argument" for param in found.params)
    assert found is not group or not words or words == ["--help"]
    assert takes_words or all(word.startswith("-") or words[at - 1].startswith("-") for at, word in enumerate(words))


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("How do I add a paper?", "python ingest.py add FILE.pdf"),
        ("How do I download papers from arXiv?", "python ingest.py fetch 1706.03762"),
        ("how do I use the graph?", 'python query.py ask --graph "…"'),
        ("what commands are there?", "python query.py --help"),
        ("help", "python query.py --help"),
        ("how do I cite?", "python query.py bib"),
        ("How do I see earlier conversations?", "python query.py history list"),
        ("How do I use Ollama?", "python query.py models"),
        ("How do I change a setting?", "python config.py show"),
        ("Is there a way to get JSON output?", 'python query.py ask --json "…"'),
    ],
)
def test_the_command_for_a_question(bees, question, command):
    routed = route(question, context(bees))
    assert any(f"`{command}`" in block.text for block in routed.blocks)
