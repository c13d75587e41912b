"""Embeddings of a server with OpenAI's API: in the order of the texts, of the model that the library was made with."""

import json
import math

import numpy as np
import pytest
from pydantic import SecretStr

from ragscience.core.errors import LibraryUnavailable, ModelProblem
from ragscience.models import served_embedder
from ragscience.models.model_servers import OpenAIServer as OpenAIClient
from ragscience.models.served_embedder import PROBE, ServedEmbedder
from tests.ollama_server import hashed_embedding
from tests.openai_server import OpenAIServer, Raw

MODEL, PATH, KEY = "nomic-embed-text", "/v1/embeddings", "sk-very-secret"


@pytest.fixture
def server():
    with OpenAIServer(models=(MODEL,), dimension=64) as running:
        yield running


def client(server, key="", **how):
    limits = {"timeout_seconds": 0.5, "offline": False} | how
    return OpenAIClient(server.url, setting="RAG_EMBED_URL", key=SecretStr(key), **limits)


def embedder(server, required=None, **how):
    waited = []
    made = ServedEmbedder(client(server, **how), MODEL, required=required, sleep=waited.append)
    made.waited = waited
    return made


def vectors(*rows, **more):
    data = [{"index": at, "embedding": row} | more for at, row in enumerate(rows)]
    body = json.dumps({"data": data}).encode()
    return Raw(body, kind="application/json", length=len(body))


def row(text, dimension=64):
    return hashed_embedding(text, dimension)


def test_texts_go_out_in_batches_with_the_prefix_of_the_model_and_the_probe(server, monkeypatch):
    monkeypatch.setattr(served_embedder, "BATCH", 3)
    made = embedder(server)
    found = made.embed_documents(["one", "two", "three", "four"])
    assert found.shape == (4, 64)
    assert np.allclose(found[1], row("search_document: two"), atol=1e-6)
    asked = [body["input"] for body in server.of(PATH)]
    assert asked == [
        [PROBE],
        [PROBE, "search_document: one", "search_document: two", "search_document: three"],
        [PROBE, "search_document: four"],
    ]


@pytest.mark.parametrize("change", ["dimension", "weights"])
@pytest.mark.parametrize("runs", [False, True])
def test_a_model_that_is_replaced_behind_its_name_is_noticed(server, change, runs):
    required = embedder(server).identity
    asked = embedder(server, required)
    if runs:
        asked.embed_query("hi")
    if change == "dimension":
        server.dimension = 32
    else:
        server.embedding = lambda text, dimension: hashed_embedding(f"{text} other weights {len(text)}", dimension)
    with pytest.raises(LibraryUnavailable, match="not the model that this library was made with") as caught:
        asked.embed_query("hi")
    assert "rebuild --embeddings" in caught.value.fix


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (vectors(row(PROBE), [math.nan] * 64), "zero or not a number"),
        (vectors(row(PROBE), [0.0] * 64), "zero or not a number"),
        (vectors(row(PROBE)), "0 vectors of dimension"),
        (vectors(row(PROBE), row("a", 32)), "dimension"),
        (Raw(b'{"data": [{"index', kind="application/json"), "nomic"),
        (Raw(b'{"error": "odd"}', kind="application/json"), "nomic"),
        (Raw(b"", kind="application/json"), "nomic"),
        (Raw(b'{"error": {"message": "input is too large to process"}}', 400, kind="application/json"), "too long"),
        (Raw(b"", 302, {"location": "http://127.0.0.1:9/"}, length=0), "HTTP 302"),
        (Raw(json.dumps({"error": f"key {KEY}"}).encode(), 401, kind="application/json"), "does not accept the key"),
    ],
)
def test_what_is_no_embedding_is_one_clear_failure(server, answer, told):
    made = embedder(server, key=KEY)
    _ = made.identity
    server.raw(answer, path=PATH)
    with pytest.raises(ModelProblem, match=told) as caught:
        made.embed_query("x")
    assert caught.value.fix
    assert KEY not in str(caught.value)
    assert len(server.of(PATH)) == 2
