import warnings

import numpy as np
import pytest

from ragscience.core.errors import LibraryUnavailable
from ragscience.core.tokenizing import tokenize
from ragscience.library.store import Library, as_vector_store

from .making import DIMENSION

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain_community announces its own end at import
    pytest.importorskip("langchain_community.vectorstores.faiss")
from langchain_core.embeddings import Embeddings


class HashedWords(Embeddings):
    """A vector from the words alone, the same each time."""

    def __init__(self, dimension=DIMENSION):
        self.dimension = dimension

    def embed_query(self, text):
        total = np.zeros(self.dimension)
        for term in tokenize(text):
            total += np.random.default_rng(list(term.encode())).standard_normal(self.dimension)
        return (total / (np.linalg.norm(total) or 1)).tolist()

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


@pytest.fixture
def store(filled):
    return as_vector_store(filled, HashedWords())


def test_a_notebook_finds_what_the_library_finds(filled, store):
    for question in ("attention network", "protein", "GPT-3 energy of light"):
        vector = np.array(HashedWords().embed_query(question), np.float32)
        with Library.open(filled) as library:
            ids, scores = library.dense.search(vector, 5, None)
            chunks = library.chunks(ids.tolist())
        found = store.similarity_search_with_score(question, k=5)
        assert [document.metadata["chunk_id"] for document, _ in found] == ids.tolist()
        np.testing.assert_allclose([score for _, score in found], scores, atol=1e-6)
        for (document, _), chunk in zip(found, chunks, strict=True):
            assert document.page_content == chunk.text
            assert document.metadata["source"] == chunk.path
            assert document.metadata["page"] == chunk.page_start


def test_it_is_a_retriever_with_filters_relevance_and_variety(store):
    retriever = store.as_retriever(search_kwargs={"k": 3})
    assert len(retriever.invoke("graph theory")) == 3
    one_paper = store.similarity_search("graph", k=2, filter={"source": "/papers/003.pdf"}, fetch_k=100)
    assert [document.metadata["source"] for document in one_paper] == ["/papers/003.pdf"] * 2
    assert all(0 <= score <= 1 for _, score in store.similarity_search_with_relevance_scores("graph", k=40))
    varied = store.max_marginal_relevance_search("graph", k=4, fetch_k=10)
    assert len({document.id for document in varied}) == 4


def test_a_change_of_the_store_does_not_change_the_library(filled, store):
    store.delete(["1"])
    with Library.open(filled) as library:
        assert library.chunks([1])
        assert len(store.similarity_search("graph", k=500)) == library.about.chunks - 1


def test_other_embeddings_are_refused(filled):
    with pytest.raises(LibraryUnavailable, match="12 dimensions, these embeddings 13") as refused:
        as_vector_store(filled, HashedWords(13))
    assert "toy" in refused.value.fix


def test_an_empty_home_is_refused(home):
    with pytest.raises(LibraryUnavailable) as refused:
        as_vector_store(home, HashedWords())
    assert "ingest.py" in refused.value.fix
