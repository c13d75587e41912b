"""Questions are asked one by one, and what comes becomes numbers."""

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Answer, Citation, Found
from ragscience.evaluation.eval_report import Evaluation, Meter, run
from ragscience.evaluation.question_file import BadLine, KnownQuestion
from tests.ask.passages import hit

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
