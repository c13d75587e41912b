import pytest

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
