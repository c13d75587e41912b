"""What an evaluation looks like, on a terminal and in a pipe."""

import io
from dataclasses import replace

from rich.console import Console

from ragscience.cli.query_app import show_evaluation
from ragscience.evaluation.eval_report import Evaluation, Outcome
from ragscience.evaluation.question_file import KnownQuestion


def outcome(number, kind, **values):
    question = KnownQuestion(f"q{number}", "?", True, ("x",), (frozenset({("a.pdf", 1)}),), kind)
    named = {name.replace("_", " "): value for name, value in values.items()}
    return Outcome(question, None, "", {"seconds": 0.5, "tokens": 1200.0, **named})


def test_the_questions_that_failed_are_listed_with_why_and_their_pages():
    unanswerable = replace(outcome(6, "none").question, answerable=False, evidence=(), question="Who won?")
    asked = Evaluation(
        "set.jsonl",
        (
            outcome(1, "fact", all_evidence=1.0, answer=1.0, cited=1.0, refused=0.0),
            outcome(2, "fact", all_evidence=0.0, answer=0.0, cited=0.0, refused=0.0),
            outcome(3, "fact", all_evidence=1.0, answer=0.0, cited=1.0, refused=0.0),
            outcome(4, "fact", all_evidence=1.0, answer=1.0, cited=0.0, refused=0.0),
            outcome(5, "fact", all_evidence=0.0, answer=0.0, cited=0.0, refused=1.0),
            Outcome(unanswerable, None, "", {"seconds": 0.5, "rightly refused": 0.0}),
            replace(outcome(7, "fact"), error="The model is gone."),
        ),
        (),
        {"mode": "ask", "papers": "3"},
    )
    out = io.StringIO()
    show_evaluation(asked, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    listed = lines[lines.index("Ended in an error: 1") :]
    assert [line for line in listed if line] == [
        "Ended in an error: 1",
        "  q7  ?  (a.pdf, p.1)",
        "Refused, though the papers answer it: 1",
        "  q5  ?  (a.pdf, p.1)",
        "Page with the answer not found: 1",
        "  q2  ?  (a.pdf, p.1)",
        "Answer lacks what it must have: 1",
        "  q3  ?  (a.pdf, p.1)",
        "Right page found, but not cited: 1",
        "  q4  ?  (a.pdf, p.1)",
        "Answered, though the papers do not: 1",
        "  q6  Who won?",
    ]
