import pytest
from hypothesis import HealthCheck, given, settings

from ragscience.core.errors import RagScienceError
from ragscience.graph.graph_model import load_graph, merge
from ragscience.graph.graph_records import Extracted
from ragscience.library.store import Home, Library

from .making import PASSAGES, fill, passages, put, say


@pytest.fixture
def library(tmp_path):
    with Library.open_for_writing(Home(tmp_path / "home")) as library:
        yield library


def keys(library):
    return [entity.key for entity in load_graph(library).entities()]


def test_the_graph_follows_its_rows(library):
    first, second, *_ = fill(library).values()
    put(library, say(first[0], ("LSTM", "METHOD")), say(second[0], ("BLEU", "METRIC")))
    assert keys(library) == ["METHOD:lstm", "METRIC:bleu"]
    put(library, say(first[0], ("GRU", "METHOD")))
    assert keys(library) == ["METHOD:gru", "METRIC:bleu"]
    put(library, say(first[0], ("LSTM", "METHOD")), extractor="llm")
    assert keys(library) == ["METHOD:gru", "METHOD:lstm", "METRIC:bleu"]
    assert library.graph.counts() == {("llm", "1"): 1, ("local", "1"): 2}
    assert library.graph.clear("local") == 2
    assert keys(library) == ["METHOD:lstm"]
    assert library.graph.clear() == 1
    assert keys(library) == []


def test_a_row_that_cannot_be_read_is_one_clear_line(library):
    (ids,) = fill(library, [0]).values()
    library.graph.put("local", "1", [(ids[1], "nonsense")])
    with pytest.raises(RagScienceError, match=f"passage {ids[1]} cannot be read"):
        load_graph(library)


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
