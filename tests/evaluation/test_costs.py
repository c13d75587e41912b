"""What a question costs, counted with a real client and a real server."""

from dataclasses import replace

import pytest

from ragscience.core.records import Answer, Found, Step
from ragscience.evaluation.answer_metrics import COSTS
from ragscience.evaluation.eval_run import Meter
from ragscience.models.model_servers import Ollama
from ragscience.models.served_llm import ChatOptions, ServedLLM
from tests.ollama_server import OllamaServer, chat_model

ANSWER = Answer("a1", "?", "…", "llm", False, (), Found("?", "default", ()), {}, tokens={"prompt": 90, "answer": 10})


@pytest.fixture
def server():
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        yield server


def llm_of(server):
    return ServedLLM(
        Ollama(server.url, timeout_seconds=20, offline=False),
        "llama3.1:8b",
        options=ChatOptions(temperature=0, num_ctx=2048, num_predict=100),
    )


def test_every_call_counts_whichever_model_object_makes_it(server):
    server.script("One two.", prompt_eval_count=40, eval_count=2)
    server.script("Three.", prompt_eval_count=7, eval_count=1)
    meter = Meter(lambda: 0.0)
    meter.start()
    with meter.watching():
        assert "".join(llm_of(server).reply([("user", "Hello")], max_tokens=20)) == "One two."
        assert llm_of(server).chat_model.invoke("Again").content == "Three."
    "".join(llm_of(server).reply([("user", "Unseen")], max_tokens=20))
    assert meter.read(None) == {"searches": 0, "LLM calls": 2, "tokens": 50, "seconds": 0}


def test_meters_begin_again_and_do_not_count_for_each_other(server):
    ticks = iter([10.0, 12.5, 20.0, 21.0])
    first, second = Meter(lambda: next(ticks)), Meter(lambda: 0.0)
    first.start()
    first.searches += 3
    assert first.read(None)["seconds"] == 2.5
    with first.watching(), second.watching():
        "".join(llm_of(server).reply([("user", "Hello")], max_tokens=20))
    assert (first.llm_calls, second.llm_calls) == (0, 1)
    first.start()
    assert first.read(None) == {"searches": 0, "LLM calls": 0, "tokens": 0, "seconds": 1}


def test_what_the_answer_tells_counts_where_it_is_more():
    meter = Meter(lambda: 0.0)
    meter.searches = 2
    assert meter.read(ANSWER) == {"searches": 2, "LLM calls": 1, "tokens": 100, "seconds": 0}
    steps = (Step("retrieve", 1, "…", "rules", searches=3), Step("reflect", 1, "…", "llm", llm_calls=4, tokens=500))
    assert meter.read(replace(ANSWER, trace=steps)) == {"searches": 3, "LLM calls": 4, "tokens": 500, "seconds": 0}
    assert tuple(meter.read(replace(ANSWER, mode="extractive", tokens={}))) == COSTS
