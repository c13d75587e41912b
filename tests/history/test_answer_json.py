import dataclasses
import json
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.history.answer_json import decode, encode, storable
from ragscience.records import Answer, Citation, Found, Hit, Sentence, StoredChunk

from .making import answer

# The low surrogates are what Python makes of bytes in a file name that are not UTF-8.
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF))
NUMBER = st.floats(allow_nan=False, allow_infinity=False)


def records(kind):
    """A record of that kind with every field filled, those with a default too."""
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: st.from_type(hints[field.name]) for field in dataclasses.fields(kind)})


st.register_type_strategy(str, TEXT)
st.register_type_strategy(float, NUMBER)
for record in (StoredChunk, Hit, Found, Citation, Sentence):
    st.register_type_strategy(record, records)


@given(records(Answer))
def test_any_answer_comes_back_as_it_was(made):
    line = encode(made)
    line.encode("utf-8")
    assert decode(line) == made


def test_types_come_back_too():
    made = decode(encode(answer()))
    assert made == answer(answer_id=made.answer_id)
    assert isinstance(made.citations[0].boxes[0], tuple)
    assert made.found.hits[0].chunk.page_breaks == ((0, 2),)


def test_fields_of_other_versions_do_not_get_in_the_way():
    value = json.loads(encode(answer()))
    value["mood"] = "sunny"
    value["found"]["hits"][0]["chunk"]["colour"] = "blue"
    del value["tokens"], value["citations"][0]["boxes"]
    made = decode(json.dumps(value))
    assert (made.tokens, made.citations[0].boxes) == ({}, ())
    assert made.text == answer().text


def changed(**fields):
    return json.dumps(json.loads(encode(answer())) | fields)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        "{}",
        "[" * 200_000,
        changed(text=None),
        changed(refused="no"),
        changed(citations=[{"file": "a"}]),
        changed(citations=[7]),
        changed(found=[]),
        changed(timings_ms=[["a", 1]]),
    ],
)
def test_what_is_no_answer_is_a_value_error(text):
    with pytest.raises(ValueError):
        decode(text)


def test_storable_text_is_text():
    assert storable("a\udc80b") == "a?b"
