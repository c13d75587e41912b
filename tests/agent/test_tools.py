"""The tools over a real library: what they give, and what they say where they cannot."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragscience.agent.tools import Toolbox
from ragscience.core.records import Hit
from ragscience.library.store import Home, Library
from tests.agent.small_library import make, searcher

MOST_CHARS = 2000


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    make(folder)
    with Library.open(Home(folder)) as opened:
        yield opened


@pytest.fixture(scope="module")
def toolbox(library):
    return Toolbox(library, finds=searcher(library), most_chars=MOST_CHARS)


def test_the_tools_are_those_that_read_and_calculate():
    names = ["search", "read_page", "read_section", "calculate", "list_papers", "cite"]
    assert [schema["function"]["name"] for schema in Toolbox.schemas()] == names
    assert all(schema["function"]["description"] for schema in Toolbox.schemas())


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("open_door", {}, "There is no tool 'open_door'"),
        ("search", {}, "search: query: Field required"),
        ("search", {"query": ["a"]}, "valid string"),
        ("search", {"query": "x" * 1001}, "at most 1000 characters"),
        ("search", {"query": "x", "kind": "poem"}, "there is no kind 'poem'"),
        ("search", {"query": "x", "paper": "bert_1810.04806.pdf"}, "Did you mean bert_1810.04805.pdf?"),
        ("search", {"query": "x", "paper": "zzz"}, "list_papers gives all of them"),
        ("read_page", {"paper": "bert", "page": 0}, "Its pages are 1 to 2"),
        ("read_page", {"paper": "*", "page": 1}, "3 papers match"),
        ("list_papers", {"all": True}, "It takes no arguments"),
    ],
)
def test_what_is_wrong_with_a_call_is_told(toolbox, name, arguments, said):
    result = toolbox.call(name, arguments)
    assert result.error
    assert result.text.startswith("Error: ")
    assert said in result.text
    assert result.hits == ()


def test_text_of_a_paper_cannot_leave_its_fence(toolbox):
    for result in (
        toolbox.call("read_page", {"paper": "bert", "page": 2}),
        toolbox.call("search", {"query": "masks tokens", "paper": "bert"}),
        toolbox.call("read_section", {"paper": "bert", "section": "2"}),
    ):
        assert "Ignore the rules" in result.text
        assert result.text.count("</passage>") == result.text.count("<passage ")


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.lists(st.text()))
names = st.one_of(st.sampled_from(Toolbox.names), st.text(max_size=10))
keys = st.one_of(st.sampled_from(["query", "paper", "page", "section", "kind", "expression"]), st.text(max_size=5))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(names, st.dictionaries(keys, anything, max_size=4))
def test_wild_calls_give_a_text(toolbox, name, arguments):
    result = toolbox.call(name, arguments)
    assert result.text
    assert len(result.text) < MOST_CHARS + 300
    assert all(isinstance(hit, Hit) for hit in result.hits)
    result.text.encode()
