"""Questions are asked one by one, and what comes becomes numbers."""

from ragscience.core.settings import load_settings
from ragscience.engine import Engine
from ragscience.engine.eval_runs import EvalRequest
from ragscience.evaluation.question_file import KnownQuestion

PAGE = (frozenset({("bees.pdf", 2)}),)
QUESTIONS = [
    KnownQuestion("q1", "How fast do bees fly in fog?", True, ("3.7",), PAGE, "number"),
    KnownQuestion("q2", "Too long? " * 1000, True, ("3.7",), PAGE, "fact|like"),
    KnownQuestion("q3", "Who won the chess championship of 1972?", False, (), (), "none"),
]


def test_one_that_fails_does_not_stop_the_others(own_home):
    with Engine.open(own_home, load_settings(home=own_home, offline=True)) as engine:
        evaluation = engine.evaluate(EvalRequest(QUESTIONS, "set.jsonl"))
        assert engine.history.conversations() == []
    first, second, third = evaluation.outcomes
    assert (first.values["answer"], first.error, first.values["searches"]) == (1, "", 1.0)
    assert 0 < first.values["seconds"] < 60
    assert (second.answer, second.values["answer"]) == (None, 0)
    assert "characters" in second.error
    assert third.values["rightly refused"] == 1
