"""The made-up libraries of the benchmarks: the same again, whole as others are, and each step of the measuring runs."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks import scale
from benchmarks.large_homes import MadeBy, write_embedded, write_lance
from benchmarks.large_library import PER_PAPER, LargeLibrary, neighbour_cosines
from ragscience.engine.open_store import open_at
from ragscience.library.store import Home, Library

PASSAGES = 2000
WRITERS = {"embedded": write_embedded, "lance": write_lance}


@pytest.fixture(scope="module")
def real(three_papers):
    """The passages of three papers, their vectors, and what made them."""
    with Library.open(Home(three_papers)) as library:
        texts = [text for _, batch in library.texts(4096) for text in batch]
        return texts, library.vectors.of()[1], MadeBy.of(three_papers)


def of_size(real, passages, seed=0):
    return LargeLibrary(passages, real[0], real[1], seed)


def test_the_same_library_is_made_again(real):
    one, again = (next(of_size(real, 300).batches()) for _ in range(2))
    assert (one.texts, one.titles, one.sections, one.kinds) == (again.texts, again.titles, again.sections, again.kinds)
    assert np.array_equal(one.vectors, again.vectors)
    other = next(of_size(real, 300, seed=1).batches())
    assert not set(one.texts) & set(other.texts)
    assert not np.array_equal(one.vectors, other.vectors)


def test_batches_are_whole_papers(real):
    batches = list(of_size(real, 5000).batches())
    assert [batch.first for batch in batches] == [0, 56 * PER_PAPER]
    assert sum(len(batch.texts) for batch in batches) == 5000
    for batch in batches:
        assert len(batch.titles) == -(-len(batch.texts) // PER_PAPER)
        assert len(batch.texts) == len(batch.sections) == len(batch.kinds) == len(batch.vectors)
        assert batch.kinds[: 2 * PER_PAPER].count("reference") == 16
        assert np.allclose(np.linalg.norm(batch.vectors, axis=1), 1, atol=1e-5)


def test_words_follow_one_another_as_in_the_passages_or_are_new_or_repeated(real):
    words = [text.split() for text in real[0]]
    known = {word for text in words for word in text}
    follows = {pair for text in words for pair in pairwise(text)}
    batch = next(of_size(real, 400).batches())
    pairs = [pair for text in batch.texts for pair in pairwise(text.split())]
    assert 0.4 < np.mean([pair in follows for pair in pairs if known.issuperset(pair)]) < 0.9
    new = [word for text in batch.texts for word in text.split() if word not in known]
    assert new
    assert all(word.isalpha() and word.endswith("q") for word in new)
    distinct = np.mean([len(set(text.split())) / len(text.split()) for text in batch.texts])
    assert 0.4 < distinct < 0.8


def test_neighbours_are_counted_without_the_vector_itself():
    rows = np.eye(200, dtype=np.float32)
    rows[1] = rows[0]
    told = neighbour_cosines(rows, asked=200)
    assert set(told) == {1, 10, 100}
    assert np.array_equal(told[10], [0, 0, 0])
    assert neighbour_cosines(rows[:101] * 0 + rows[0], asked=5)[100].tolist() == [1, 1, 1]


@pytest.fixture(params=WRITERS)
def made(request, real, tmp_path):
    """(home, store) of a library with token vectors of half of its passages."""
    if request.param == "lance":
        pytest.importorskip("lancedb")
    (tmp_path / "papers").mkdir()
    WRITERS[request.param](Home(tmp_path), of_size(real, PASSAGES), real[2], PASSAGES // 2)
    return tmp_path, request.param


def test_a_large_library_is_whole_and_each_step_of_the_measuring_runs(made, real):
    home, store = made
    with open_at(Home(home), scale.library_uri(home, store), writing=True) as library:
        library.refresh_indexes()
        assert library.verify() == []
        assert (library.about.chunks, library.about.papers) == (PASSAGES, 28)
        assert library.tokens.not_kept() == PASSAGES // 2
        (last,) = library.chunks([PASSAGES])
        assert last.text in library.contents(28).text(last.page_start)
        assert last.text == list(of_size(real, PASSAGES).batches())[-1].texts[-1]
    asked = [" ".join(text.split()[:6]) for text in real[0][:3]]
    figures = scale.read(home, store, asked, count=4)
    figures |= (
        scale.change(home, store)
        if store == "lance"
        else dict.fromkeys(("add_s", "found_s", "added_here_s", "remove_s", "gone_s"), 0)
    )
    assert {"first_s", "all_p95_ms", "years_p95_ms", "paper_p95_ms", "rss_mb", "disk_gb"} <= figures.keys()
    assert all(value >= 0 for value in figures.values())
    shapes = {"written": 1.0, "indexed": 1.0, "named": 1.0, "late_ms": 0.0}
    assert scale._row(f"{PASSAGES} {store}", shapes | figures)[0] == f"2,000 {store}"
