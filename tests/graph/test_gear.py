"""Paths of triples that fit a question."""

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.core.tokenizing import tokenize
from ragscience.graph.graph_search import MOST_CONCEPTS, MOST_EMBEDDED, GraphSearch

from .drawn import ATTENTION, TESLA, TESLA_QUESTION, drawn


class Words:
    """An embedder by the words that a text shares with the question."""

    def embed_query(self, text):
        self.terms = list(dict.fromkeys(tokenize(text)))
        return np.full(len(self.terms), len(self.terms) ** -0.5, dtype=np.float32)

    def embed_documents(self, texts):
        found = [set(tokenize(text)) for text in texts]
        return np.array([[(term in its) / len(its) ** 0.5 for term in self.terms] for its in found], dtype=np.float32)


def searching(graph, embedder=None):
    return GraphSearch(graph, embedder=embedder or Words(), passages=50, types=())


def test_their_passages_are_the_sources_of_the_production_notes():
    found = searching(drawn(*TESLA))
    assert set(found.gear_scores(TESLA_QUESTION)) == {101, 202, 303}
    assert all(0 < score <= 1 for score in found.gear_scores(TESLA_QUESTION).values())
    path = found.paths(TESLA_QUESTION)[0]
    assert len(path.keys) == len(path.relations) + 1
    assert all(relation.chunk_ids for relation in path.relations)


class Counting:
    """An embedder of three dimensions that counts."""

    def __init__(self, fails=False):
        self.texts, self.fails = [], fails

    def embed_query(self, text):
        return self.embed_documents([text])[0]

    def embed_documents(self, texts):
        if self.fails:
            raise ModelProblem("no embedder")
        self.texts += texts
        rows = np.array([[5, text.count("a") + 1, text.count("e")] for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_embeddings_of_a_question_are_bounded_and_kept():
    graph = drawn(*((f"e{a}", "USES", f"e{b}") for a in range(30) for b in range(a)))
    embedder = Counting()
    found = searching(graph, embedder)
    question = " ".join(f"e{at}" for at in range(12))
    assert found.gear_scores(question)
    assert 10 < len(embedder.texts) <= MOST_EMBEDDED + 1
    before = len(embedder.texts)
    found.paths(question)
    assert len(embedder.texts) == before
    found.gear_scores(question + " x")
    assert len(embedder.texts) == before + 1  # the question; the triples are known


def test_concepts_are_near_few_and_each_once():
    graph = drawn(*ATTENTION)
    near = searching(graph).concepts("How does self-attention work?")
    assert near[:2] == ("self-attention", "attention") and set(near) == {*near[:2], "multi-head", "transformer"}
    hub = drawn(*(("hub", "USES", f"spoke {chr(97 + at)}") for at in range(20)), ("Hub", "USES", "hub spoke"))
    found = searching(hub).concepts("What is a hub?")
    assert len(found) == MOST_CONCEPTS == len({name.casefold() for name in found})


def test_a_search_by_graph_of_the_guides_question():
    found = searching(drawn(*ATTENTION))
    question = "How does self-attention work?"
    assert {"multi-head", "transformer"} <= set(found.concepts(question))
    assert {1, 2, 3, 4, 5, 6, 7} == set(found.graph_scores(question))
    assert next(iter(found.graph_scores(question))) == 1
    assert found.graph_scores("What is a turnip?") == {}
