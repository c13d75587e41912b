"""An embedder that may not be there: asked when a question needs it, and left alone for a while once it failed."""

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.models.served_embedder import QueryEmbedder

IDENTITY = EmbedderIdentity("ollama", "nomic-embed-text:latest", "ab12", 2)


class Server:
    """An embedder with a switch, and the clock."""

    identity = IDENTITY

    def __init__(self):
        self.problem = None
        self.opened = self.asked = 0
        self.now = 0.0

    def open(self):
        self.opened += 1
        if self.problem is not None:
            raise self.problem
        return self

    def embed_query(self, text):
        self.asked += 1
        if self.problem is not None:
            raise self.problem
        return np.ones(2, np.float32)

    def embed_documents(self, texts):
        return np.stack([self.embed_query(text) for text in texts])


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def embedder(server):
    return QueryEmbedder(IDENTITY, server.open, clock=lambda: server.now)


@pytest.mark.parametrize("opened", [False, True])
def test_after_a_failure_it_is_left_alone_until_the_pause_is_over(embedder, server, opened):
    if opened:
        embedder.embed_query("a")
    asked = server.opened + server.asked
    server.problem = ModelProblem("It is down.", "Start it.")
    for _ in range(3):
        with pytest.raises(ModelProblem, match="It is down") as caught:
            embedder.embed_query("a")
        assert caught.value.fix == "Start it."
    assert server.opened + server.asked == asked + 1
    server.problem, server.now = None, 59.9
    with pytest.raises(ModelProblem):
        embedder.embed_documents(["a"])
    server.now = 60.0
    assert embedder.embed_query("a").shape == (2,)
    server.now = 61.0
    assert embedder.embed_query("a").shape == (2,)
