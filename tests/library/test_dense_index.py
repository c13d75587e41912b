import gc

import numpy as np
import pytest

from ragscience.core.records import EmbedderIdentity
from ragscience.library.dense_index import DenseIndex
from ragscience.library.sealed_rows import DenseSizes, State

from .making import unit_rows

SIZES = DenseSizes()


def state(generation=1, epoch=0, library="one", dimension=12):
    return State(library, generation, vectors_epoch=epoch, embedder=EmbedderIdentity("embedded", "toy", "0", dimension))


def source_of(vectors):
    def source(ids):
        known = np.array(sorted(int(chunk_id) for chunk_id in ids if int(chunk_id) in vectors), np.int64)
        rows = np.array([vectors[chunk_id] for chunk_id in known.tolist()], np.float32).reshape(-1, 12)
        return known, rows

    return source


def ids_of(vectors):
    return np.array(sorted(vectors), np.int64)


def write(path, vectors, at=None):
    DenseIndex(at or state(), None, ids_of(vectors), SIZES).save(path, source_of(vectors))


def brute_force(vectors, query, k, allowed=None):
    ids = ids_of(vectors)
    if allowed is not None:
        ids = ids[np.isin(ids, allowed)]
    scores = np.array([vectors[chunk_id] for chunk_id in ids.tolist()], float) @ query.astype(float)
    best = np.lexsort((ids, -scores.round(12)))[:k]
    return ids[best].tolist(), scores[best]


@pytest.fixture
def vectors():
    rows = unit_rows(np.random.default_rng(1), 500)
    rows[100:140] = rows[7]  # passages with the same words have the same vector
    return {int(number) * 3 + 1: row for number, row in enumerate(rows)}


def assert_like_brute_force(index, vectors, allowed=None):
    rng = np.random.default_rng(2)
    for query in [*unit_rows(rng, 20), vectors[min(vectors)], *([vectors[22]] if 22 in vectors else [])]:
        for k in (1, 4, 20, 41, 1000):
            ids, scores = index.search(query, k, allowed, source_of(vectors))
            expected, expected_scores = brute_force(vectors, query, k, allowed)
            assert ids.tolist() == expected
            np.testing.assert_allclose(scores, expected_scores, atol=1e-9)


def test_faiss_finds_what_brute_force_finds(tmp_path, vectors):
    write(tmp_path / "index.faiss", vectors)
    index = DenseIndex.load(tmp_path / "index.faiss", state(), ids_of(vectors), SIZES)
    assert not index.should_be_saved
    assert_like_brute_force(index, vectors)


def test_filters_hold_inside_the_search(tmp_path, vectors):
    write(tmp_path / "index.faiss", vectors)
    index = DenseIndex.load(tmp_path / "index.faiss", state(), ids_of(vectors), SIZES)
    gc.collect()
    assert_like_brute_force(index, vectors, ids_of(vectors)[90:150:2])
    assert_like_brute_force(index, vectors, np.array([4, 5, 6, 7, 10**7], np.int64))
    assert index.search(vectors[22], 4, np.empty(0, np.int64), source_of(vectors))[0].size == 0


def test_an_index_that_is_behind_is_made_up_for(tmp_path, vectors):
    write(tmp_path / "index.faiss", vectors)
    now = {chunk_id: row for chunk_id, row in vectors.items() if chunk_id % 5}
    for number, row in enumerate(unit_rows(np.random.default_rng(3), 60)):
        now[5000 + number] = row if number else vectors[22]
    index = DenseIndex.load(tmp_path / "index.faiss", state(2), ids_of(now), SIZES)
    assert index.should_be_saved
    assert_like_brute_force(index, now)
    assert_like_brute_force(index, now, ids_of(now)[100::3])
    fewer = {chunk_id: row for chunk_id, row in now.items() if chunk_id < 4000}
    assert_like_brute_force(index.at(state(3), ids_of(fewer)), fewer)


def test_replaced_vectors_are_never_mixed_with_the_old(tmp_path, vectors):
    write(tmp_path / "index.faiss", vectors)
    fresh = unit_rows(np.random.default_rng(4), len(vectors))
    replaced = dict(zip(sorted(vectors), fresh, strict=True))
    old = DenseIndex.load(tmp_path / "index.faiss", state(), ids_of(vectors), SIZES)
    for index in (
        old.at(state(2, epoch=1), ids_of(replaced)),
        DenseIndex.load(tmp_path / "index.faiss", state(2, epoch=1), ids_of(replaced), SIZES),
    ):
        assert index.should_be_saved
        assert_like_brute_force(index, replaced)


@pytest.mark.parametrize("now", [state(library="other"), state(dimension=11), state(generation=0)])
def test_an_index_of_something_else_is_not_taken(tmp_path, vectors, now):
    write(tmp_path / "index.faiss", vectors)
    seen = []

    def source(ids):
        seen.append(len(ids))
        return ids, np.zeros((len(ids), now.dimension), np.float32)

    index = DenseIndex.load(tmp_path / "index.faiss", now, ids_of(vectors), SIZES)
    assert index.should_be_saved
    assert seen == []  # nothing is read before a search asks for it
    index.search(np.zeros(now.dimension, np.float32), 3, None, source)
    assert seen[0] == len(vectors)


def test_a_large_index_is_not_written_for_a_few_papers(tmp_path):
    rows = unit_rows(np.random.default_rng(5), 20_600)
    vectors = dict(enumerate(rows[:20_500], start=1))
    write(tmp_path / "index.faiss", vectors)
    more = dict(enumerate(rows, start=1))
    index = DenseIndex.load(tmp_path / "index.faiss", state(2), ids_of(more), SIZES)
    assert not index.should_be_saved
    ids, _ = index.search(rows[20_550], 1, None, source_of(more))
    assert ids.tolist() == [20_551]
    half = {chunk_id: row for chunk_id, row in more.items() if chunk_id % 2}
    assert DenseIndex.load(tmp_path / "index.faiss", state(3), ids_of(half), SIZES).should_be_saved
