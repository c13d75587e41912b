import pytest
from hypothesis import HealthCheck, given, settings

from ragscience.graph.graph_model import load_graph, merge
from ragscience.graph.graph_records import Extracted
from ragscience.library.store import Home, Library

from .making import PASSAGES, fill, passages, put


@pytest.fixture
def library(tmp_path):
    with Library.open_for_writing(Home(tmp_path / "home")) as library:
        yield library


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(passages)
def test_a_paper_that_leaves_takes_what_only_it_said(tmp_path_factory, kept):
    with Library.open_for_writing(Home(tmp_path_factory.mktemp("home"))) as library:
        papers = fill(library)
        last = {found.chunk_id: (paper, found) for paper, found in kept}
        moved = {
            at: (paper, Extracted(papers[paper][at % PASSAGES], found.mentions, found.triples, found.aliases))
            for at, (paper, found) in last.items()
        }
        put(library, *(found for _, found in moved.values()))
        library.remove_papers([library.papers()[0].paper_id])
        rest = merge([(paper, found) for paper, found in moved.values() if paper != 0])
        graph = load_graph(library)
        assert list(graph.entities()) == list(rest.entities())
        assert list(graph.relations()) == list(rest.relations())
