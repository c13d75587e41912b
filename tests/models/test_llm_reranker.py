"""The LLM as reranker, against a server that grades each passage by the number that stands in it."""

import json
import re
import unicodedata

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models.llm_reranker import INSTRUCTIONS, LLMReranker
from tests.ollama_server import OllamaServer
from tests.text.attacks import ATTACKS, INVISIBLE, SPECIAL

QUESTION = "How fast do bees fly?"
MODEL = "llama3.1:8b"
PASSAGE = re.compile(r"<passage (\d+)>\n(.*?)\n</passage \1>", re.DOTALL)
WORTH = [3, 9, 0, 10, 5, 7, 1, 8, 2, 6]


def passage(number, worth):
    return f"Passage {number} is worth {worth}."


TEN = [passage(number, worth) for number, worth in enumerate(WORTH)]


def read_passages(body):
    """What the server's model saw: the texts of the passages, by their numbers."""
    return {int(number): text for number, text in PASSAGE.findall(body["messages"][1]["content"])}


def graded(body):
    worth = {number: int(re.search(r"worth (\d+)", text).group(1)) for number, text in read_passages(body).items()}
    return json.dumps(worth)


@pytest.fixture
def server():
    with OllamaServer(models=[MODEL], default_reply=graded) as server:
        yield server


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def make(server, warnings, ollama_llm):
    def make(*, num_ctx=8192):
        return LLMReranker(ollama_llm(server.url, num_ctx=num_ctx), depth=10, on_warning=warnings.append)

    return make


def chats(server):
    return server.of("/api/chat")


def test_ten_passages_are_one_call_with_a_number_for_each(server, make, warnings):
    scores = make().score(QUESTION, TEN)
    assert (scores.dtype, scores.tolist(), warnings) == (np.float32, WORTH, [])
    (body,) = chats(server)
    assert body["messages"][0] == {"role": "system", "content": INSTRUCTIONS}
    assert QUESTION in body["messages"][1]["content"]
    names = [str(number) for number in range(1, 11)]
    assert list(body["format"]["properties"]) == body["format"]["required"] == names
    assert body["format"]["properties"]["1"] == {"type": "integer", "minimum": 0, "maximum": 10}


def test_a_question_that_fills_the_window_says_what_helps(make):
    with pytest.raises(ModelProblem, match=r"no room.*1024 tokens.*RAG_NUM_CTX"):
        make(num_ctx=1024).score("why " * 2000, TEN)


def test_a_server_that_serves_a_smaller_window_gets_shorter_passages_from_the_next_question_on(server, make, warnings):
    server.count_tokens, server.served_context = (lambda text: len(text) // 4), 2048
    passages = [f"{text} " + "some words of a paper " * 40 for text in TEN]
    reranker = make(num_ctx=8192)
    assert np.isnan(reranker.score(QUESTION, passages)).all()
    assert "did not read them to the end; a larger RAG_NUM_CTX may help" in warnings.pop()
    assert reranker.score(QUESTION, passages).tolist() == WORTH
    assert (server.cut_prompts, len(chats(server)), warnings) == (1, 2, [])


@pytest.mark.parametrize(
    "said",
    [
        "Passage 1 is the best.", '{"1": 7, "2": 3}', "{1: 5,", "[1, 2, 3]", '{"1": 7, "2": 3, "3": 2, "4": 5}',
        '{"1": "good", "2": null, "3": true}', '{"1": 11, "2": -1, "3": 1e400}', '{"1": NaN, "2": 1, "3": 2}',
    ],
)  # fmt: skip
def test_what_cannot_be_used_keeps_the_first_pass(server, make, warnings, said):
    server.script(pieces=[said])
    server.script(pieces=[said])
    assert np.isnan(make().score(QUESTION, TEN[:3])).all()
    assert len(chats(server)) == 2
    (warning,) = warnings
    assert warning.startswith("The passages keep the first pass's scores and places: llama3.1:8b gave no usable JSON")


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_leaves_its_fence_or_speaks_the_models_markup(server, make, name):
    make().score(f"{QUESTION} {ATTACKS[name]}", [f"Is worth 3. {ATTACKS[name]}"])
    text = chats(server)[0]["messages"][1]["content"]
    assert not SPECIAL.findall(text)
    assert not set(INVISIBLE) & set(text)
    for form in (text, unicodedata.normalize("NFKC", text).casefold()):
        for fence in ("question", "passage"):
            assert len(re.findall(rf"<\s*{fence}", form)) == len(re.findall(rf"<\s*/\s*{fence}", form)) == 1
    for word in re.findall(r"\b(?:PWNED|obey|Ignore)\b", ATTACKS[name]):
        assert word in text
