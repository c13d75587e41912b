"""The made-up libraries of the benchmarks: whole as others are, and they can be searched and measured."""

import pytest

from benchmarks import libraries, scale
from benchmarks.large_homes import MadeBy, write_embedded, write_lance
from benchmarks.large_library import LargeLibrary
from ragscience.core.settings import Settings
from ragscience.engine.shared_parts import open_store
from ragscience.library.store import Home, Library

PASSAGES = 720
WRITERS = {"embedded": write_embedded, "lance": write_lance}


@pytest.fixture(scope="module")
def real(three_papers):
    """The passages of three papers, their vectors, and what made them."""
    with Library.open(Home(three_papers)) as library:
        texts = [text for _, batch in library.texts(4096) for text in batch]
        return texts, library.vectors.of()[1], MadeBy.of(three_papers)


def of_size(real, passages, seed=0):
    return LargeLibrary(passages, real[0], real[1], seed)


@pytest.fixture(params=WRITERS)
def made(request, real, tmp_path):
    """(home, store) of a library with token vectors of half of its passages."""
    if request.param == "lance":
        pytest.importorskip("lancedb")
    (tmp_path / "papers").mkdir()
    WRITERS[request.param](Home(tmp_path), of_size(real, PASSAGES), real[2], PASSAGES // 2)
    return tmp_path, request.param


def test_a_large_library_is_whole_and_can_be_measured(made, real):
    home, store = made
    with open_store(Home(home), Settings(library=scale.library_uri(home, store)), writing=True) as library:
        library.refresh_indexes()
        assert library.verify() == []
        assert (library.about.chunks, library.about.papers) == (PASSAGES, 10)
        assert library.tokens.not_kept() == PASSAGES // 2
        (last,) = library.chunks([PASSAGES])
        assert last.text in library.contents(10).text(last.page_start)
        assert last.text == list(of_size(real, PASSAGES).batches())[-1].texts[-1]
    asked = [" ".join(text.split()[:6]) for text in real[0][:3]]
    figures = scale.read(home, store, asked, count=4)
    figures |= dict.fromkeys(("add_s", "found_s", "added_here_s", "remove_s", "gone_s"), 0)
    assert {"first_s", "all_p95_ms", "years_p95_ms", "paper_p95_ms", "rss_mb", "disk_gb"} <= figures.keys()
    assert all(value >= 0 for value in figures.values())
    shapes = {"written": 1.0, "indexed": 1.0, "named": 1.0, "late_ms": 0.0}
    assert scale._row(f"{PASSAGES} {store}", shapes | figures)[0] == f"{PASSAGES} {store}"


def test_a_kept_library_is_known_by_parts_of_the_code_that_are_there():
    assert [part for part in libraries.FORM if not (libraries.REPOSITORY / "ragscience" / part).exists()] == []
    assert len(libraries.fingerprint()) == 12
