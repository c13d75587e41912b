"""A passage that two files hold is found once."""

import hashlib

import numpy as np
import pytest

from ragscience.core.records import Chunk, Document, Filters, Page, Profile
from ragscience.library.store import Home, Library, NewPaper
from ragscience.search.hybrid_search import SearchModels, search
from tests.library.making import CHUNKER, EMBEDDER
from tests.library.making import DIMENSION as SIZE

LONG = " ".join(f"word{number}" for number in range(100))
NEARLY = LONG.replace("word50", "other")
HALF = " ".join([*LONG.split()[:50], *(f"new{number}" for number in range(50))])
TEXTS = ["Bees steer by light.", "bees  STEER by\nlight.", LONG, NEARLY, HALF, "Bees steer by\nnight.", "Fog.", "Fog!"]


class Towards:
    """Every question has the same vector, to which the first passage is nearest."""

    identity = EMBEDDER

    def embed_query(self, text):
        return np.eye(1, SIZE, dtype=np.float32)[0]


@pytest.fixture
def library(tmp_path):
    """Each text in a paper of its own, in the order in which a search finds them."""
    home = Home(tmp_path)
    with Library.open_for_writing(home) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        for number, text in enumerate(TEXTS):
            vector = np.zeros((1, SIZE), np.float32)
            vector[0, :2] = np.cos(0.1 * number), np.sin(0.1 * number)
            library.add_paper(
                NewPaper(
                    path=f"/p/{number}.pdf",
                    md5=hashlib.md5(str(number).encode()).hexdigest(),
                    size_bytes=1,
                    modified_ns=1,
                    document=Document(text, (Page(1, 0, len(text)),)),
                    chunks=(Chunk(0, text, 0, len(text), 1, 1, "", "text", f"Title {number}"),),
                    vectors=vector,
                )
            )
    with Library.open(home) as library:
        yield library


def found(library, top_k, reranker=None):
    return search(
        "zzz",
        library=library,
        models=SearchModels(Towards(), reranker=reranker),
        profile=Profile("default", 20, 20, "weighted", 1.0, 0.0, 20, top_k),
        filters=Filters(),
    )


def test_a_search_gives_as_many_passages_as_were_asked_for_and_says_what_it_left_out(library):
    three = found(library, 3)
    assert [hit.chunk.chunk_id for hit in three.hits] == [1, 3, 5]
    assert three.warnings == ("2 passages that repeat others are left out.",)
    assert found(library, 2).warnings == ("1 passage that repeats another one is left out.",)
    assert found(library, 1).warnings == ()


class Reader:
    """Likes what comes last, and remembers what it was given."""

    name = "reader"
    scale = "other"

    def __init__(self):
        self.given = []

    def score(self, question, passages):
        first = len(self.given)
        self.given += passages
        return np.arange(first, first + len(passages), dtype=np.float32)


def test_a_reranker_reads_each_passage_once_with_what_it_stands_under(library):
    reader = Reader()
    found(library, 3, reader)
    assert len(reader.given) == 6
    assert reader.given[0] == "Title 0\nBees steer by light."
    assert sorted(hit.scores["rerank"] for hit in found(library, 6, Reader()).hits) == [0, 1, 2, 3, 4, 5]
