import io
import json

from rich.console import Console

from ragscience.cli.screen import Screen
from ragscience.core.records import Step
from ragscience.core.serialization import to_json
from ragscience.engine.answer_output import answer_output
from ragscience.engine.events import StepDone, Token
from tests.output_schemas import check_output
from tests.terminal.answers import answer

SPLIT = Step("decompose_query", 1, "2 queries", "llm", ("bees in fog", "radar"), llm_calls=1, tokens=120, seconds=0.5)
FOUND = Step("retrieve", 1, "7 new passages, 7 in all", "rules", notes=("calculate(2+2): 4",), searches=2, tool_calls=1)
GRADE = Step("reflect", 2, "0.40 (support)", "rules", score=0.4, missing=("wind", "speed"), seconds=0.25)
TRACE = (SPLIT, FOUND, GRADE)


def shown(view, *what):
    out = io.StringIO()
    view(*what, Console(file=out, width=60))
    return out.getvalue()


def test_live_line_goes_to_stderr_and_nothing_in_it_reaches_the_terminal(capsys):
    screen = Screen(quiet=False)
    screen.begin_answer(shows_tokens=False)
    screen(StepDone(Step("decompose_query", 1, "1 query", "rules", ("a\x1b[2J\nb" + "x" * 500,))))
    told = capsys.readouterr()
    assert told.out == ""
    assert "\x1b" not in told.err
    assert len(told.err.splitlines()) == 2
    assert len(told.err) < 300


def test_trace_in_the_json_is_what_its_schema_says():
    made = json.loads(to_json(answer_output(answer(trace=TRACE))))
    check_output(made, "ask")
    assert made["trace"][0]["queries"] == ["bees in fog", "radar"]
    assert made["trace"][2]["score"] == 0.4
    assert answer_output(answer())["trace"] == ()


def test_what_comes_in_one_piece_is_left_to_the_answer_and_a_stream_is_shown_from_its_second_piece(capsys):
    screen = Screen(quiet=False)
    screen.begin_answer(shows_tokens=True)
    screen(Token("“All of it.”"))
    assert (screen.streamed, capsys.readouterr().out) == ("", "")
    screen.begin_answer(shows_tokens=True)
    for piece in ("Bees ", "steer\x1b[2J ", "home."):
        screen(Token(piece))
    assert screen.streamed == "Bees steer\x1b[2J home."
    screen.end_stream()
    assert capsys.readouterr().out == "Bees steer␛[2J home.\n"


def test_a_brief_answer_is_not_streamed(capsys):
    screen = Screen(quiet=False, brief=True)
    screen.begin_answer(shows_tokens=True)
    screen(Token("Bees "))
    screen(Token("steer."))
    assert capsys.readouterr().out == ""
