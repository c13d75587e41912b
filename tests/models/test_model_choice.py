"""What `auto` takes, what a library insists on, and what the user is told."""

import dataclasses
from pathlib import Path

import pytest

from ragscience.core.errors import LibraryUnavailable, ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.models.minilm import IDENTITY, MiniLM
from ragscience.models.model_choice import ModelSources, choose_embedder, choose_llm, choose_reranker
from ragscience.models.model_servers import Ollama
from ragscience.models.served_embedder import ServedEmbedder
from ragscience.models.served_llm import ChatOptions
from tests.conftest import NOBODY
from tests.models.conftest import make_bert
from tests.ollama_server import OllamaServer, chat_model, embedding_model

NOMIC, LLAMA = "nomic-embed-text:latest", "llama3.1:8b"
FROM_OLLAMA = EmbedderIdentity("ollama", NOMIC, "ab12", 16)


@pytest.fixture
def server():
    with OllamaServer(models={NOMIC: embedding_model(16, digest="ab12"), LLAMA: chat_model(6000, "cd34")}) as running:
        yield running


@pytest.fixture
def here(server):
    return client(server.url)


@pytest.fixture
def nowhere():
    return client(NOBODY)


def client(url, offline=False):
    return Ollama(url, timeout_seconds=20, offline=offline)


@pytest.fixture
def embedder(model_cache):
    def choose(ollama, setting="auto", model="nomic-embed-text", required=None):
        return choose_embedder(
            setting, model, sources=ModelSources(ollama, model_cache, pytest.fail), required=required
        )

    return choose


def llm(ollama, setting="auto", model=LLAMA, num_ctx=8192):
    sources = ModelSources(ollama, Path("unused"), pytest.fail)
    return choose_llm(setting, model, options=ChatOptions(0.0, num_ctx, 64), sources=sources)


def test_auto_takes_the_embedded_model_where_ollama_lacks_it_or_does_not_run(embedder, here, nowhere):
    without = embedder(here, model="mxbai-embed-large")
    assert isinstance(without.model, MiniLM)
    assert "no mxbai-embed-large" in without.why
    assert "does not answer" in embedder(nowhere).why
    assert embedder(nowhere).model.identity == IDENTITY


def test_a_library_gets_what_it_was_made_with(embedder, here, server):
    assert isinstance(embedder(here, required=IDENTITY).model, MiniLM)
    assert server.requests == []
    for model in ("nomic-embed-text", NOMIC):
        assert embedder(here, "ollama", model, FROM_OLLAMA).model.identity == FROM_OLLAMA
    assert embedder(here, "auto", "another", FROM_OLLAMA).model.identity == FROM_OLLAMA


@pytest.mark.parametrize("change", [{"digest": "ffff"}, {"dimension": 15}])
def test_a_model_that_changed_since_is_refused(embedder, here, change):
    with pytest.raises(LibraryUnavailable, match="is not what this library was made with") as caught:
        embedder(here, required=dataclasses.replace(FROM_OLLAMA, **change))
    assert "ingest.py rebuild --embeddings" in caught.value.fix


def test_offline_takes_no_ollama_of_another_machine(embedder):
    remote = client("http://192.0.2.1:11434", offline=True)
    assert isinstance(embedder(remote).model, MiniLM)
    assert llm(remote).model is None
    with pytest.raises(ModelProblem, match="another machine"):
        embedder(remote, "ollama")


@pytest.mark.torch
def test_a_sentence_transformers_folder_is_taken(embedder, nowhere, tmp_path):
    folder = make_bert(tmp_path / "own", labels=0)
    choice = embedder(nowhere, "sentence-transformers", str(folder))
    assert choice.model.identity.dimension == 32
    assert embedder(nowhere, "auto", "x", choice.model.identity).model.identity == choice.model.identity
    with pytest.raises(ModelProblem, match="not on this machine"):
        embedder(nowhere, "sentence-transformers", "nobody/nothing")


def test_a_missing_cross_encoder_is_a_warning_or_an_error(model_cache):
    choice = choose_reranker("auto", "nobody/nothing", late=False, cache_folder=model_cache, on_warning=pytest.fail)
    assert choice.model is None
    assert "query.py models pull" in choice.warning
    with pytest.raises(ModelProblem, match="nobody/nothing") as caught:
        choose_reranker("cross-encoder", "nobody/nothing", late=False, cache_folder=model_cache, on_warning=pytest.fail)
    assert "query.py models pull" in caught.value.fix


def test_a_setting_is_followed_or_refused(embedder, here, nowhere):
    assert isinstance(embedder(here, "embedded").model, MiniLM)
    assert isinstance(embedder(here, "ollama").model, ServedEmbedder)
    with pytest.raises(ModelProblem, match="does not answer"):
        embedder(nowhere, "ollama")
    with pytest.raises(ModelProblem, match="no model mxbai"):
        embedder(here, "ollama", "mxbai")


def test_the_llm_is_ollamas_within_its_real_context(here):
    choice = llm(here)
    assert (choice.model.name, choice.model.window, choice.model.digest) == (LLAMA, 6000, "cd34")
    assert llm(here, num_ctx=4096).model.window == 4096
    assert llm(here, "ollama").why == "the setting is ollama"
