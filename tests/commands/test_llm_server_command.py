"""The commands with a server of OpenAI's API behind them: a real HTTP server and client, and a key that it wants."""

import json

import pytest

from tests.commands.test_ollama_command import read_into
from tests.conftest import Commands, copied
from tests.openai_server import OpenAIServer, Raw, chunk

KEY = "sk-very-secret-0123456789"
ANSWER = "Bees fly at 3.7 metres per second in fog (bees.pdf, p.2)."
QUESTION = "How fast do bees fly in fog?"


@pytest.fixture
def server(monkeypatch):
    with OpenAIServer(models=("qwen",), dimension=96, key=KEY) as running:
        for name, value in (("LLM_URL", running.url), ("EMBED_URL", running.url), ("LLM_KEY", KEY)):
            monkeypatch.setenv(f"RAG_{name}", value)
        yield running


@pytest.fixture
def filled(made_once, server, commands):
    return Commands(copied(made_once("openai-papers", read_into), commands.home))


def kept(folder):
    """Everything in the files of a folder."""
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_server_embeds_and_answers(commands, server):
    read_into(commands.home)
    assert {body["model"] for body in server.of("/v1/embeddings")} == {"qwen"}
    server.script(ANSWER, counts=(900, 17))
    answer = json.loads(commands.query("ask", QUESTION, "--json").out)
    assert (answer["mode"], answer["models"]["llm"], answer["models"]["embedder"]) == ("llm", "qwen", "qwen")
    assert [(item["file"], item["page"]) for item in answer["citations"]] == [("bees.pdf", 2)]
    assert answer["tokens"] == {"prompt": 900, "answer": 17, "window": 8192}
    assert not any("qwen" in warning or "server" in warning for warning in answer["warnings"])
    (asked,) = server.of("/v1/chat/completions")
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("qwen", 0.0, 1024)
    assert {headers.get("authorization") for _, _, headers in server.requests} == {f"Bearer {KEY}"}


def test_the_key_is_in_no_output_and_no_file(filled, server, tmp_path):
    log, metrics = tmp_path / "log.jsonl", tmp_path / "rag.prom"
    told = {"RAG_LOG_FILE": str(log), "RAG_METRICS_FILE": str(metrics), "OTEL_TRACES_EXPORTER": "console"}
    echo = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    server.script(ANSWER)
    ran = [
        filled.query("ask", QUESTION, **told),
        filled.query("ask", QUESTION, "--json", "--debug"),
        filled.query("config"),
        filled.query("config", "llm_key"),
        filled.query("models", "--json"),
        filled.query("models"),
        filled.ingest("doctor", "--network", RAG_ARXIV_URL=server.url + "/query"),
        filled.query("history"),
    ]
    for status in (401, 500, 400, 302):
        server.raw(*[Raw(echo, status, kind="application/json", length=len(echo))] * 2, path="/v1/chat/completions")
        ran.append(filled.query("ask", f"{QUESTION} {status}", "--debug"))
    server.raw(Raw(b"data: " + echo + b"\n\n"), path="/v1/chat/completions")
    ran.append(filled.query("ask", "How fast do bees fly at all?", "--debug"))
    server.raw(Raw(echo, 401, kind="application/json", length=len(echo)), path="/v1/models")
    ran.append(filled.query("ask", QUESTION, "--debug", RAG_ANSWERER="llm"))
    server.key = "another"
    ran.append(filled.query("ask", QUESTION, "--debug", RAG_ANSWERER="llm"))
    assert ran[-1].code == 1
    assert "refuses the key" in ran[-1].err
    assert "**********" in ran[3].out
    for each in ran:
        assert KEY not in each.out + each.err
    assert KEY.encode() not in kept(filled.home)
    assert KEY.encode() not in kept(tmp_path)
    assert log.exists()


def test_a_key_can_come_from_a_file(filled, server, tmp_path):
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    server.script(ANSWER)
    ran = filled.query("ask", QUESTION, "--json", RAG_LLM_KEY="", RAG_LLM_KEY_FILE=str(file))
    assert json.loads(ran.out)["mode"] == "llm"
    missing = filled.query("ask", QUESTION, RAG_LLM_KEY="", RAG_LLM_KEY_FILE=str(tmp_path / "none"))
    assert missing.code == 2
    assert "cannot be read" in missing.err


def test_thoughts_are_not_shown_checked_or_kept(filled, server):
    thoughts = [chunk(reasoning_content="The user asks about honeybees; secret plan. ")] * 3
    server.script(f"<think>Another secret plan.</think>{ANSWER}", more=thoughts)
    ran = filled.query("ask", QUESTION, "--json")
    answer = json.loads(ran.out)
    assert answer["answer"] == ANSWER
    assert answer["tokens"]["thoughts"] > 10
    assert "secret plan" not in ran.out + ran.err
    assert b"secret plan" not in kept(filled.home)
