"""Files of questions with known answers."""

import json

import pytest

from ragscience.core.errors import UsageError
from ragscience.core.records import Turn
from ragscience.evaluation.question_file import BadLine, KnownQuestion, as_listed, read_known_questions

WHOLE = {
    "id": "q1",
    "question": " How hot? ",
    "answerable": True,
    "must_contain": ["1280"],
    "evidence": [{"file": "kilns.pdf", "page": 1, "quote": "1280"}, {"file": "tides.pdf", "page": 2}],
    "alternatives": [{"file": "a.pdf", "page": 3}, {"file": "b.pdf", "page": 4, "for": 1}],
    "type": "number",
    "history": [{"question": "What?", "answer": "Glaze."}],
    "style": "more than we need",
}


def read(tmp_path, *lines, max_chars=100):
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return list(read_known_questions(path, max_chars))


def test_files_are_called_as_the_library_calls_them_by_now(tmp_path):
    (question,) = read(tmp_path, WHOLE)
    listed = {"/p/x/kilns.pdf": "x/kilns.pdf", "/p/tides.pdf": "tides.pdf", "/p/b.pdf": "b.pdf", "/p/ab.pdf": "ab.pdf"}
    (called,) = as_listed([question], listed)
    assert called.evidence == (
        frozenset({("x/kilns.pdf", 1), ("a.pdf", 3)}),
        frozenset({("tides.pdf", 2), ("b.pdf", 4)}),
    )
    with pytest.raises(
        UsageError, match=r"kilns\.pdf, in question q1, is the name of 2 papers: x/kilns\.pdf, y/kilns\.pdf"
    ):
        as_listed([question], listed | {"/p/y/kilns.pdf": "y/kilns.pdf"})


def test_a_question_with_all_that_is_known_of_it(tmp_path):
    assert read(tmp_path, WHOLE) == [
        KnownQuestion(
            "q1",
            "How hot?",
            True,
            ("1280",),
            (frozenset({("kilns.pdf", 1), ("a.pdf", 3)}), frozenset({("tides.pdf", 2), ("b.pdf", 4)})),
            "number",
            (Turn("What?", "Glaze."),),
        )
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xff", "not UTF-8"),
        (b'{"question": ', "not JSON"),
        ({}, "question: Field required"),
        (WHOLE | {"question": "  "}, 'no "question"'),
        (WHOLE | {"question": "x" * 101}, "more than 100 characters"),
        (WHOLE | {"must_contain": []}, 'no "must_contain"'),
        (WHOLE | {"must_contain": "1280"}, "must_contain: "),
        (WHOLE | {"must_contain": ["1280", [3]]}, "must_contain.1"),
        (WHOLE | {"evidence": {"file": "a.pdf"}}, "evidence: "),
        (WHOLE | {"evidence": [{"file": "a.pdf", "page": 0}], "alternatives": []}, "a page is written"),
        (WHOLE | {"alternatives": [{"file": "a.pdf", "page": 1, "for": 2}]}, "for evidence 2, of 2"),
        ({"question": "Why?", "answerable": False, "must_contain": ["x"]}, "says what answers it"),
    ],
)
def test_a_bad_line_is_named_and_the_next_goes_on(tmp_path, line, reason):
    bad, good = read(tmp_path, line, WHOLE)
    assert isinstance(bad, BadLine)
    assert bad.line == 1
    assert reason in bad.reason
    assert good.question_id == "q1"
