"""Token vectors that are kept, and MaxSim over them; explicit loops are the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.models.maxsim import (
    CENTROIDS,
    CODE_BYTES,
    DIMENSION,
    MEAN_COSINE,
    carries_meaning,
    compress,
    cosines,
    encode,
    maxsim,
    product_on_one_core,
    projected_tokens,
)
from ragscience.models.model_protocols import QuestionVectors, TokenVectors

PIECES = ("the", "transform", "##er", ",", "of", "28", ".", "4", "is", "##sue")


def passed(pieces, seed=0):
    """What a pass over these word pieces might give: random vectors of MiniLM's size."""
    random = np.random.default_rng(seed)
    vectors = (3 * random.standard_normal((len(pieces), 384))).astype(np.float32)
    whole = random.standard_normal(384).astype(np.float32)
    zeros = np.zeros((len(pieces), 2), np.int32)
    return TokenVectors(whole / np.linalg.norm(whole), vectors, zeros, tuple(pieces))


def kept_of(tokens, seed):
    """A passage of so many tokens, as it is kept."""
    return compress(passed(("word",) * tokens, seed))


def maxsim_by_loops(question, passage):
    def cosine(asked, code):
        return float(cosines(code[np.newaxis], asked[np.newaxis])[0, 0])

    weighted = zip(question.weights, question.tokens, strict=True)
    return sum(weight * max(cosine(asked, code) for code in passage) for weight, asked in weighted)


def test_maxsim_is_the_weighted_mean_over_the_question_of_the_best_passage_token():
    weights = np.array([0.1, 0.2, 0.4, 0.3], np.float32)
    question = QuestionVectors(np.ones(1), unit_rows(1, 4), weights, np.zeros((4, 2), np.int32))
    passages = [kept_of(tokens, seed) for seed, tokens in enumerate((1, 7, 30, 2), start=2)]
    scores = maxsim(question, passages)
    assert scores.dtype == np.float32
    expected = [maxsim_by_loops(question, passage) for passage in passages]
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert np.ptp(scores) > 0.01


def test_stop_words_and_punctuation_are_left_out_but_not_the_beginning_of_a_word():
    kept = carries_meaning(PIECES)
    assert [piece for piece, keep in zip(PIECES, kept, strict=True) if keep] == [
        "transform", "##er", "28", "4", "is", "##sue",
    ]  # fmt: skip
    assert kept.dtype == np.bool_
    assert carries_meaning([]).shape == (0,)
    assert carries_meaning(["is"]).tolist() == [False]
    assert carries_meaning(["(", "##)"]).tolist() == [False, False]
    text = passed(PIECES)
    assert compress(text).shape == (6, CODE_BYTES)


def test_the_models_own_vectors_find_the_passage_that_answers(minilm):
    texts = [
        "Honeybees steer by polarised light. In dense fog they fly at 3.7 metres per second.",
        "Porcelain glaze matures at 1280 degrees, and cobalt oxide colours it blue.",
        "",
    ]
    (asked,) = minilm.questions(["How fast do honeybees fly in fog?"])
    scores = maxsim(asked, [compress(text) for text in minilm.embed_with_tokens(texts)])
    assert scores[0] > scores[1] > scores[2] == -1.0


def test_the_models_own_vectors_lose_little_as_codes(minilm):
    texts = ["Honeybees steer by polarised light. In dense fog they fly at 3.7 metres per second.", "Tides of Dover"]
    exact = np.concatenate([projected_tokens(each) for each in minilm.embed_with_tokens(texts)])
    found = cosines(encode(exact), exact)
    assert np.diagonal(found).min() > 0.97
    off = found - exact @ exact.T
    assert np.abs(off[~np.eye(len(exact), dtype=bool)]).mean() < 0.02


@pytest.mark.parametrize(("rows", "columns"), [(0, 2), (1, 40), (13, 7), (700, 12), (9_001, 40)])
def test_a_product_in_blocks_is_the_product(rows, columns):
    random = np.random.default_rng(rows + columns)
    left = random.integers(-127, 128, (rows, 64)).astype(np.float32)
    right = random.standard_normal((columns, 64)).astype(np.float32).T
    # Sums of 64 products, some of hundreds, which processors add in different orders.
    np.testing.assert_allclose(product_on_one_core(left, right), left @ right, rtol=1e-5, atol=2e-3)


def unit_rows(seed, count):
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def centroids():
    """Of each part the 256 centroids, of two numbers or three."""
    return np.load(CENTROIDS, allow_pickle=False)


def cut(vector):
    """The parts of a vector by their sizes, one after the other, a pair with a zero for its third."""
    parts = [*vector[:40].reshape(20, 2), *vector[40:].reshape(8, 3)]
    return [np.resize(np.append(part, 0.0), 3) for part in parts]


def joined(parts):
    """The inverse of `cut`."""
    return np.concatenate([part[:2] if number < 20 else part for number, part in enumerate(parts)])


def test_each_part_is_the_number_of_its_nearest_centroid(centroids):
    vectors = unit_rows(1, 40)
    codes = encode(vectors)
    assert (codes.shape, codes.dtype) == ((40, CODE_BYTES), np.uint8)
    for vector, code in zip(vectors, codes, strict=True):
        for part, number, known in zip(cut(vector), code, centroids, strict=True):
            away = np.square(part.astype(float) - known).sum(axis=1)
            assert away[number] <= away.min() + 1e-6


def test_a_cosine_is_that_of_the_vector_which_the_code_stands_for(centroids):
    codes, asked = encode(unit_rows(2, 30)), unit_rows(3, 5)
    found = cosines(codes, asked)
    assert (found.shape, found.dtype) == ((30, 5), np.float32)
    for code, row in zip(codes, found, strict=True):
        vector = joined([known[number] for number, known in zip(code, centroids, strict=True)])
        np.testing.assert_allclose(row, asked @ (vector / np.linalg.norm(vector)) / MEAN_COSINE, atol=1e-5)
    assert np.ptp(found) > 0.1
    whole = joined(centroids[:, 7])[np.newaxis]
    assert cosines(encode(whole), whole / np.linalg.norm(whole)).tolist() == [[1.0]], "no more than a cosine can be"


@given(st.integers(0, 600), st.integers(1, 9))
def test_any_number_of_vectors_and_of_tokens_one_by_one_or_together(count, asked):
    vectors, tokens = unit_rows(4, count), unit_rows(5, asked)
    codes = encode(vectors)
    found = cosines(codes, tokens)
    assert (codes.shape, found.shape) == ((count, CODE_BYTES), (count, asked))
    assert (np.abs(found) <= 1).all()
    for row in range(0, count, 97):
        np.testing.assert_array_equal(encode(vectors[row : row + 1]), codes[row : row + 1])
        np.testing.assert_allclose(cosines(codes[row : row + 1], tokens[:1]), found[row : row + 1, :1], atol=1e-5)
