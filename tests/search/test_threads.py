"""Threads that search one library: each has a snapshot of its own."""

from concurrent.futures import ThreadPoolExecutor

from ragscience.core.records import Filters, Profile
from ragscience.library.store import Home, Library
from ragscience.search.hybrid_search import SearchModels, search
from tests.library.making import add, ingest, numbered_paper
from tests.search.test_hybrid_search import ToyEmbedder

PROFILE = Profile("default", 20, 20, "weighted", 0.7, 0.3, 20, 6)
QUESTIONS = ("attention network energy", "GPT-3 model", "climate of a cell", "quantum", "no such word")
FILTERS = (Filters(), Filters(pages=(1, 2)), Filters(papers=("00",)))


def hits_of(library, number):
    """What a search finds, to the last bit."""
    question = QUESTIONS[number % len(QUESTIONS)]
    filters = FILTERS[number % len(FILTERS)]
    found = search(question, library=library, models=SearchModels(ToyEmbedder()), profile=PROFILE, filters=filters)
    return [(hit.chunk.chunk_id, hit.chunk.text, hit.score, hit.scores, hit.found_by) for hit in found.hits], (
        found.signals,
        found.warnings,
    )


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
