"""The commands with an Ollama behind them: a real HTTP server, real clients, a real terminal."""

import json
import signal
import threading

import pytest

from tests.commands.papers import fill
from tests.conftest import Commands, copied
from tests.ollama_server import OllamaServer, chat_model, embedding_model
from tests.screens.emulator import CommandTerminal

ANSWER = "Bees fly at 3.7 metres per second in fog (bees.pdf, p.2)."


MODELS = {"llama3.1:8b": chat_model(), "nomic-embed-text:latest": embedding_model(96)}


@pytest.fixture
def server(monkeypatch):
    with OllamaServer(models=MODELS) as server:
        monkeypatch.setenv("RAG_OLLAMA_URL", server.url)
        yield server


NOT_FOUND = "I could not find this in your papers."


def read_into(home):
    """The three papers, read with the embedder of the server that the environment names."""
    fill(home / "papers")
    ran = Commands(home).ingest()
    assert ran.code == 0, ran.err


@pytest.fixture
def filled(made_once, server, commands):
    return Commands(copied(made_once("ollama-papers", read_into), commands.home))


def test_auto_takes_ollamas_models_and_says_so(commands, server):
    read_into(commands.home)
    assert {item["model"] for item in server.of("/api/embed")} == {"nomic-embed-text:latest"}
    assert all(text.startswith("search_document: ") for item in server.of("/api/embed") for text in item["input"])
    server.script(ANSWER)
    answer = json.loads(commands.query("ask", "How fast do bees fly in fog?", "--json").out)
    assert answer["mode"] == "llm"
    assert answer["models"]["llm"] == "llama3.1:8b"
    assert "(bees.pdf, p.2)" in answer["answer"]
    assert [(item["file"], item["page"]) for item in answer["citations"]] == [("bees.pdf", 2)]
    (asked,) = server.of("/api/chat")
    assert asked["options"]["num_ctx"] == 8192
    assert asked["options"]["temperature"] == 0
    assert server.of("/api/embed")[-1]["input"] == ["search_query: How fast do bees fly in fog?"]


@pytest.mark.parametrize("said", ["Bees fly at 9.9 metres per second (bees.pdf, p.2).", NOT_FOUND])
def test_a_models_words_never_hide_what_was_found(filled, server, said):
    server.script(said)
    ran = filled.query("ask", "How fast do bees fly in fog?", "--no-history")
    words, _, below = ran.out.partition("In the papers, which say “3.7 metres per second” and not the above:")
    assert said.split(" (")[0] in words
    assert "3.7 metres per second" in below
    server.script(said)
    answer = json.loads(filled.query("ask", "How fast do bees fly in fog?", "--json").out)
    assert answer["refused"] == (said == NOT_FOUND)


@pytest.mark.parametrize("said", [ANSWER, "In fog the speed of bees is 3.7 m/s (bees.pdf, p.2)."])
def test_what_words_and_quotes_both_say_is_no_difference(filled, server, said):
    server.script(said)
    agreed = filled.query("ask", "How fast do bees fly in fog?", "--no-history").out
    assert "In the papers:" in agreed
    assert "and not the above" not in agreed


def test_a_strict_refusal_has_no_quotes(filled, server):
    server.script(NOT_FOUND)
    ran = filled.query("ask", "How fast do bees fly in fog?", "--strict", "--no-history")
    assert "In the papers" not in ran.out


def test_an_invented_citation_does_not_get_through(filled, server):
    server.script("Bees sing (songs.pdf, p.99). " + ANSWER)
    answer = json.loads(filled.query("ask", "How fast do bees fly in fog?", "--json").out)
    assert "songs.pdf" not in answer["answer"]
    assert {item["file"] for item in answer["citations"]} == {"bees.pdf"}
    assert any("citation" in warning for warning in answer["warnings"])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"status": 500, "error": "out of memory"}, "out of memory"),
        ({"status": 404, "error": "model not found"}, "Ollama has no model nomic-embed-text:latest"),
        ({"cut_after": 0}, "The connection to Ollama"),
        ({"malformed": True}, "could not be read"),
        ({"dimension": 7}, "gave 1 vectors of dimension [7]"),
        ({}, "sent nothing for 0.2 s"),
        (None, "Ollama does not answer"),
    ],
)
def test_where_the_embedder_fails_the_words_are_searched_and_that_is_said(filled, server, broken, said):
    env = {"RAG_LLM_TIMEOUT_SECONDS": "5"}
    if broken is None:
        env["RAG_OLLAMA_URL"] = "http://127.0.0.1:9"
    elif not broken:
        env["RAG_LLM_TIMEOUT_SECONDS"] = "0.2"
        server.fault("/api/embed", times=None, until=threading.Event())
    else:
        server.fault("/api/embed", times=None, **broken)
    ran = filled.query("search", "How fast do bees fly in fog?", "--json", **env)
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["hits"][0]["file"] == "bees.pdf"
    assert all(hit["scores"]["dense"] is None and hit["scores"]["rerank"] is not None for hit in found["hits"])
    (warning,) = [text for text in found["warnings"] if "searched by its words alone" in text]
    assert said in warning
    answer = json.loads(
        filled.query("ask", "How fast do bees fly in fog?", "--json", RAG_ANSWERER="extractive", **env).out
    )
    assert "3.7 metres" in answer["answer"]


def test_offline_refuses_another_machine_and_a_pull(filled):
    ran = filled.query("models", "--offline", "--json", RAG_OLLAMA_URL="http://198.51.100.7:11434")
    rows = {row["part"]: row for row in json.loads(ran.out)["models"]}
    assert rows["answer"]["model"] is None
    assert "offline" in rows["answer"]["why"]
    assert filled.query("models", "pull", "--offline").code == 2


PROMPT = ">\x08"
"""An empty prompt, as prompt_toolkit draws it: what was typed stands behind a blank."""


def test_on_a_terminal_ctrl_c_stops_an_answer_and_ctrl_d_leaves(filled, server):
    asked, release = threading.Event(), threading.Event()

    def never_in_time(body):
        asked.set()
        release.wait(60)
        return "Too late."

    server.default_reply = never_in_time
    with CommandTerminal(filled.home, "query.py", "chat", TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1") as terminal:
        terminal.wait_for(PROMPT)
        terminal.type("How fast do bees fly in fog?\r")
        assert asked.wait(60)
        terminal.process.send_signal(signal.SIGINT)
        terminal.wait_for("ask again")
        server.script(ANSWER)
        terminal.wait_for(PROMPT)
        terminal.type("How fast do bees fly in fog?\r")
        terminal.wait_for("(bees.pdf, p.2)", "Sources:", "bees.pdf#page=2", "bees.pdf, p.2", PROMPT)
        terminal.type("\x04")
        assert terminal.end() == 0
    release.set()


@pytest.mark.parametrize("broken", [{"status": 500, "error": "out of memory"}, {"cut_after": 3}])
def test_a_model_that_is_required_and_fails_is_an_error(filled, server, broken):
    server.fault("/api/chat", times=None, **broken)
    required = filled.query("ask", "How fast do bees fly in fog?", RAG_ANSWERER="llm")
    assert (required.code, "error:" in required.err, "quotes" in required.err) == (1, True, False)
    asked = filled.query("ask", "How fast do bees fly in fog?")
    assert (asked.code, "quotes" in asked.err) == (0, True)
