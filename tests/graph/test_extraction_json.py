import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import RagScienceError
from ragscience.graph.extraction_json import decoded, encoded
from ragscience.graph.graph_records import Extracted, Mention, Triple

from .making import found

keys = st.sampled_from(["", "METHOD:x", "METRIC:y"])
with_keys = st.builds(
    Extracted,
    st.just(7),
    st.lists(st.builds(Mention, st.text(), st.text(), st.integers(), st.floats(0, 1), keys)).map(tuple),
    st.lists(st.builds(Triple, st.text(), st.text(), st.text(), st.text(), st.text(), st.floats(0, 1), keys, keys)).map(
        tuple
    ),
)


@given(found(7) | with_keys)
def test_what_was_found_comes_back(one):
    text = encoded(one)
    assert decoded(7, text) == one
    text.encode()


def test_half_characters_are_replaced():
    text = encoded(Extracted(1, (Mention("a\ud800b", "METHOD", 1, 1.0),), ()))
    assert decoded(1, text).mentions[0].name == "a\ufffdb"
    text.encode()


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", "[]", "7", "{}", '{"mentions": []}', '{"mentions": [[1]], "triples": [], "aliases": []}'],
)
def test_anything_else_is_one_clear_error(text):
    with pytest.raises(RagScienceError, match="passage 7 cannot be read") as caught:
        decoded(7, text)
    assert "graph --again" in caught.value.fix


def test_no_key_takes_no_place():
    one = Extracted(1, (Mention("a", "METHOD", 1, 1.0),), ())
    assert json.loads(encoded(one))["mentions"] == [["a", "METHOD", 1, 1.0]]
