"""Models for the tests: the packaged MiniLM, and small BERTs with random weights that are made on the spot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ragscience.models.minilm import MiniLM, find_minilm
from ragscience.models.model_servers import Ollama
from ragscience.models.served_llm import ChatOptions, ServedLLM

LAYERS, HIDDEN, INNER, HEADS, POSITIONS, VOCABULARY = 2, 32, 64, 4, 512, 30522


def make_bert(folder: Path, *, labels: int, seed: int = 7, prefix: str | None = None, **config) -> Path:
    """A small BERT with random weights and MiniLM's tokenizer; `labels` 0 makes an encoder without a head."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    prefix = ("bert." if labels else "") if prefix is None else prefix
    weights = {}
    random = np.random.default_rng(seed)

    def add(name, *shape, around=0.0, spread=0.3):
        weights[name] = (around + spread * random.standard_normal(shape)).astype(np.float32)

    def add_dense(name, out, inner):
        add(f"{name}.weight", out, inner)
        add(f"{name}.bias", out, spread=0.1)

    def add_norm(name):
        add(f"{name}.weight", HIDDEN, around=1.0, spread=0.1)
        add(f"{name}.bias", HIDDEN, spread=0.1)

    for name, rows in (("word", VOCABULARY), ("position", POSITIONS), ("token_type", 2)):
        add(f"{prefix}embeddings.{name}_embeddings.weight", rows, HIDDEN)
    add_norm(f"{prefix}embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"{prefix}encoder.layer.{number}."
        for part in ("query", "key", "value"):
            add_dense(f"{layer}attention.self.{part}", HIDDEN, HIDDEN)
        add_dense(f"{layer}attention.output.dense", HIDDEN, HIDDEN)
        add_norm(f"{layer}attention.output.LayerNorm")
        add_dense(f"{layer}intermediate.dense", INNER, HIDDEN)
        add_dense(f"{layer}output.dense", HIDDEN, INNER)
        add_norm(f"{layer}output.LayerNorm")
    if labels:
        add_dense(f"{prefix}pooler.dense", HIDDEN, HIDDEN)
        add_dense("classifier", labels, HIDDEN)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    names = {str(number): f"LABEL_{number}" for number in range(labels)}
    shape = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification" if labels else "BertModel"],
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "vocab_size": VOCABULARY,
        "pad_token_id": 0,
    }
    shape |= {"id2label": names, "label2id": {name: int(key) for key, name in names.items()}} if labels else {}
    (folder / "config.json").write_text(json.dumps(shape | config))
    packaged = find_minilm()
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(packaged / name, folder / name)
    return folder


def close(llm):
    """End the connections of a chat model."""
    if "chat_model" in llm.__dict__:
        model = llm.chat_model
        (model._client._client if hasattr(model, "_client") else model.http_client).close()


@pytest.fixture
def ollama_llm():
    """`ollama_llm(url)`: llama3.1:8b of that server, whose connections end with the test."""
    made = []

    def make(url, *, num_ctx=4096, timeout_seconds=20.0):
        ollama = Ollama(url, timeout_seconds=timeout_seconds, offline=True)
        options = ChatOptions(temperature=0.0, num_ctx=num_ctx, num_predict=64)
        made.append(ServedLLM(ollama, "llama3.1:8b", options=options, digest="d1", sleep=lambda _: None))
        return made[-1]

    yield make
    for llm in made:
        close(llm)


@pytest.fixture(scope="session")
def minilm(model_cache):
    return MiniLM(cache_folder=model_cache, on_warning=pytest.fail)


@pytest.fixture
def small_bert(tmp_path):
    return make_bert(tmp_path / "small-bert", labels=0)


@pytest.fixture
def small_cross_encoder(tmp_path):
    return make_bert(tmp_path / "small-cross-encoder", labels=1)
