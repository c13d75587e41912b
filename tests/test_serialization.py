import dataclasses
import json
from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragscience.core.records import Answer, Citation, Found, Hit, Sentence, StoredChunk
from ragscience.core.serialization import from_json, to_json
from tests.library.answers_made import answer

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


@settings(max_examples=30)  # each has hundreds of fields
@given(records(Answer))
def test_any_answer_comes_back_as_it_was(made):
    line = to_json(made)
    line.encode("utf-8")
    assert from_json(Answer, line) == made


def test_fields_of_other_versions_do_not_get_in_the_way():
    value = json.loads(to_json(answer()))
    value["mood"] = "sunny"
    value["found"]["hits"][0]["chunk"]["colour"] = "blue"
    del value["tokens"], value["citations"][0]["boxes"]
    made = from_json(Answer, json.dumps(value))
    assert (made.tokens, made.citations[0].boxes) == ({}, ())
    assert made.text == answer().text


def changed(**fields):
    return json.dumps(json.loads(to_json(answer())) | fields)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "3", "{}", "[" * 200_000, changed(text=None), changed(refused="perhaps"),
        changed(citations=[{"file": "a"}]), changed(citations=[7]), changed(found=[]), changed(timings_ms=[["a", 1]]),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_a_value_error(text):
    with pytest.raises(ValueError):
        from_json(Answer, text)


def test_control_characters_and_lone_surrogates_are_escaped():
    assert to_json("a\x1b\udc80é") == '"a\\u001b\\udc80é"'
    assert to_json("é\udc80", ascii_only=True) == '"\\u00e9\\udc80"'
