"""What a question costs."""

from dataclasses import replace

from ragscience.core.records import Answer, Found, Step
from ragscience.evaluation.answer_metrics import COSTS
from ragscience.evaluation.eval_run import Meter

ANSWER = Answer("a1", "?", "…", "llm", False, (), Found("?", "default", ()), {}, tokens={"prompt": 90, "answer": 10})


def test_a_meter_begins_again():
    ticks = iter([10.0, 12.5, 20.0, 21.0])
    meter = Meter(lambda: next(ticks))
    meter.start()
    meter.searches, meter.llm_calls = 3, 1
    assert meter.read(None) == {"searches": 3, "LLM calls": 1, "tokens": 0, "seconds": 2.5}
    meter.start()
    assert meter.read(None) == {"searches": 0, "LLM calls": 0, "tokens": 0, "seconds": 1}


def test_what_the_answer_tells_counts_where_it_is_more():
    meter = Meter(lambda: 0.0)
    meter.searches = 2
    assert meter.read(ANSWER) == {"searches": 2, "LLM calls": 1, "tokens": 100, "seconds": 0}
    steps = (Step("retrieve", 1, "…", "rules", searches=3), Step("reflect", 1, "…", "llm", llm_calls=4, tokens=500))
    assert meter.read(replace(ANSWER, trace=steps)) == {"searches": 3, "LLM calls": 4, "tokens": 500, "seconds": 0}
    assert tuple(meter.read(replace(ANSWER, mode="extractive", tokens={}))) == COSTS
