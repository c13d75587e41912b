"""The dense index of a large library: inverted lists, whose candidates get exact scores."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.large_homes import MadeBy, write_embedded
from benchmarks.large_library import LargeLibrary
from ragscience.core.errors import RagScienceError
from ragscience.core.records import EmbedderIdentity
from ragscience.library.dense_index import DenseIndex, describe
from ragscience.library.sealed_rows import State
from ragscience.library.store import DenseIndexInfo, DenseSizes, Home, Library

from .making import unit_rows

DIMENSION = 24
LISTS = DenseSizes(exact_values=0, filter_exactly=50, small=100, tail_share=0.1, sample_per_list=20)


def state(generation=1, epoch=0):
    return State("one", generation, vectors_epoch=epoch, embedder=EmbedderIdentity("embedded", "toy", "0", DIMENSION))


def write(path, source, now=None, ids=None, sizes=LISTS):
    DenseIndex(now or state(), None, source.ids if ids is None else ids, sizes).save(path, source)


class Source:
    """Vectors by chunk id, and how many were asked for."""

    def __init__(self, vectors):
        self.vectors = vectors
        self.asked = 0

    def __call__(self, ids):
        known = np.array(sorted(int(chunk_id) for chunk_id in ids if int(chunk_id) in self.vectors), np.int64)
        self.asked += known.size
        rows = np.array([self.vectors[chunk_id] for chunk_id in known.tolist()], np.float32)
        return known, rows.reshape(-1, DIMENSION)

    @property
    def ids(self):
        return np.array(sorted(self.vectors), np.int64)


def clustered(count, seed=1):
    rng = np.random.default_rng(seed)
    centres = unit_rows(rng, 40, DIMENSION)
    rows = centres[rng.integers(0, 40, count)] + 0.6 * unit_rows(rng, count, DIMENSION)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def source():
    rows = clustered(3000)
    rows[500:520] = rows[7]  # passages with the same words have the same vector
    return Source({number * 2 + 1: row for number, row in enumerate(rows)})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index.faiss"


@pytest.fixture
def indexed(path, source, made_once):
    """The path of an index over the source's vectors: trained once for all tests, and a copy for each."""
    made = made_once("approximate", lambda folder: write(folder / path.name, source))
    shutil.copytree(made, path.parent, dirs_exist_ok=True)
    return path


def questions(source, count=60):
    rng = np.random.default_rng(5)
    stored = source(rng.choice(source.ids, count, replace=False))[1]
    near = stored + unit_rows(rng, count, DIMENSION)
    return (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)


def exact(source, query, k, allowed=None):
    """(ids, scores) of the `k` nearest, by the plainest arithmetic."""
    ids, rows = source(source.ids if allowed is None else allowed)
    scores = rows.astype(float) @ query.astype(float)
    best = np.lexsort((ids, -scores))[:k]
    return ids[best], scores[best]


def recall(index, source, k, allowed=None):
    """Share of the truly nearest that are found; what is found has its true score, best first, and is allowed."""
    shares = []
    for query in questions(source):
        ids, scores = index.search(query, k, allowed, source)
        _, true = exact(source, query, k, allowed)
        assert len(set(ids.tolist())) == ids.size == true.size
        if allowed is not None:
            assert np.isin(ids, allowed).all()
        by_id = dict(zip(*(part.tolist() for part in exact(source, query, 10**6)), strict=True))
        np.testing.assert_allclose(scores, [by_id[chunk_id] for chunk_id in ids.tolist()], atol=1e-9)
        assert list(zip(-scores, ids, strict=True)) == sorted(zip(-scores, ids, strict=True))
        shares.append(np.mean(scores >= true[-1] - 1e-9))
    return float(np.mean(shares))


def test_most_of_the_nearest_are_found(indexed, source):
    assert describe(indexed, state()) == DenseIndexInfo("ivf-sq8", 3000, 128, 3000)
    index = DenseIndex.load(indexed, state(), source.ids, LISTS)
    assert not index.should_be_saved
    assert recall(index, source, 20) >= 0.95


def test_filters_hold_inside_the_search(indexed, source):
    index = DenseIndex.load(indexed, state(), source.ids, LISTS)
    assert recall(index, source, 20, source.ids[::2]) >= 0.95
    assert recall(index, source, 20, source.ids[100:400]) >= 0.95
    assert recall(index, source, 20, source.ids[::60]) == 1.0  # 50 passages: exactly
    assert recall(index, source, 5, np.array([3, 4, 999, 10**7], np.int64)) == 1.0
    assert index.search(source.vectors[1], 4, np.empty(0, np.int64), source)[0].size == 0


def test_new_passages_are_found_exactly_before_the_index_has_them(indexed, source):
    for number, row in enumerate(clustered(200, seed=2)):
        source.vectors[7000 + number] = row
    for chunk_id in range(1, 100, 2):
        del source.vectors[chunk_id]
    index = DenseIndex.load(indexed, state(2), source.ids, LISTS)
    assert not index.should_be_saved
    assert recall(index, source, 20) >= 0.95
    for chunk_id in (7000, 7199):
        assert index.search(source.vectors[chunk_id], 1, None, source)[0].tolist() == [chunk_id]
    assert index.search(source.vectors[7003], 3, np.array([7003, 7005]), source)[0].tolist() == [7003, 7005]


def test_the_trained_index_grows_until_it_is_trained_again(indexed, source):
    for number, row in enumerate(clustered(700, seed=3)):
        source.vectors[7000 + number] = row
    for chunk_id in range(1, 401, 2):
        del source.vectors[chunk_id]
    index = DenseIndex.load(indexed, state(2), source.ids, LISTS)
    assert index.should_be_saved
    index.save(indexed, source)
    grown = describe(indexed, state(2))
    assert (grown.count, grown.trained_on) == (3500, 3000)
    index = DenseIndex.load(indexed, state(2), source.ids, LISTS)
    assert not index.should_be_saved
    assert recall(index, source, 20) >= 0.9  # what is new is of topics that no list was made for
    for number, row in enumerate(clustered(2500, seed=4)):
        source.vectors[9000 + number] = row
    DenseIndex.load(indexed, state(3), source.ids, LISTS).save(indexed, source)
    assert describe(indexed, state(3)).trained_on == describe(indexed, state(3)).count == 6000


def test_an_index_that_lost_most_of_its_training_is_trained_again(indexed, source):
    rest = Source({chunk_id: row for chunk_id, row in source.vectors.items() if chunk_id < 2000})
    DenseIndex.load(indexed, state(2), rest.ids, LISTS).save(indexed, rest)
    assert describe(indexed, state(2)).trained_on == 1000
    assert recall(DenseIndex.load(indexed, state(2), rest.ids, LISTS), rest, 20) >= 0.97


def test_a_library_that_becomes_small_becomes_exact(indexed, source):
    sizes = replace(LISTS, exact_values=3000 * DIMENSION)
    index = DenseIndex.load(indexed, state(), source.ids, sizes)
    index.save(indexed, source)
    assert describe(indexed, state()) == DenseIndexInfo("flat", 3000)
    assert recall(DenseIndex.load(indexed, state(), source.ids, sizes), source, 20) == 1.0


def test_the_index_is_mapped_and_the_file_may_be_replaced_meanwhile(indexed, source):
    index = DenseIndex.load(indexed, state(), source.ids, LISTS)
    assert str(indexed) in Path("/proc/self/maps").read_text()
    before = [index.search(query, 20, None, source)[0].tolist() for query in questions(source)]
    write(indexed, source, state(2), source.ids[:500])
    assert [index.search(query, 20, None, source)[0].tolist() for query in questions(source)] == before


@pytest.mark.parametrize("cut", [10, 5000, -1])
def test_a_damaged_file_is_not_taken_and_made_anew(indexed, source, cut):
    data = indexed.read_bytes()
    indexed.write_bytes(data[:cut] if cut < 0 else data[:cut] + b"\xff" + data[cut + 1 :])
    os.utime(indexed, ns=(1, 1))
    index = DenseIndex.load(indexed, state(), source.ids, LISTS)
    assert index.should_be_saved
    assert recall(index, source, 20) == 1.0  # without it, the library's own vectors
    index.save(indexed, source)
    assert recall(DenseIndex.load(indexed, state(), source.ids, LISTS), source, 20) >= 0.97


def test_more_vectors_than_memory_holds_are_refused_with_the_command_that_helps(path, source):
    index = DenseIndex.load(path, state(), source.ids, replace(LISTS, most_in_memory=1000))
    with pytest.raises(RagScienceError, match="3,000 of 3,000 passages") as refused:
        index.search(source.vectors[1], 3, None, source)
    assert "rebuild --indexes" in refused.value.fix


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
