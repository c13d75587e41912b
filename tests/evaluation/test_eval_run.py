"""Questions are asked one by one, and what comes becomes numbers."""

import json
from dataclasses import replace

import pytest

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Answer, Citation, Found
from ragscience.core.serialization import to_json
from ragscience.evaluation.eval_report import Evaluation, eval_output, shown_p
from ragscience.evaluation.eval_run import Meter, run
from ragscience.evaluation.question_file import BadLine, KnownQuestion
from tests.ask.passages import hit
from tests.output_schemas import check_output

KILNS = hit("The glaze matures at 1280 degrees.", file="kilns.pdf", page=1)


def question(number, kind="number", answerable=True):
    evidence = (frozenset({("kilns.pdf", 1)}),) if answerable else ()
    return KnownQuestion(
        f"q{number}", f"Question {number}?", answerable, ("1280",) if answerable else (), evidence, kind
    )


QUESTIONS = [question(1), question(2, "fact|like"), question(3, answerable=False, kind="none")]


class Asker:
    """Answers each question but the second, and remembers them."""

    def __init__(self):
        self.asked = []

    def __call__(self, asked):
        self.asked.append(asked)
        if asked.question_id == "q2":
            raise ModelProblem("The model is\ngone.", "Get it.")
        return Answer(
            "a1",
            asked.question,
            "“The glaze matures at 1280 degrees.” (kilns.pdf, p.1)",
            "extractive",
            not asked.answerable,
            (Citation("kilns.pdf", 1, "…", True),),
            Found(asked.question, "default", (KILNS,)),
            {},
        )


def evaluated():
    asker, ticks = Asker(), iter(range(100))
    outcomes = tuple(run(QUESTIONS, asker, meter=Meter(lambda: float(next(ticks)))))
    assert asker.asked == QUESTIONS
    return Evaluation("set.jsonl", outcomes, (BadLine(4, "it is not JSON"),), {"papers": "3"})


def test_one_that_fails_does_not_stop_the_others():
    first, second, third = evaluated().outcomes
    assert (first.values["answer"], first.error, first.values["seconds"]) == (1, "", 1.0)
    assert (second.answer, second.values["answer"]) == (None, 0)
    assert "The model is" in second.error
    assert third.values["rightly refused"] == 1


def test_the_report_for_machines():
    told = json.loads(to_json(eval_output(evaluated())))
    assert told["questions"] == 3
    assert told["conditions"] == {"papers": "3"}
    assert told["measures"]["answer"]["mean"] == 0.5
    assert told["measures"]["answer"]["questions"] == 2
    assert told["measures"]["answer"]["low"] == 0
    assert told["types"]["number"]["answer"]["mean"] == 1
    assert "answer" not in told["types"]["none"]
    assert [outcome["id"] for outcome in told["outcomes"]] == ["q1", "q2", "q3"]
    assert told["outcomes"][1]["error"].startswith("The model is")
    assert told["outcomes"][0]["error"] is None
    assert told["bad_lines"] == [{"line": 4, "reason": "it is not JSON"}]


def other():
    """The same questions asked another way, which fails at none, and refuses none."""

    def ask(asked):
        return replace(Asker()(replace(asked, question_id="q1")), refused=False)

    outcomes = tuple(run(QUESTIONS, ask, meter=Meter(lambda: 0.0)))
    return Evaluation("set.jsonl", outcomes, (), {"mode": "agent"})


def test_two_ways_side_by_side_for_machines():
    first = replace(evaluated(), conditions={"mode": "ask"})
    told = json.loads(to_json(eval_output(first, other())))
    check_output(told, "eval")
    assert told["against"]["measures"]["answer"]["mean"] == 1
    assert told["against"]["conditions"] == {"mode": "agent"}
    found = told["comparison"]["measures"]["answer"]
    assert (found["first"], found["second"], found["higher"], found["lower"]) == (0.5, 1, 1, 0)
    assert (found["difference"]["mean"], found["difference"]["questions"]) == (0.5, 2)
    assert (found["p"], found["test"]) == (1, "McNemar")
    assert told["comparison"]["measures"]["rightly refused"]["lower"] == 1
    assert told["comparison"]["types"]["fact|like"]["answer"]["higher"] == 1
    assert "answer" not in told["comparison"]["types"]["none"]
    alone = eval_output(first)
    assert (alone["against"], alone["comparison"]) == (None, None)


@pytest.mark.parametrize(("p", "expected"), [(1.0, "1.000"), (0.0312, "0.031"), (0.0004, "<0.001")])
def test_small_p_values_are_never_zero(p, expected):
    assert shown_p(p) == expected
