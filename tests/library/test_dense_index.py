"""The dense index: what it finds is what the plainest arithmetic finds, exactly or, by inverted lists, nearly."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.large_homes import MadeBy, write_embedded
from benchmarks.large_library import LargeLibrary
from ragscience.core.records import EmbedderIdentity
from ragscience.library.dense_index import DenseIndex, read_sidecar
from ragscience.library.sealed_rows import State
from ragscience.library.store import DenseIndexInfo, DenseSizes, Home, Library

from .making import unit_rows

DIMENSION = 24
FLAT = DenseSizes()
LISTS = DenseSizes(exact_values=0, filter_exactly=50, small=100, tail_share=0.1, sample_per_list=20)


def state(generation=1, epoch=0, library="one", dimension=DIMENSION):
    return State(library, generation, vectors_epoch=epoch, embedder=EmbedderIdentity("embedded", "toy", "0", dimension))


class Source:
    """Vectors by chunk id."""

    def __init__(self, vectors):
        self.vectors = vectors

    def __call__(self, ids):
        known = np.array(sorted(int(chunk_id) for chunk_id in ids if int(chunk_id) in self.vectors), np.int64)
        rows = np.array([self.vectors[chunk_id] for chunk_id in known.tolist()], np.float32)
        return known, rows.reshape(-1, DIMENSION)

    @property
    def ids(self):
        return np.array(sorted(self.vectors), np.int64)

    def added(self, first, rows):
        return Source({**self.vectors, **{first + number: row for number, row in enumerate(rows)}})

    def without(self, ids):
        return Source({chunk_id: row for chunk_id, row in self.vectors.items() if chunk_id not in ids})


def clustered(count, seed=1):
    rng = np.random.default_rng(seed)
    centres = unit_rows(rng, 40, DIMENSION)
    rows = centres[rng.integers(0, 40, count)] + 0.6 * unit_rows(rng, count, DIMENSION)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def made(rows, same):
    """The rows by odd ids; those of the slice are the same vector, as of passages with the same words."""
    rows[same] = rows[7]
    return Source({number * 2 + 1: row for number, row in enumerate(rows)})


@pytest.fixture
def source():
    return made(clustered(3000), slice(500, 520))


@pytest.fixture
def few():
    return made(unit_rows(np.random.default_rng(1), 500, DIMENSION), slice(100, 140))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.faiss"


def write(path, source, sizes=LISTS, now=None, ids=None):
    DenseIndex(now or state(), None, source.ids if ids is None else ids, sizes).save(path, source)


@pytest.fixture
def flat(path, few):
    write(path, few, FLAT)
    return path


@pytest.fixture
def indexed(path, source, made_once):
    """The path of an index over the source's vectors: trained once for all tests, and a copy for each."""
    once = made_once("approximate", lambda folder: write(folder / path.name, source))
    shutil.copytree(once, path.parent, dirs_exist_ok=True)
    return path


def load(path, source, now=None, sizes=LISTS):
    return DenseIndex.load(path, now or state(), source.ids, sizes)


def exact(source, query, k, allowed=None):
    """(ids, scores) of the `k` nearest, by the plainest arithmetic."""
    ids, rows = source(source.ids if allowed is None else allowed)
    scores = rows.astype(float) @ query.astype(float)
    best = np.lexsort((ids, -scores.round(12)))[:k]
    return ids[best], scores[best]


def recall(index, source, k, allowed=None):
    """Share of the truly nearest that are found; what is found has its true score, best first, and is allowed."""
    rng, shares = np.random.default_rng(5), []
    stored = source(rng.choice(source.ids, 60, replace=False))[1]
    near = stored + unit_rows(rng, len(stored), DIMENSION)
    for query in (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32):
        ids, scores = index.search(query, k, allowed, source)
        _, true = exact(source, query, k, allowed)
        assert len(set(ids.tolist())) == ids.size == true.size
        assert allowed is None or np.isin(ids, allowed).all()
        by_id = dict(zip(*(part.tolist() for part in exact(source, query, 10**6)), strict=True))
        np.testing.assert_allclose(scores, [by_id[chunk_id] for chunk_id in ids.tolist()], atol=1e-9)
        assert list(zip(-scores, ids, strict=True)) == sorted(zip(-scores, ids, strict=True))
        shares.append(np.mean(scores >= true[-1] - 1e-9))
    return float(np.mean(shares))


def assert_exact(index, source, allowed=None):
    rng = np.random.default_rng(2)
    for query in [*unit_rows(rng, 20, DIMENSION), source.vectors[15]]:
        for k in (1, 4, 20, 41, 1000):
            ids, scores = index.search(query, k, allowed, source)
            expected, expected_scores = exact(source, query, k, allowed)
            assert ids.tolist() == expected.tolist()
            np.testing.assert_allclose(scores, expected_scores, atol=1e-9)


def test_faiss_finds_what_brute_force_finds_and_filters_hold_inside_the_search(flat, few):
    index = load(flat, few, sizes=FLAT)
    assert not index.should_be_saved
    assert_exact(index, few)
    assert_exact(index, few, few.ids[90:150:2])
    assert_exact(index, few, np.array([4, 5, 6, 7, 10**7], np.int64))
    assert index.search(few.vectors[15], 4, np.empty(0, np.int64), few)[0].size == 0


def test_replaced_vectors_are_never_mixed_with_the_old(flat, few):
    fresh = unit_rows(np.random.default_rng(4), few.ids.size, DIMENSION)
    replaced = Source(dict(zip(few.ids.tolist(), fresh, strict=True)))
    now = state(2, epoch=1)
    for index in (load(flat, few, sizes=FLAT).at(now, replaced.ids), load(flat, replaced, now, FLAT)):
        assert index.should_be_saved
        assert_exact(index, replaced)


def test_most_of_the_nearest_are_found_also_within_a_filter(indexed, source):
    assert read_sidecar(indexed, state())[0] == DenseIndexInfo("ivf-sq8", 3000, 128, 3000)
    index = load(indexed, source)
    assert not index.should_be_saved
    assert recall(index, source, 20) >= 0.95
    assert recall(index, source, 20, source.ids[::2]) >= 0.95
    assert recall(index, source, 20, source.ids[100:400]) >= 0.95
    assert recall(index, source, 20, source.ids[::60]) == 1.0  # 50 passages: exactly
    assert recall(index, source, 5, np.array([3, 4, 999, 10**7], np.int64)) == 1.0
    assert index.search(source.vectors[1], 4, np.empty(0, np.int64), source)[0].size == 0


def test_new_passages_are_found_exactly_before_the_index_has_them(indexed, source):
    now = source.added(7000, clustered(200, seed=2)).without(range(100))
    index = load(indexed, now, state(2))
    assert not index.should_be_saved
    assert recall(index, now, 20) >= 0.95
    for chunk_id in (7000, 7199):
        assert index.search(now.vectors[chunk_id], 1, None, now)[0].tolist() == [chunk_id]
    assert index.search(now.vectors[7003], 3, np.array([7003, 7005]), now)[0].tolist() == [7003, 7005]


def test_an_index_that_lost_most_of_its_training_is_trained_again_and_a_small_one_is_exact(indexed, source):
    rest = source.without(range(2000, 6001))
    load(indexed, rest, state(2)).save(indexed, rest)
    assert read_sidecar(indexed, state(2))[0].trained_on == 1000
    assert recall(load(indexed, rest, state(2)), rest, 20) >= 0.97
    sizes = replace(LISTS, exact_values=3000 * DIMENSION)
    load(indexed, rest, state(3), sizes).save(indexed, rest)
    assert read_sidecar(indexed, state(3))[0] == DenseIndexInfo("flat", 1000)
    assert recall(load(indexed, rest, state(3), sizes), rest, 20) == 1.0


def test_the_index_is_mapped_and_the_file_may_be_replaced_meanwhile(indexed, source):
    index = load(indexed, source)
    assert str(indexed) in Path("/proc/self/maps").read_text()
    queries = clustered(20, seed=6)
    before = [index.search(query, 20, None, source)[0].tolist() for query in queries]
    write(indexed, source, now=state(2), ids=source.ids[:500])
    assert [index.search(query, 20, None, source)[0].tolist() for query in queries] == before


def test_a_large_library_is_searched_by_both_indexes(tmp_path):
    home = Home(tmp_path)
    words = [f"term{number} of {number % 7} things" for number in range(200)]
    made_by = MadeBy(EmbedderIdentity("embedded", "made up", "0", DIMENSION), "made up")
    write_embedded(home, LargeLibrary(4200, words, clustered(200)), made_by)
    with Library.open(home, LISTS) as library:
        assert library.dense.is_stale()
        query = library.vectors.of([17])[1][0]
        assert library.dense.search(query, 1, None)[0].tolist() == [17]
        assert library.dense.info() is None  # a reader does not train
    with Library.open_for_writing(home, LISTS) as library:
        library.refresh_indexes()
        assert not library.dense.is_stale()
        info = library.dense.info()
        assert (info.form, info.count) == ("ivf-sq8", 4200)
        shares = []
        ids, rows = library.vectors.of()
        for vector, text in zip(clustered(40, seed=1), words, strict=False):
            found = set(library.dense.search(vector, 20, None)[0].tolist())
            shares.append(len(found & set(ids[np.argsort(-(rows @ vector))[:20]].tolist())) / 20)
            assert library.keywords.search(text, 20, None)[0].size
        assert np.mean(shares) >= 0.95
        library.remove_papers([3])
        library.refresh_indexes()
        assert library.dense.info().count == 4200  # masked, not written anew
        assert not set(library.dense.search(query, 4128, None)[0].tolist()) & set(range(145, 217))
        library.refresh_indexes(anew=True)
        assert library.dense.info().count == 4128
