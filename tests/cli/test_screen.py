from ragscience.cli.screen import Screen, step_lines
from ragscience.core.records import Step
from ragscience.engine.events import Token

SPLIT = Step("decompose_query", 1, "2 queries", "llm", ("bees in fog", "radar"), llm_calls=1, tokens=120, seconds=0.5)
FOUND = Step("retrieve", 1, "7 new passages, 7 in all", "rules", notes=("calculate(2+2): 4",), searches=2, tool_calls=1)
GRADE = Step("reflect", 2, "0.40 (support)", "rules", score=0.4, missing=("wind", "speed"), seconds=0.25)


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


def test_a_step_tells_what_was_asked_told_and_missing():
    assert list(step_lines(SPLIT)) == [
        "Splitting the question: 2 queries [1 model call, 0.5 s]",
        "    ? bees in fog",
        "    ? radar",
    ]
    assert list(step_lines(FOUND)) == [
        "Searching: 7 new passages, 7 in all [2 searches, 1 tool call, 0.0 s]",
        "    - calculate(2+2): 4",
    ]
    assert list(step_lines(GRADE)) == [
        "How well the draft answers the question (pass 2): 0.40 (support) [0.2 s]",
        "    missing: wind; speed",
    ]
