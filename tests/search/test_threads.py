"""Many threads search one library while papers come and go; each finds what it would have found alone."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragscience.core.records import Filters, Profile
from ragscience.library.store import DenseSizes, Home, Library
from ragscience.search.hybrid_search import SearchModels, search
from tests.library.making import add, ingest, numbered_paper
from tests.search.test_hybrid_search import ToyEmbedder

ROOT = Path(__file__).resolve().parents[2]
PROFILE = Profile("default", 20, 20, "weighted", 0.7, 0.3, 20, 6)
QUESTIONS = ("attention network energy", "GPT-3 model", "climate of a cell", "quantum", "no such word")
FILTERS = (Filters(), Filters(pages=(1, 2)), Filters(papers=("00",)))
THREADS = 6
FIRST, LAST = 2, 30


def hits_of(library, number):
    """What a search finds, to the last bit."""
    question = QUESTIONS[number % len(QUESTIONS)]
    filters = FILTERS[number % len(FILTERS)]
    found = search(question, library=library, models=SearchModels(ToyEmbedder()), profile=PROFILE, filters=filters)
    return [(hit.chunk.chunk_id, hit.chunk.text, hit.score, hit.scores, hit.found_by) for hit in found.hits], (
        found.signals,
        found.warnings,
    )


def searched(library, until):
    """{(papers in the library, number of the search): what was found}, by threads, until `until` says that it's over.

    Two results for the same key must be the same.
    """
    done, results, lock = threading.Event(), {}, threading.Lock()

    def work(first):
        number = first
        while not done.is_set():
            with library.snapshot():
                papers, found = library.about.papers, hits_of(library, number % 15)
                assert library.about.papers == papers
            with lock:
                assert results.setdefault((papers, number % 15), found) == found
            number += 1

    with ThreadPoolExecutor(THREADS) as pool:
        working = [pool.submit(work, first) for first in range(THREADS)]
        try:
            until()
        finally:
            done.set()
        for one in working:
            one.result()
    return results


def alone(folder, counts):
    """The results of single searches on libraries of the first so many papers."""
    found = {}
    for papers in sorted(counts):
        home = Home(folder / str(papers))
        ingest(home.root, 0, papers, refresh_each=100)
        with Library.open(home) as library:
            found |= {(papers, number): hits_of(library, number) for number in range(15)}
    return found


def is_as_alone(results, folder):
    expected = alone(folder, {papers for papers, _ in results})
    for key, found in results.items():
        assert found == expected[key], key


@pytest.mark.parametrize("sizes", [DenseSizes()], ids=["from file"])
def test_searches_are_as_alone_while_another_process_adds_papers(tmp_path, sizes):
    home = Home(tmp_path / "home")
    ingest(home.root, 0, FIRST, refresh_each=1)
    command = [sys.executable, "-m", "tests.library.making", home.root, "0", str(LAST), "5"]
    with Library.open(home, sizes) as library:
        results = searched(library, lambda: subprocess.run(command, check=True, cwd=ROOT, capture_output=True))
        assert library.about.papers == LAST
    assert len({papers for papers, _ in results}) > 3
    is_as_alone(results, tmp_path / "alone")


def test_a_snapshot_is_its_threads_own(tmp_path):
    home = Home(tmp_path / "home")
    ingest(home.root, 0, 2, refresh_each=1)
    with Library.open_for_writing(home) as library, ThreadPoolExecutor(1) as other:
        with library.snapshot():
            assert library.about.papers == 2
            other.submit(add, library, numbered_paper(2)).result()
            assert library.about.papers == 2
            assert other.submit(lambda: library.about.papers).result() == 3
        assert library.about.papers == 3


def test_a_library_that_is_closed_under_a_thread_lets_it_end_its_snapshot(tmp_path):
    home = Home(tmp_path / "home")
    ingest(home.root, 0, 3, refresh_each=1)
    library = Library.open(home)
    with ThreadPoolExecutor(1) as other, library.snapshot():
        before = hits_of(library, 0)
        other.submit(library.close).result()
        assert hits_of(library, 0) == before
