from dataclasses import replace

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Filters, Profile
from ragscience.search.hybrid_search import SearchModels, search
from tests.library.making import DIMENSION, EMBEDDER

DEFAULT = Profile("default", 20, 20, "weighted", 0.7, 0.3, 20, 4)
RRF = Profile("rrf", 20, 20, "rrf", 1.0, 1.0, 20, 5)
QUESTION = "attention network energy"


class ToyEmbedder:
    """The same direction for the same question; counts its calls."""

    identity = EMBEDDER

    def __init__(self):
        self.questions = []

    def embed_documents(self, texts):
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text):
        self.questions.append(text)
        rows = np.random.default_rng(len(text)).standard_normal(DIMENSION)
        return (rows / np.linalg.norm(rows)).astype(np.float32)


class ShortestFirst:
    """A reranker with a taste that no search shares; remembers what it read."""

    name = "shortest-first"
    scale = "log-odds"

    def __init__(self):
        self.read = []

    def score(self, question, passages):
        self.read.append(list(passages))
        return np.array([-len(passage) for passage in passages], np.float32)


class Broken(ShortestFirst):
    def score(self, question, passages):
        raise ModelProblem("It fell over.")


def found(library, profile=DEFAULT, *, reranker=None, more=None):
    models = SearchModels(ToyEmbedder(), reranker=reranker, sources=more or {})
    return search(QUESTION, library=library, models=models, profile=profile, filters=Filters())


def test_the_fused_score_is_the_guides_sum_over_both_scores_of_every_candidate(library):
    vector = ToyEmbedder().embed_query(QUESTION)
    by_dense = library.dense.search(vector, 20, None)[0].tolist()
    by_bm25 = library.keywords.search(QUESTION, 20, None)[0].tolist()
    union = sorted({*by_dense, *by_bm25})
    assert set(by_dense) != set(by_bm25)
    ids, vectors = library.vectors.of()
    all_dense = dict(zip(ids.tolist(), (vectors @ vector).tolist(), strict=True))
    every = library.keywords.search(QUESTION, library.about.chunks, None)
    all_bm25 = dict.fromkeys(ids.tolist(), 0.0) | dict(zip(*(array.tolist() for array in every), strict=True))

    def scaled(scores, key):
        low, high = min(scores[other] for other in union), max(scores[other] for other in union)
        return (scores[key] - low) / (high - low)

    expected = {key: 0.7 * scaled(all_dense, key) + 0.3 * scaled(all_bm25, key) for key in union}
    best = sorted(expected, key=lambda key: (-expected[key], key))[:4]
    hits = found(library).hits
    assert [hit.chunk.chunk_id for hit in hits] == best
    for hit in hits:
        key = hit.chunk.chunk_id
        assert hit.score == pytest.approx(expected[key])
        assert hit.scores["dense"] == pytest.approx(all_dense[key], abs=1e-6)
        assert hit.scores["bm25"] == pytest.approx(all_bm25[key])
        assert hit.scores["rerank"] is None
        assert hit.found_by == tuple(n for n, ids in (("dense", by_dense), ("bm25", by_bm25)) if key in ids)


def test_rrf_sums_reciprocal_ranks(library):
    vector = ToyEmbedder().embed_query(QUESTION)
    dense = library.dense.search(vector, 20, None)[0].tolist()
    bm25 = library.keywords.search(QUESTION, 20, None)[0].tolist()
    expected = {key: sum(1 / (61 + ids.index(key)) for ids in (dense, bm25) if key in ids) for key in {*dense, *bm25}}
    best = sorted(expected, key=lambda key: (-expected[key], key))[:5]
    assert [hit.chunk.chunk_id for hit in found(library, profile=RRF).hits] == best


def test_a_cross_encoder_reads_the_candidates_once_and_its_score_is_half_of_theirs(library):
    reranker = ShortestFirst()
    hits = found(library, reranker=reranker).hits
    (read,) = reranker.read
    assert 4 < len(read) <= 40
    lengths = [
        -hit.scores["rerank"] for hit in found(library, reranker=reranker, profile=replace(DEFAULT, top_k=40)).hits
    ]
    longest, shortest = max(lengths), min(lengths)
    by_length = {hit.chunk.chunk_id: (longest + hit.scores["rerank"]) / (longest - shortest) for hit in hits}
    assert all(
        0.5 * by_length[hit.chunk.chunk_id] <= hit.score <= 0.5 * by_length[hit.chunk.chunk_id] + 0.5 for hit in hits
    )
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_reranker_that_fails_costs_its_order_and_a_warning(library):
    broken = found(library, reranker=Broken())
    assert [hit.chunk.chunk_id for hit in broken.hits] == [hit.chunk.chunk_id for hit in found(library).hits]
    assert "It fell over." in broken.warnings[0]


class Unreachable(ToyEmbedder):
    def embed_query(self, text):
        raise ModelProblem("The server is down.")


@pytest.mark.parametrize(
    "profile", [DEFAULT, RRF, replace(DEFAULT, fusion="by-max"), replace(DEFAULT, bm25_weight=0.0)]
)
def test_where_the_embedder_fails_the_words_alone_are_searched_and_that_is_said(library, profile):
    ids, scores = library.keywords.search(QUESTION, 20, None)
    gone = search(QUESTION, library=library, models=SearchModels(Unreachable()), profile=profile, filters=Filters())
    assert [hit.chunk.chunk_id for hit in gone.hits] == ids.tolist()[: profile.top_k]
    assert all(hit.scores["dense"] is None and hit.found_by == ("bm25",) for hit in gone.hits)
    assert [hit.scores["bm25"] for hit in gone.hits] == scores.tolist()[: profile.top_k]
    assert gone.warnings == (
        "The embedder failed, so the question was searched by its words alone: The server is down.",
    )
    assert "dense_ms" not in gone.timings_ms
