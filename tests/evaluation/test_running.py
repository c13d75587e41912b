"""Questions are asked one by one, and what comes becomes numbers and a page."""

import json

from ragscience.errors import ModelProblem
from ragscience.evaluation.questions import BadLine, KnownQuestion
from ragscience.evaluation.report import Evaluation, as_json, as_markdown
from ragscience.evaluation.running import run
from ragscience.records import Answer, Citation, Found
from tests.answering.passages import hit

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
    outcomes = tuple(run(QUESTIONS, asker, clock=lambda: float(next(ticks))))
    assert asker.asked == QUESTIONS
    return Evaluation("set.jsonl", outcomes, (BadLine(4, "it is not JSON"),), {"papers": "3"})


def test_one_that_fails_does_not_stop_the_others():
    first, second, third = evaluated().outcomes
    assert (first.values["answer"], first.error, first.values["seconds"]) == (1, "", 1.0)
    assert (second.answer, second.values["answer"]) == (None, 0)
    assert "The model is" in second.error
    assert third.values["rightly refused"] == 1


def test_questions_are_asked_as_the_outcomes_are_taken():
    asker = Asker()
    outcomes = run(QUESTIONS, asker, clock=lambda: 0.0)
    assert asker.asked == []
    next(outcomes)
    assert asker.asked == QUESTIONS[:1]


def test_the_report_for_machines():
    told = json.loads(json.dumps(as_json(evaluated())))
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


def test_the_report_for_people():
    page = as_markdown(evaluated())
    assert "| answer | 0.500 (0.00–1.00) | 2 | all that a right answer must hold" in page
    assert "| fact\\|like | " in page
    assert "- q2: The model is gone. Get it." in page
    assert "- line 4: it is not JSON" in page
    widths = {line.count(" | ") for line in page.splitlines() if line.startswith(("| number", "| none", "| type"))}
    assert len(widths) == 1


def test_a_report_without_failures_has_no_chapter_about_them():
    outcomes = tuple(run(QUESTIONS[:1], Asker(), clock=lambda: 0.0))
    assert "What failed" not in as_markdown(Evaluation("set.jsonl", outcomes, (), {}))
