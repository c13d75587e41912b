"""Ollama's state and embeddings, through the real clients, against a real server."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.models import served_embedder
from ragscience.models.model_servers import Ollama
from ragscience.models.served_embedder import QueryEmbedder, ServedEmbedder
from ragscience.models.token_counting import byte_windows
from tests.ollama_server import OllamaServer, chat_model, embedding_model, hashed_embedding

NOMIC, LLAMA = "nomic-embed-text:latest", "llama3.1:8b"


@pytest.fixture
def server():
    models = {
        NOMIC: embedding_model(16, 2048, "ab12"),
        LLAMA: chat_model(),
        "all-minilm:latest": embedding_model(8, 64),
    }
    with OllamaServer(models=models) as running:
        yield running


def client(url, *, timeout_seconds=20.0, offline=False):
    return Ollama(url, timeout_seconds=timeout_seconds, offline=offline)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(served_embedder, "BATCH", 3)


def embedder(server, name=NOMIC, **how):
    return ServedEmbedder(client(server.url, **how), name, digest="ab12", sleep=lambda _: None)


@pytest.mark.parametrize(
    "fault",
    [{"malformed": True}, {"status": 500, "error": "x"}, {"cut_after": 0}, {"status": 302, "error": "elsewhere"}],
)
def test_what_is_not_ollama_is_not_running(server, fault):
    server.fault("/api/tags", **fault)
    found = client(server.url).status
    assert not found.running
    assert found.why


def test_show_tells_the_context_and_the_dimension(server):
    details = client(server.url).show(NOMIC)
    assert (details.context_length, details.dimension, details.capabilities) == (2048, 16, ("embedding",))
    with pytest.raises(ModelProblem, match="no model nothing") as caught:
        client(server.url).show("nothing")
    assert "ollama pull nothing" in caught.value.fix


def test_offline_refuses_another_machine_without_asking_it():
    ollama = client("http://192.0.2.1:11434", offline=True)
    assert not ollama.status.running
    assert "another machine" in ollama.status.why
    with pytest.raises(ModelProblem, match="another machine"):
        ollama.require(LLAMA)


def test_prefixes_batches_and_unit_vectors(server):
    server.scale = 7.0
    texts = [f"text number {number}" for number in range(7)]
    rows = embedder(server).embed_documents(texts)
    asked = server.of("/api/embed")
    assert [len(body["input"]) for body in asked] == [3, 3, 1]
    assert asked[0]["input"][0] == "search_document: text number 0"
    assert all(body["options"]["num_ctx"] == 2048 for body in asked)
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_allclose(row, hashed_embedding(f"search_document: {text}", 16), atol=1e-5)
    embedder(server).embed_query("why?")
    assert server.of("/api/embed")[-1]["input"] == ["search_query: why?"]


def test_a_long_text_goes_out_in_windows_and_its_tail_counts(server):
    # The server reads 64 words and drops the rest in silence, as Ollama does.
    small = embedder(server, "all-minilm:latest")
    head = "alpha beta gamma delta " * 60
    one, other = small.embed_documents([head, head + "omega omega omega"])
    assert one @ other < 0.9999
    for window in (text for body in server.of("/api/embed") for text in body["input"]):
        assert len(window.encode()) <= 128
    assert np.linalg.norm(other) == pytest.approx(1, abs=1e-5)


@given(st.text(max_size=400), st.integers(64, 200))
def test_windows_keep_to_the_bytes_and_lose_nothing(text, most_bytes):
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    windows = byte_windows(text, most_bytes)
    assert all(len(window.encode()) <= most_bytes for window in windows)
    covered = 0
    for window in windows:
        start = max((at for at in range(covered + 1) if text.startswith(window, at)), default=None)
        assert start is not None
        covered = max(covered, start + len(window))
    assert covered == len(text)


@pytest.mark.parametrize("opened", [False, True])
def test_after_a_failure_it_is_left_alone_until_the_pause_is_over(server, opened):
    now, asked = [0.0], []

    def opens():
        asked.append("open")
        return embedder(server)

    questions = QueryEmbedder(EmbedderIdentity("ollama", NOMIC, "ab12", 16), opens, clock=lambda: now[0])
    if opened:
        questions.embed_query("a")
    server.fault("/api/embed", times=None, dimension=7)
    for _ in range(3):
        with pytest.raises(ModelProblem, match="vectors of dimension") as caught:
            questions.embed_query("a")
        assert "rebuild" in caught.value.fix
    assert (len(asked), len(server.of("/api/embed"))) == (1, 1 + opened)
    server.clear_faults()
    for seconds, answers in ((59.9, False), (60.0, True), (61.0, True)):
        now[0] = seconds
        if answers:
            assert questions.embed_query("a").shape == (16,)
        else:
            with pytest.raises(ModelProblem):
                questions.embed_documents(["a"])
