"""`--agent` through the doors: the answer on stdout, the steps on stderr, and a killed run that goes on."""

import json
import os
import signal
import subprocess
import sys
import threading

import jsonschema
import pytest

from ragscience.json_schemas import schemas
from ragscience.records import Filters
from ragscience.settings import Settings, deciding_settings, load_settings
from ragscience.terminal.agent_run import agent_profile
from ragscience.terminal.session import Session
from tests.conftest import ROOT
from tests.ollama_server import OllamaServer
from tests.test_config import other_value

TWO_PARTS = "At which temperature does the glaze mature, and how many harmonic constituents does the machine sum?"
NO_FILTERS = Filters()
NOT_THERE = "Which exploration bonus does the reinforcement learning agent use?"


def test_steps_are_shown_as_they_come_and_the_answer_cites_both_papers(asked):
    ran = asked.query("ask", "--agent", "--no-history", TWO_PARTS)
    assert ran.code == 0, ran.err
    assert "1280 degrees" in ran.out
    assert "ten harmonic constituents" in ran.out
    for node in ("decompose_query", "retrieve", "reason", "reflect", "generate_answer"):
        assert f"[1] {node}: " in ran.err
    assert "agent: " in ran.err
    assert not (asked.home / "vectorstore" / "agent.sqlite").exists()


def test_json_has_the_trace_and_quiet_says_nothing(asked):
    ran = asked.query("ask", "--agent", "--json", "-q", TWO_PARTS)
    told = json.loads(ran.out)
    jsonschema.validate(told, schemas()["ask"])
    assert ran.err == ""
    assert [step["node"] for step in told["trace"]][:4] == ["decompose_query", "retrieve", "reason", "reflect"]
    assert sum(step["searches"] for step in told["trace"]) >= 2
    assert told["profile"] == "rrf"
    kept = json.loads(asked.query("history", "show", told["answer_id"], "--json").out)
    assert json.dumps(told["trace"]) in json.dumps(kept)


def test_what_is_not_there_is_refused_within_three_passes(asked):
    ran = asked.query("ask", "--agent", "--json", "--strict", NOT_THERE)
    told = json.loads(ran.out)
    assert (ran.code, told["refused"]) == (4, True)
    assert max(step["iteration"] for step in told["trace"]) <= 3


def test_filters_hold_for_every_search_and_tool(asked):
    question = f"How fast do bees fly in fog? {TWO_PARTS} What is on page 1 of kilns.pdf?"
    told = json.loads(asked.query("ask", "--agent", "--json", "--no-history", "--paper", "bees", question).out)
    assert {hit["file"] for hit in told["hits"]} == {"bees.pdf"}
    assert "1280" not in told["answer"]


def test_chat_switches_the_agent_on_and_off(asked):
    lines = "/agent\n/agent on\nAt which temperature does the glaze mature?\n/why\n/agent off\n/agent maybe\n/quit\n"
    ran = asked.query("chat", "--no-history", stdin=lines.encode())
    assert ran.code == 0
    assert "The agent is off" in ran.err
    assert "The agent answers." in ran.err
    assert "[1] retrieve: " in ran.err
    assert "[1] retrieve: " in ran.out
    assert "cannot be 'maybe'" in ran.err


def test_killed_question_goes_on_when_it_is_asked_again(asked):
    with OllamaServer(models=["llama3.1:8b"]) as server:
        split = json.dumps({"question": "", "queries": ["glaze temperature", "constituents of the tide"]})
        server.default_reply = lambda body: (
            split if body.get("format") else "The glaze matures at 1280 degrees Celsius (kilns.pdf, p.1)."
        )
        server.fault("/api/chat", until=threading.Event(), after=2)
        env = {**os.environ, "RAG_HOME": str(asked.home), "RAG_OLLAMA_URL": server.url, "RAG_EMBEDDER": "embedded"}
        command = [sys.executable, str(ROOT / "query.py"), "ask", "--agent", TWO_PARTS]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            for line in child.stderr:
                if b"retrieve: " in line:
                    break
            child.send_signal(signal.SIGKILL)
        server.clear_faults()
        split_before = sum(bool(body.get("format")) for body in server.of("/api/chat"))
        ran = asked.query("ask", "--agent", "--json", TWO_PARTS, RAG_OLLAMA_URL=server.url, RAG_EMBEDDER="embedded")
    assert split_before == 1
    told = json.loads(ran.out)
    assert "Going on where this question was interrupted" in ran.err
    assert told["trace"][0]["queries"] == [TWO_PARTS, "glaze temperature", "constituents of the tide"]
    assert [step["node"] for step in told["trace"]].count("decompose_query") >= 1
    assert not told["refused"]


@pytest.fixture
def session_of(library, monkeypatch):
    monkeypatch.setenv("RAG_HOME", str(library))

    def opened(wanted=None, **flags):
        return Session(load_settings(**flags), quiet=True, wanted=wanted)

    return opened


def interrupt(step):
    if step.node == "retrieve":
        raise KeyboardInterrupt


def test_interrupted_question_goes_on_only_where_nothing_changed(session_of):
    def again(question=TWO_PARTS, filters=NO_FILTERS, **flags):
        with session_of(**flags) as session:
            session.answer_by_agent(question, history=(), filters=filters)
            return any("interrupted" in notice for notice in session.notices)

    with session_of() as session, pytest.raises(KeyboardInterrupt):
        session.answer_by_agent(TWO_PARTS, history=(), filters=NO_FILTERS, on_step=interrupt)
    assert not again(filters=Filters(papers=("kilns",)))
    assert not again(extractive_sentences=4)
    assert not again(history=False)
    assert again()
    assert not again()


def test_interrupted_question_goes_on_though_a_setting_changed_that_it_does_not_depend_on(session_of):
    with session_of() as session, pytest.raises(KeyboardInterrupt):
        session.answer_by_agent(TWO_PARTS, history=(), filters=NO_FILTERS, on_step=interrupt)
    others = {
        name: other_value(name)
        for name in set(Settings.model_fields) - deciding_settings() - {"home", "history", "cache_folder"}
    }
    with session_of(**others) as session:
        session.answer_by_agent(TWO_PARTS, history=(), filters=NO_FILTERS)
        assert any("interrupted" in notice for notice in session.notices)


def test_as_many_passages_as_were_asked_for(session_of):
    with session_of(wanted=1) as session:
        answer = session.answer_by_agent(TWO_PARTS, history=(), filters=NO_FILTERS)
        assert (len(answer.found.hits), agent_profile(session).top_k) == (1, 1)


def test_profile_that_was_asked_for_is_taken(session_of):
    with session_of(profile="balanced") as session:
        told = []
        answer = session.answer_by_agent("What sums ten?", history=(), filters=NO_FILTERS, on_token=told.append)
    assert answer.found.profile == "balanced"
    assert told == [answer.text]
    assert answer.models["reranker"] is None


def test_tools_keep_to_the_filters(session_of):
    with session_of(history=False) as session:
        question = "How fast do bees fly in fog? What does page 1 of kilns.pdf say?"
        answer = session.answer_by_agent(question, history=(), filters=Filters(papers=("bees",)))
    assert {hit.chunk.file for hit in answer.found.hits} == {"bees.pdf"}


def test_empty_library_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    with Session(load_settings(), quiet=True, wanted=None) as session:
        answer = session.answer_by_agent(TWO_PARTS, history=(), filters=NO_FILTERS)
    assert (answer.refused, answer.found.hits) == (True, ())
