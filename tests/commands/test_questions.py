import json

import pytest

from ragscience.core.errors import UsageError
from ragscience.core.records import Filters, Turn
from ragscience.engine.question_lines import BadQuestion, Question, read_questions
from ragscience.engine.requests import check_question


def read(tmp_path, content):
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    return list(read_questions(str(path)))


def test_plain_lines_and_objects_in_order(tmp_path):
    full = {
        "question": " What is it? ",
        "id": 7,
        "paper": "bert*",
        "history": [{"question": "Who?", "answer": "They.", "more": 1}],
    }
    items = read(tmp_path, b"First?\n\n" + json.dumps(full).encode() + b"\n" + b'{"question": "Last?"}')
    assert items == [
        Question("First?"),
        Question("What is it?", "7", (Turn("Who?", "They."),), Filters(papers=("bert*",))),
        Question("Last?"),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"\xff\xfe\x00\x01", "not UTF-8"),
        (b'{"question": ', "not valid JSON"),
        (b"{" * 100_000, "not valid JSON"),
        (b'{"query": "?"}', 'no "question"'),
        (b'{"question": 3}', 'no "question"'),
        (b'{"question": "?", "history": {}}', "not a list"),
        (b'{"question": "?", "history": [{"question": "a"}]}', "no answer"),
        (b'{"question": "?", "paper": 3}', "neither a name"),
        (b'{"question": "  "}', "empty"),
        (b'{"question": "nul \\u0000"}', "not text"),
        (b'{"question": "half \\ud800"}', "not text"),
        (b"x" * 8001, "8,001 characters; 8,000 are allowed"),
    ],
)
def test_a_bad_line_takes_its_place_and_the_next_goes_on(tmp_path, line, said):
    bad, good = read(tmp_path, line + b"\nGood?\n")
    assert isinstance(bad, BadQuestion)
    assert said in str(bad.error)
    assert good == Question("Good?")


def test_a_bad_line_keeps_its_id(tmp_path):
    (bad,) = read(tmp_path, b'{"id": "q1", "question": ""}')
    assert bad.question_id == "q1"


def test_a_byte_order_mark_is_no_text(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbfFirst?") == [Question("First?")]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.jsonl cannot be read"):
        list(read_questions(str(tmp_path / "nowhere.jsonl")))


@pytest.mark.parametrize("text", ["", " \n", "x" * 8001, "a\x00b", "\udcff"])
def test_what_is_no_question(text):
    with pytest.raises(UsageError):
        check_question(text)


def test_a_question_may_carry_its_own_filters(tmp_path):
    line = b'{"question": "?", "section": "Method", "kind": ["table", "caption"], "author": "Knuth", "year": 1984}'
    (question,) = read(tmp_path, line)
    expected = Filters(sections=("Method",), kinds=("table", "caption"), authors=("Knuth",), years=(1984, 1984))
    assert question.filters == expected


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (b'"kind": "tabel"', "Line 1: There is no kind 'tabel'"),
        (b'"year": "soon"', "Line 1: 'soon' is no year"),
        (b'"year": true', 'Line 1: "year" is neither'),
        (b'"section": 3', 'Line 1: "section" is neither'),
    ],
)
def test_a_filter_that_makes_no_sense_is_a_bad_line(tmp_path, filters, said):
    (bad,) = read(tmp_path, b'{"id": 1, "question": "?", ' + filters + b"}")
    assert isinstance(bad, BadQuestion)
    assert bad.question_id == "1"
    assert said in str(bad.error)
