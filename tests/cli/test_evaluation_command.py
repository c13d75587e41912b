"""What an evaluation looks like, on a terminal and in a pipe."""

import io
from dataclasses import replace

from rich.console import Console

from ragscience.cli.evaluation_command import show_evaluation, show_paired
from ragscience.evaluation.eval_report import Evaluation, Paired
from ragscience.evaluation.eval_run import Outcome
from ragscience.evaluation.question_file import KnownQuestion


def outcome(number, kind, **values):
    question = KnownQuestion(f"q{number}", "?", True, ("x",), (frozenset({("a.pdf", 1)}),), kind)
    named = {name.replace("_", " "): value for name, value in values.items()}
    return Outcome(question, None, "", {"seconds": 0.5, "tokens": 1200.0, **named})


ASKED = Evaluation(
    "set.jsonl",
    (outcome(1, "number", answer=1.0, all_evidence=0.0), outcome(2, "fact\x1b[31m", answer=0.0, all_evidence=1.0)),
    (),
    {"mode": "ask", "papers": "3"},
)
AGENT = replace(
    ASKED,
    outcomes=(outcome(1, "number", answer=1.0, all_evidence=1.0), outcome(2, "fact\x1b[31m", answer=0.0)),
    conditions={"mode": "agent"},
)


def seen(show, what, *, width=80, terminal=False, encoding="utf-8"):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    show(what, Console(file=stream, width=width, force_terminal=terminal, highlight=False, color_system=None))
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_each_measure_has_its_value_and_its_meaning():
    lines = seen(show_evaluation, ASKED).splitlines()
    assert lines[0] == "set.jsonl: 2 questions"
    assert "mode ask, papers 3" in lines[1]
    (answer,) = (line for line in lines if line.startswith("answer\t"))
    assert answer.split("\t")[1:3] == ["0.500 (0.00–1.00)", "2"]
    assert "all that a right answer must hold" in answer
    (tokens,) = (line for line in lines if line.startswith("tokens"))
    assert "1200.000" in tokens


def test_two_ways_stand_side_by_side_with_their_difference():
    lines = seen(show_paired, Paired(ASKED, AGENT)).splitlines()
    (row,) = (line.split("\t") for line in lines if line.startswith("all evidence"))
    assert row[1:] == ["0.000", "1.000", "+1.000 (+1.00 to +1.00)", "1/0", "1.000", "1"]


def test_the_questions_that_failed_are_listed_with_why_and_their_pages():
    unanswerable = replace(outcome(6, "none").question, answerable=False, evidence=(), question="Who won?")
    asked = replace(
        ASKED,
        outcomes=(
            outcome(1, "fact", all_evidence=1.0, answer=1.0, cited=1.0, refused=0.0),
            outcome(2, "fact", all_evidence=0.0, answer=0.0, cited=0.0, refused=0.0),
            outcome(3, "fact", all_evidence=1.0, answer=0.0, cited=1.0, refused=0.0),
            outcome(4, "fact", all_evidence=1.0, answer=1.0, cited=0.0, refused=0.0),
            outcome(5, "fact", all_evidence=0.0, answer=0.0, cited=0.0, refused=1.0),
            Outcome(unanswerable, None, "", {"seconds": 0.5, "rightly refused": 0.0}),
            replace(outcome(7, "fact"), error="The model is gone."),
        ),
    )
    lines = seen(show_evaluation, asked).splitlines()
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
