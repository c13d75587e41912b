from ragscience.cli.step_words import STEPS, cost_line, step_lines
from ragscience.core.records import Step
from tools.json_schemas import schemas

SPLIT = Step("decompose_query", 1, "2 queries", "llm", ("bees in fog", "radar"), llm_calls=1, tokens=120, seconds=0.5)
FOUND = Step("retrieve", 1, "7 new passages, 7 in all", "rules", notes=("calculate(2+2): 4",), searches=2, tool_calls=1)
GRADE = Step("reflect", 2, "0.40 (support)", "rules", score=0.4, missing=("wind", "speed"), seconds=0.25)
TRACE = (SPLIT, FOUND, GRADE)


def test_every_step_of_the_loop_has_words():
    assert set(schemas()["ask"]["$defs"]["Step"]["properties"]["node"]["enum"]) == set(STEPS)


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
        "Does the draft answer the question? (pass 2) unlikely (0.40): not every sentence is supported by its page "
        "[0.2 s]",
        "    missing: wind; speed",
    ]


def test_a_grade_is_a_word_and_its_number():
    likely = Step("reflect", 1, "0.93 (answerability)", "rules", score=0.93)
    assert list(step_lines(likely)) == ["Does the draft answer the question? likely (0.93) [0.0 s]"]
    worse = Step("reflect", 1, "0.55 (the model's grade), not better than before", "llm", score=0.55)
    assert list(step_lines(worse)) == [
        "Does the draft answer the question? perhaps (0.55): the model's grade, not better than before [0.0 s]"
    ]


def test_cost_is_that_of_all_steps():
    assert cost_line(TRACE) == "Together: 2 passes, 2 searches, 1 tool call, 1 model call, 120 tokens, 0.8 s"
