import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.engine.places import find_quote

PAGE = "Bees steer by polar-\nised light. In  fog\nthey fly slower. They rest."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Bees steer", ["Bees steer"]),
        ("by polarised light.", ["by polar-\nised light."]),
        ("by polar-\nised light.", ["by polar-\nised light."]),
        ("In fog they fly slower.", ["In  fog\nthey fly slower."]),
        ("Bees steer […] They rest.", ["Bees steer", "They rest."]),
        ("Bees steer … fly slower", ["Bees steer", "fly slower"]),
        ("They rest. … Bees steer", []),
        ("Bees swim", []),
        ("", []),
        (" … ", []),
        ("(.*)", []),
    ],
)
def test_a_quote_is_found_in_its_page(quote, found):
    assert [PAGE[start:end] for start, end in find_quote(quote, PAGE)] == found


@given(st.text(), st.data())
def test_what_was_cut_out_is_found_again(text, data):
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    if quote.strip() and "…" not in quote and "[...]" not in quote:
        (first, end), *_ = find_quote(quote, text)
        assert text[first:end].split() == quote.split() or "-\n" in text[first:end]
