"""Further score sources, prefilters and the profiles' sums, over a small real library."""

from dataclasses import replace

import pytest

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Profile
from ragscience.core.settings import Settings
from ragscience.search.profiles import profile_named
from tests.search.test_hybrid_search import QUESTION, ShortestFirst, ToyEmbedder, found

EVEN = profile_named("even", Settings())
DEEP = profile_named("deep", Settings())
NARROW = Profile("narrow", 3, 3, "weighted", 0.5, 0.3, 0, 50, more_weights=(("graph", 0.2),))


@pytest.fixture(scope="module")
def every(library):
    """Cosine and BM25 of every passage by id, computed here."""
    ids, vectors = library.vectors.of()
    cosines = dict(zip(ids.tolist(), (vectors @ ToyEmbedder().embed_query(QUESTION)).tolist(), strict=True))
    found = library.keywords.search(QUESTION, library.about.chunks, None)
    words = dict.fromkeys(ids.tolist(), 0.0) | dict(zip(*(array.tolist() for array in found), strict=True))
    return cosines, words


def ids_of(result):
    return [hit.chunk.chunk_id for hit in result.hits]


def scaled(scores, union):
    low, high = min(scores[key] for key in union), max(scores[key] for key in union)
    return {key: (scores[key] - low) / (high - low) for key in union}


def best(scores, count):
    return sorted(scores, key=lambda key: (-scores[key], key))[:count]


# -- the profiles' own sums


@pytest.mark.parametrize("dense_candidates", [30, 0])
def test_even_is_half_the_cosine_and_half_bm25_over_the_highest(library, every, dense_candidates):
    cosines, words = every
    highest = max(words.values())
    hits = found(library, replace(EVEN, dense_candidates=dense_candidates)).hits
    listed = set(best(cosines, dense_candidates)) | {key for key, score in words.items() if score > 0}
    expected = {key: 0.5 * max(0.0, cosines[key]) + 0.5 * words[key] / highest for key in listed}
    assert [hit.chunk.chunk_id for hit in hits] == best(expected, 5)
    assert [hit.score for hit in hits] == pytest.approx([expected[hit.chunk.chunk_id] for hit in hits])


def test_deep_with_a_graph_is_the_production_notes_sum(library, every):
    cosines, words = every
    far = min(cosines, key=lambda key: cosines[key] + words[key])
    graph = {far: 0.88, best(cosines, 1)[0]: 0.5}
    gear = {far: 0.79}
    union = set(best(cosines, 100)) | set(best({k: s for k, s in words.items() if s > 0}, 60)) | graph.keys()
    dense, bm25 = scaled(cosines, union), scaled(words, union)
    expected = {
        key: 0.45 * dense[key] + 0.20 * bm25[key] + 0.20 * graph.get(key, 0) + 0.15 * gear.get(key, 0) for key in union
    }
    result = found(library, DEEP, more={"gear": lambda question: gear, "graph": lambda question: graph})
    assert ids_of(result) == best(expected, 12)
    assert [hit.score for hit in result.hits] == pytest.approx([expected[key] for key in ids_of(result)])


def test_deep_reads_its_best_again_in_batches_of_eight(library):
    reranker = ShortestFirst()
    found(library, DEEP, reranker=reranker)
    batches = [len(each) for each in reranker.read]
    assert set(batches[:-1]) == {8}
    assert 8 < sum(batches) <= 80


# -- further sources


def test_what_a_source_names_is_a_candidate_and_carries_its_score(library):
    without = found(library, NARROW)
    outside = [key for key in range(1, library.about.chunks + 1) if key not in ids_of(without)][:2]
    asked = []
    result = found(
        library, NARROW, more={"graph": lambda question: asked.append(question) or {outside[0]: 1.0, outside[1]: 0.25}}
    )
    assert asked == [QUESTION]
    assert set(ids_of(result)) == set(ids_of(without)) | set(outside)
    by_id = {hit.chunk.chunk_id: hit for hit in result.hits}
    assert (by_id[outside[0]].scores["graph"], by_id[outside[0]].found_by) == (1.0, ("graph",))
    assert by_id[outside[0]].scores["dense"] is not None
    assert by_id[ids_of(without)[0]].scores["graph"] is None
    assert list(by_id[outside[0]].scores) == ["dense", "bm25", "graph", "fused", "rerank"]
    assert "graph_ms" in result.timings_ms
    assert "graph" not in without.hits[0].scores


def test_a_source_that_fails_costs_a_warning(library):
    def broken(question):
        raise RagScienceError("The graph is damaged.", "Build it again.")

    result = found(library, NARROW, more={"graph": broken})
    assert ids_of(result) == ids_of(found(library, NARROW))
    assert result.warnings == ("The search went on without the graph: The graph is damaged. Build it again.",)
