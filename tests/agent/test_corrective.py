"""The second look at a search: judged, searched again once, and said."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import load_settings
from ragscience.agent.corrective import AMBIGUOUS, EXTRA_PASSAGES, INCORRECT, Corrective, joined
from ragscience.core.records import Found
from ragscience.engine import AskRequest, Engine
from ragscience.engine.events import Searched
from tests.ask.asking import open_llm
from tests.ask.passages import hit
from tests.commands.papers import fill
from tests.ollama_server import OllamaServer, chat_model, embedding_model

QUESTION = "Which nonlinearity did the MLM encoder use?"
SURE = {"likely": 0.9}
DOUBTFUL = {"likely": 0.3}
REWORDED = "lowland populations of bees in fog"
FIRST = (
    hit("A masked language model (MLM) hides some words.", file="bert.pdf", rank=1),
    hit("The encoder has twelve layers.", file="bert.pdf", rank=2),
)
SECOND = (
    hit("The encoder has twelve layers.", file="bert.pdf", rank=2),
    hit("We use a gelu activation.", file="bert.pdf", rank=3, page=12),
)


class Searches:
    """A search that gives what is laid out for it, in order, the last again and again."""

    def __init__(self, *each):
        self.each = each
        self.asked = []

    def __call__(self, question):
        self.asked.append(question)
        what = self.each[min(len(self.asked), len(self.each)) - 1]
        if isinstance(what, Exception):
            raise what
        hits, signals = what
        return Found(question, "default", hits, ("said before",), {"search_ms": 2.0}, signals)


def look(search, llm=None):
    failures = []
    looked = whole(search, llm, failures)
    found = looked(QUESTION)
    return SimpleNamespace(
        found=found,
        verdict=found.verdict,
        warnings=tuple(each for each in found.warnings if each != "said before"),
        rewritten="".join(search.asked[1:]),
        failures=failures,
    )


@pytest.fixture
def llm(server):
    with open_llm(server.url) as opened:
        yield opened


def steps(body):
    said = {"answers": "ambiguous", "question": REWORDED}
    return json.dumps({name: said[name] for name in body["format"]["properties"]}) if "format" in body else SAID


def test_doubtful_ones_are_searched_again_once(server, llm):
    server.default_reply = steps
    search = Searches((FIRST, DOUBTFUL), (SECOND, SURE))
    corrected = look(search, llm)
    assert search.asked == [QUESTION, REWORDED]
    assert corrected.rewritten == REWORDED
    assert [each.chunk.text for each in corrected.found.hits] == [
        *(each.chunk.text for each in FIRST),
        "We use a gelu activation.",
    ]
    assert [each.rank for each in corrected.found.hits] == [1, 2, 3]
    assert corrected.found.question == QUESTION
    assert "1 passage was added" in corrected.warnings[0]
    assert corrected.found.timings_ms == {"search_ms": 4.0}


@pytest.mark.parametrize("said", ["I think so!", '{"answers": "perhaps"}', '{"answers": 1}', "[]", ""])
def test_llm_without_json_leaves_it_to_the_scores(server, llm, said):
    server.default_reply = lambda body: said
    search = Searches((FIRST, DOUBTFUL), (SECOND, SURE))
    corrected = look(search, llm)
    assert corrected.verdict == AMBIGUOUS
    assert corrected.failures == []
    assert len(server.of("/api/chat")) == 2
    assert corrected.rewritten == ""


def likely(found):
    return found.signals["likely"]


def whole(search, llm=None, failures=None):
    failed = failures if failures is not None else []
    return Corrective(search, search, likely, llm, failed.append, most_passages=12, seconds=60.0)


def test_failing_server_is_told_and_left_alone(server, llm):
    server.fault("/api/chat", status=400, error="broken", times=None)
    failures = []
    corrective = whole(Searches((FIRST, DOUBTFUL)), llm, failures)
    corrective(QUESTION)
    corrective(f"{QUESTION} Again?")
    assert len(failures) == 1
    assert "broken" in failures[0]
    assert len(server.of("/api/chat")) == 1


@given(st.lists(st.integers(1, 30), unique=True), st.lists(st.integers(1, 30), unique=True), st.integers(0, 20))
def test_joining_adds_behind_and_never_drops(first, second, most):
    a = Found("a", "default", tuple(hit("x", rank=n) for n in first))
    b = Found("b", "default", tuple(hit("x", rank=n) for n in second))
    ids = [each.chunk.chunk_id for each in joined(a, b, most).hits]
    assert ids[: len(first)] == first
    assert len(ids) == len(set(ids))
    assert len(ids) <= max(most, len(first))
    assert set(ids) <= {*first, *second}
    assert len(ids) - len(first) <= EXTRA_PASSAGES


BEES = "How fast do bees fly in fog?"
SAID = "Bees fly at 3.7 metres per second in fog (bees.pdf, p.2)."


def test_flag_and_profile_turn_it_on(commands, monkeypatch):
    fill(commands.home / "papers")
    with OllamaServer(models={"llama3.1:8b": chat_model(), "nomic-embed-text:latest": embedding_model(96)}) as server:
        monkeypatch.setenv("RAG_OLLAMA_URL", server.url)
        server.default_reply = lambda body: json.dumps({"answers": "no"}) if "format" in body else SAID
        assert commands.ingest().code == 0
        refused = commands.query("ask", BEES, "--json", "--strict", "--no-history", "--corrective", "--plain")
        assert refused.code == 4, refused.err
        printed = json.loads(refused.out)
        assert printed["verdict"] == INCORRECT
        assert any("does not seem to answer" in warning for warning in printed["warnings"])
        for how, said_no in (({}, False), ({"profile": "even", "rerank": "off"}, True)):
            with Engine.open(commands.home, load_settings(home=commands.home, **how)) as engine:
                answer = engine.ask(AskRequest(BEES, strict=True, plain=True))
                assert answer.refused is said_no, how
                assert (answer.found.verdict == INCORRECT) is said_no


ABOUT = "What is bees.pdf about?"


def test_what_a_route_found_is_looked_at_again_too(commands, monkeypatch):
    fill(commands.home / "papers")
    assert commands.ingest().code == 0
    offline = json.loads(commands.query("ask", ABOUT, "--json", "--no-history", "--corrective").out)
    assert (offline["route"], offline["verdict"]) == ("summary", AMBIGUOUS)
    assert offline["confidence"] != "high"
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        monkeypatch.setenv("RAG_OLLAMA_URL", server.url)
        server.default_reply = steps
        events = []
        with Engine.open(commands.home, load_settings(home=commands.home)) as engine:
            answer = engine.ask(AskRequest(ABOUT, corrective=True), on_event=events.append)
        assert REWORDED in [event.query for event in events if isinstance(event, Searched)]
        assert any("added by another search" in warning for warning in answer.warnings)
