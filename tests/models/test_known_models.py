"""The known embedders and rerankers, as small random models of their architectures, against sentence-transformers."""

import dataclasses
import json
import sys

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models import model_download
from ragscience.models.local_models import (
    OnnxEmbedder,
    SentenceTransformerEmbedder,
    TorchCrossEncoder,
    open_cross_encoder,
    open_embedder,
)
from ragscience.models.model_download import known_model
from tests.models.conftest import HEADS, HIDDEN, INNER, LAYERS, make_bert

TEXTS = ["Which optimizer is used?", "Größe der Zellen in Mäusen", "", "attention is all you need " * 400, "a \ud800 b"]
ANSWERS = ["Adam is used.", "Cells divide.", "", "attention " * 900]
PREFIX = "Represent this sentence for searching relevant passages: "
E5, ARCTIC, BGE = "multilingual-e5-small", "snowflake-arctic-embed-xs", "bge-small-en-v1.5"
GRANITE, ETTIN = "granite-embedding-small-english-r2", "ettin-reranker-17m-v1"


def make_e5(folder):
    """BERT's layers behind XLM-RoBERTa's tokenizer: unigrams, <s> and </s> around a text."""
    from transformers import XLMRobertaTokenizer

    words = ("query", ":", "passage", "optim", "izer", "attention", "Zell", "en", "größe", "the", "▁Gr", "ö", "ß", "e")
    letters = "abcdefghijklmnopqrstuvwxyzäöüßABCDEFGHIJKLMNOPQRSTUVWXYZ.?"
    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces = [("▁", -2.0), *((word, -3.0) for word in words), *((f"▁{word}", -3.0) for word in words)]
    vocabulary = dict([*special, *pieces, *((letter, -6.0) for letter in letters)])
    make_bert(folder, labels=0, tokenizer_class="XLMRobertaTokenizer")
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink()
    XLMRobertaTokenizer(vocab=list(vocabulary.items()), model_max_length=512).save_pretrained(str(folder))
    return folder


def make_modern_bert(folder):
    """ModernBERT's layers with the built-in model's tokenizer, whose marks they share by name."""
    import torch
    from transformers import ModernBertConfig, ModernBertModel

    make_bert(folder, labels=0)
    torch.manual_seed(5)
    ids = {"pad_token_id": 0, "cls_token_id": 101, "sep_token_id": 102, "bos_token_id": 101, "eos_token_id": 102}
    config = ModernBertConfig(
        vocab_size=30522, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=INNER, local_attention=16, initializer_range=0.3, **ids,
    )  # fmt: skip
    ModernBertModel(config).save_pretrained(str(folder))
    return folder


def make_known(folder, name):
    if name == E5:
        return make_e5(folder / name)
    return make_modern_bert(folder / name) if name == GRANITE else make_bert(folder / name, labels=0)


def opened(folder, name, cache):
    return open_embedder(folder, name, cache_folder=cache, on_warning=pytest.fail)


def oracle(folder, pooling, tokens):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    encoder = Transformer(str(folder), max_seq_length=tokens, model_kwargs={"local_files_only": True})
    return SentenceTransformer(modules=[encoder, Pooling(HIDDEN, pooling), Normalize()], device="cpu")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "pooling", "question", "passage", "tokens", "kind"),
    [
        (ARCTIC, "cls", PREFIX, "", 512, OnnxEmbedder),
        (BGE, "cls", PREFIX, "", 512, OnnxEmbedder),
        (E5, "mean", "query: ", "passage: ", 512, OnnxEmbedder),
        (GRANITE, "cls", "", "", 8192, SentenceTransformerEmbedder),
    ],
)
def test_the_vectors_are_those_of_sentence_transformers(
    tmp_path, model_cache, name, pooling, question, passage, tokens, kind
):
    folder = make_known(tmp_path, name)
    embedder = opened(folder, name, model_cache)
    assert isinstance(embedder, kind)
    model = oracle(folder, pooling, tokens)
    clean = [text.replace("\ud800", "\ufffd") for text in TEXTS]
    theirs = model.encode([passage + text for text in clean], show_progress_bar=False)
    ours = embedder.embed_documents(TEXTS)
    np.testing.assert_allclose(ours, theirs, atol=2e-5)
    asked = model.encode([question + text for text in clean], show_progress_bar=False)
    for text, vector in zip(TEXTS, asked, strict=True):
        np.testing.assert_allclose(embedder.embed_query(text), vector, atol=2e-5)
    assert (np.abs(embedder.embed_query(TEXTS[0]) - ours[0]).max() > 0.01) == (question != passage)
    assert np.abs(ours[0] - ours[1]).max() > 0.01
    assert embedder.embed_documents([]).shape == (0, HIDDEN)
    assert (embedder.identity.model, embedder.identity.dimension) == (name, HIDDEN)


@pytest.mark.parametrize(
    "change", [{"pooling": "mean"}, {"question": ""}, {"passage": "passage: "}, {"tokens": 256}, {}]
)
def test_the_identity_covers_how_the_weights_are_used(tmp_path, model_cache, monkeypatch, change):
    folder = make_known(tmp_path, BGE)
    before = opened(folder, BGE, model_cache).identity
    rows = {**model_download.known_models(), BGE: dataclasses.replace(known_model(BGE), **change)}
    monkeypatch.setattr(model_download, "known_models", lambda: rows)
    assert (opened(folder, BGE, model_cache).identity != before) == bool(change)


@pytest.mark.torch
def test_a_reranker_with_layers_of_its_own_scores_as_sentence_transformers(tmp_path, model_cache):
    import torch
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling

    encoder = Transformer(str(make_modern_bert(tmp_path / "encoder")), max_seq_length=8192)
    torch.manual_seed(11)
    inner = Dense(HIDDEN, HIDDEN, bias=False, activation_function=torch.nn.GELU())
    last = {"module_input_name": "sentence_embedding", "module_output_name": "scores"}
    outer = Dense(HIDDEN, 1, activation_function=torch.nn.Identity(), **last)
    modules = [encoder, Pooling(HIDDEN, "cls"), inner, LayerNorm(HIDDEN), outer]
    theirs = CrossEncoder(modules=modules, device="cpu", activation_fn=torch.nn.Identity())
    folder = tmp_path / ETTIN
    theirs.save_pretrained(str(folder))
    warnings = []
    reranker = open_cross_encoder(folder, ETTIN, cache_folder=model_cache, on_warning=warnings.append)
    assert isinstance(reranker, TorchCrossEncoder)
    assert "modernbert" in warnings[0]
    scores = theirs.predict([(TEXTS[0], answer) for answer in ANSWERS], show_progress_bar=False)
    np.testing.assert_allclose(reranker.score(TEXTS[0], ANSWERS), scores, atol=1e-5)
    assert np.ptp(scores) > 1e-3
    (folder / "modules.json").unlink()
    with pytest.raises(ModelProblem, match="no scoring head") as caught:
        open_cross_encoder(folder, ETTIN, cache_folder=model_cache, on_warning=warnings.append)
    assert "models pull" in caught.value.fix


def test_without_sentence_transformers_one_line_says_what_is_missing(tmp_path, model_cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "modernbert"}))
    with pytest.raises(ModelProblem, match=f"{GRANITE} needs .*sentence-transformers") as caught:
        opened(tmp_path, GRANITE, model_cache).embed_query("x")
    assert "pip install" in caught.value.fix


@pytest.mark.torch
def test_another_folder_is_known_by_its_weights_and_told_in_one_line_where_it_cannot_be_loaded(tmp_path):
    one, same, other = (
        SentenceTransformerEmbedder(make_bert(tmp_path / name, labels=0, seed=seed), "own").identity
        for name, seed in (("one", 7), ("same", 7), ("other", 9))
    )
    assert one == same != other
    assert (one.provider, one.dimension) == ("sentence-transformers", HIDDEN)
    (tmp_path / "config.json").write_text('{"model_type": "no-such-model"}')
    with pytest.raises(ModelProblem, match="cannot load own") as caught:
        SentenceTransformerEmbedder(tmp_path, "own").embed_query("x")
    assert "\n" not in caught.value.message
