import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.models.structured_output import ask_structured, json_values

SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}
MESSAGES = [("user", "Grade this.")]


def score_of(value):
    if not isinstance(value, dict) or not isinstance(value.get("score"), int | float):
        raise ValueError('there is no number called "score"')
    return value["score"]


@pytest.fixture
def asked(ollama_llm):
    def asked(server):
        llm = ollama_llm(server.url)
        return ask_structured(llm, MESSAGES, schema=SCHEMA, read=score_of, max_tokens=200, seconds=30.0)

    return asked


@pytest.mark.parametrize(
    "said",
    [
        'Sure! Here it is:\n```json\n{"score": 1}\n```\nHope that helps.',
        'The set {a, b} is graded {"score": 1}.',
        '<think>Perhaps {"score": 0}?</think>{"score": 1}',
        'well {"score": 0}? no.</think>{"score": 1}',
        '<think>I say {"score": 1}',
        '[0] {"note": "no"} {"score": 1}',
        '{"score": NaN} {"score": 1}',
        '{"text": "two\nlines", "score": 1}',
        '{"outer": {"score": 1, {"score": 1}',
    ],
)
def test_json_is_found_wherever_it_is(server, asked, said):
    server.script(pieces=[said])
    assert (asked(server).value, len(server.of("/api/chat"))) == (1, 1)


def test_wrong_shape_is_told_and_repaired_once(server, asked):
    server.script('{"grade": "good"}', prompt_eval_count=10, eval_count=3)
    server.script('{"score": 0.25}', prompt_eval_count=20, eval_count=4)
    done = asked(server)
    assert (done.value, done.calls, done.tokens) == (0.25, 2, {"prompt": 30, "answer": 7})
    again = server.of("/api/chat")[1]["messages"]
    assert [message["role"] for message in again] == ["user", "assistant", "user"]
    assert 'there is no number called "score"' in again[2]["content"]
    assert json.dumps(SCHEMA) in again[2]["content"]


@pytest.mark.parametrize("said", ["no idea", "", "  ", "{" * 500, "[" * 5000, '{"score": "high"}', '{"score": NaN}'])
def test_what_stays_wrong_is_no_value_and_no_third_call(server, asked, said):
    server.script(pieces=[said])
    server.script(pieces=[said])
    done = asked(server)
    assert (done.value, done.calls, done.problem) == (None, 2, None)
    assert done.failure.startswith("llama3.1:8b gave no usable JSON: ")
    assert len(server.of("/api/chat")) == 2


@given(st.text(alphabet='{}[]",:0a<think/> \\'))
def test_no_text_breaks_the_search(text):
    assert all(isinstance(value, dict | list) for value in json_values(text))
