"""The benchmark of language models: what a way of asking costs, a reranker's calls and tokens included."""

import json

import pytest

from benchmarks.language_model import answered
from ragscience.evaluation.question_file import KnownQuestion
from tests.openai_server import OpenAIServer

NEVER = float("inf")
QUESTION = KnownQuestion("q01", "How fast do bees fly in fog?", True, ("3.7",), (frozenset({("bees.pdf", 2)}),), "fact")


@pytest.fixture
def server(monkeypatch):
    with OpenAIServer() as running:
        running.default = "Bees fly at 3.7 m/s in fog (bees.pdf, p.2)."
        monkeypatch.setenv("RAG_LLM_URL", running.url)
        yield running


def test_a_later_run_asks_only_what_is_missing(server, library, tmp_path):
    made = answered(library, "llm", [QUESTION], tmp_path, NEVER)
    assert len(server.of("/v1/chat/completions")) == 1
    assert answered(library, "llm", [QUESTION], tmp_path, NEVER) == made
    assert len(server.of("/v1/chat/completions")) == 1
    assert made[0]["values"]["answer"] == made[0]["values"]["cited"] == 1.0


def test_the_calls_and_tokens_of_a_reranker_are_counted(server, library, tmp_path):
    for _ in range(2):
        server.script(json.dumps({str(n): 5 for n in range(1, 11)}), counts=(700, 20))
    (made,) = answered(library, "llm reranker", [QUESTION], tmp_path, NEVER)
    assert (made["mode"], made["models"]["reranker"]) == ("extractive", "qwen")
    assert (made["values"]["LLM calls"], made["values"]["tokens"]) == (2, 1440)
