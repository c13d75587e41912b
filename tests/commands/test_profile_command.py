"""The ways to search of the command: the list of them, and the LLM as reranker."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from ragscience.core.records import Filters
from ragscience.library.store import Home, Library
from ragscience.models.minilm import MiniLM
from ragscience.search.guide_profile import NO_RERANKER
from tests.conftest import NOBODY, Commands
from tests.ollama_server import OllamaServer, chat_model

QUESTION = "How fast do bees fly in fog?"
PASSAGE = re.compile(r"<passage (\d+)>\n(.*?)\n</passage \1>", re.DOTALL)
NAMES = ["default", "rrf", "even", "deep", "balanced", "guide"]


def prefers_wheels(body):
    """Grades passages about the tide machine's wheels highest; anything else it is asked gets words."""
    passages = PASSAGE.findall(body["messages"][1]["content"]) if len(body["messages"]) > 1 else []
    if not passages:
        return '{"verdict": "correct"}'
    return json.dumps({number: 10 if "brass wheel" in text else 1 for number, text in passages})


@pytest.fixture
def server():
    with OllamaServer(models={"llama3.1:8b": chat_model()}, default_reply=prefers_wheels) as server:
        yield server


@pytest.fixture
def filled(library, server, monkeypatch):
    monkeypatch.setenv("RAG_OLLAMA_URL", server.url)
    return Commands(library)


def test_the_llm_decides_the_order(filled, server):
    first = json.loads(filled.query("search", QUESTION, "--reranker", "llm", "--json").out)
    assert "brass wheel" in first["hits"][0]["text"]
    assert first["hits"][0]["scores"]["rerank"] == 10
    (body,) = server.of("/api/chat")
    assert QUESTION in body["messages"][1]["content"]

    answer = json.loads(filled.query("ask", QUESTION, "--reranker", "llm", "--json", RAG_ANSWERER="extractive").out)
    assert answer["models"]["reranker"] == "llama3.1:8b"
    assert len(answer["hits"]) <= 5

    models = json.loads(filled.query("models", "--json", RAG_RERANK="llm").out)["models"]
    assert [row["model"] for row in models if row["part"] == "reranker"] == ["llama3.1:8b"]

    server.fault("/api/chat", status=500, error="out of memory", times=None)
    ran = filled.query("search", "What colour is cobalt oxide?", "--reranker", "llm", "--json")
    found = json.loads(ran.out)
    assert found["hits"][0]["file"] == "kilns.pdf"
    assert "the first pass's order stands" in found["warnings"][0]


def test_guide_has_the_scores_of_its_parts_calculated_apart(filled, library):
    ran = filled.query("search", QUESTION, "--profile", "guide", "--json", RAG_OLLAMA_URL=NOBODY)
    assert (ran.code, NO_RERANKER in json.loads(ran.out)["warnings"]) == (0, True)
    hits = json.loads(ran.out)["hits"]
    with Library.open(Home(library)) as opened:
        allowed = opened.select(Filters())
        ids = opened.vectors.of()[0] if allowed is None else allowed
        texts = [chunk.text for chunk in opened.chunks(ids.tolist())]
        vectors = opened.vectors.of(ids.tolist())[1]
    assert 1 < len(texts) <= 20  # so that each passage is in both lists
    embedder = MiniLM(cache_folder=Path(os.environ["RAG_CACHE_FOLDER"]), on_warning=pytest.fail)
    dense = vectors @ embedder.embed_query(QUESTION)
    bm25 = BM25Okapi([text.lower().split() for text in texts]).get_scores(QUESTION.lower().split())
    fused = 0.7 * (dense - dense.min()) / np.ptp(dense) + 0.3 * (bm25 - bm25.min()) / np.ptp(bm25)
    best = sorted(range(len(texts)), key=lambda row: -fused[row])[:4]
    assert [hit["text"] for hit in hits] == [texts[row] for row in best]
    np.testing.assert_allclose([hit["score"] for hit in hits], fused[best], atol=1e-4)
    np.testing.assert_allclose([hit["scores"]["bm25"] for hit in hits], bm25[best], atol=1e-4)
    answer = json.loads(filled.query("ask", QUESTION, "--profile", "guide", "--json", RAG_OLLAMA_URL=NOBODY).out)
    assert (answer["profile"], [hit["text"] for hit in answer["hits"]]) == ("guide", [hit["text"] for hit in hits])
