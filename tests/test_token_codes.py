"""Product codes of token vectors; explicit loops over the centroids are the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.models.maxsim import CENTROIDS, CODE_BYTES, DIMENSION, MEAN_COSINE, cosines, encode


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
