"""The scripted server answers as Ollama does, to Ollama's own client."""

import httpx
import ollama
import pytest

from tests.ollama_server import OllamaServer, embedding_model, hashed_embedding


@pytest.fixture
def server():
    with OllamaServer(models={"llama3.1:8b": OllamaServer(["x"]).models["x"], "e:latest": embedding_model(6, 4)}) as it:
        yield it


@pytest.fixture
def client(server):
    with ollama.Client(host=server.url, trust_env=False) as it:
        yield it


def test_health_and_catalogue(server, client):
    assert httpx.get(server.url, trust_env=False).text == "Ollama is running"
    assert httpx.head(server.url, trust_env=False).status_code == 200
    assert httpx.get(f"{server.url}/nothing", trust_env=False).status_code == 404
    assert [model.model for model in client.list().models] == ["llama3.1:8b", "e:latest"]
    assert client.show("e").modelinfo["nomic-bert.context_length"] == 4
    assert client.show("llama3.1:8b").capabilities == ["completion", "tools"]
    assert server.requests[0].path == "/"


def test_replies_come_in_order_then_by_default(server, client):
    server.script("One reply.", "Another  one.", prompt_eval_count=5, eval_count=2, done_reason="length")
    first = client.generate("llama3.1:8b", "hi", stream=False)
    assert (first.response, first.done_reason) == ("One reply.", "length")
    assert (first.prompt_eval_count, first.eval_count) == (5, 2)
    pieces = list(client.chat("llama3.1:8b", [{"role": "user", "content": "hi"}], stream=True))
    assert "".join(piece.message.content for piece in pieces) == "Another  one."
    assert [piece.done for piece in pieces] == [False, False, True]
    server.default_reply = lambda body: f"You said {body['messages'][-1]['content']}"
    assert client.chat("llama3.1:8b", [{"role": "user", "content": "ho"}]).message.content == "You said ho"
    assert [body["stream"] for body in server.of("/api/chat")] == [True, False]


def test_embeddings_by_both_paths_cut_in_silence_unless_told(client):
    expected = pytest.approx(hashed_embedding("a b c d", 6))
    assert client.embed("e", ["a b c d", "a b c d e f"]).embeddings == [expected, expected]
    assert client.embeddings("e", "a b c d").embedding == expected
    with pytest.raises(ollama.ResponseError, match="exceeds the context"):
        client.embed("e", "a b c d e", truncate=False)


def test_a_model_is_refused_for_what_it_cannot_do(client):
    for call in (lambda: client.embed("llama3.1:8b", "x"), lambda: client.generate("e", "x")):
        with pytest.raises(ollama.ResponseError, match="does not support"):
            call()
    with pytest.raises(ollama.ResponseError, match="not found"):
        client.generate("none", "x")


def test_faults_come_when_they_are_due_and_go(server, client):
    server.fault("/api/tags", status=503, error="busy", after=1, times=1)
    assert client.list().models
    with pytest.raises(ollama.ResponseError, match="busy"):
        client.list()
    assert client.list().models
    server.fault("/api/chat", cut_after=0, times=None)
    with pytest.raises(httpx.RemoteProtocolError):
        client.chat("llama3.1:8b", [])
    server.fault("/api/chat", cut_after=3)
    server.clear_faults()
    assert client.chat("llama3.1:8b", []).done


def test_a_reply_that_is_not_streamed_is_cut_whole(server, client):
    server.fault("/api/chat", cut_after=2)
    with pytest.raises(httpx.RemoteProtocolError):
        client.chat("llama3.1:8b", [])
