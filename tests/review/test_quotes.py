import pytest

from ragscience.core.errors import UsageError
from ragscience.review.quotes import QuoteFinder
from tests.ask.paper_library import make_library

PAPERS = {
    "bees.pdf": (
        "Bees in fog",
        [
            (1, "text", "Honeybees steer by polarised light, which an efficient compass-\nlike organ reads."),
            (1, "text", "The average bee"),
            (1, "footnote", "1 Measured at noon."),
            (2, "text", "flew 412 metres over open water before it turned.\nThe radar lost 7 bees in fog."),
            (2, "table", "Fog 3.7 12\nSun 6.1 14"),
        ],
    ),
    "tides.pdf": ("Tides", [(1, "text", "The machine sums ten harmonic constituents of the tide at Dover.")]),
}  # fmt: skip


@pytest.fixture(scope="module")
def finder(tmp_path_factory):
    with make_library(tmp_path_factory.mktemp("home"), PAPERS) as library:
        yield QuoteFinder(library)


@pytest.mark.parametrize(
    ("quote", "pages", "differences"),
    [
        ("Honeybees steer by polarised light", [1], []),
        ("“Honeybees steer by polarised light”", [1], []),
        ("an efﬁcient organ", [], []),  # words between are missing, and it is too short for an altered one
        ("which an efﬁcient compasslike organ reads", [1], ["ligatures"]),
        ("an efficient compass- like organ", [1], ["hyphenation"]),
        ("honeybees Steer by polarised light", [1], ["case"]),
        ("Honeybees steer, by polarised light", [1], ["punctuation"]),
        ("Honeybees steer … organ reads.", [1], []),
        ("The average bee flew 412 metres", [1, 2], []),
        ("Fog 3.7 12 Sun 6.1", [2], []),
        ("flew 421 metres over open water before it turned", [2], ["number"]),
        ("flew 412 metres over calm water before it turned", [2], ["word"]),
        ("flew 412 metres over open vvater before it turned", [2], ["spelling"]),
        ("flew metres over open water before it turned", [2], ["missing"]),
        ("flew about 412 metres over open water before it turned", [2], ["added"]),
        ("flew 412 metres over water open before it turned", [2], ["order"]),
        ("The committee met on Tuesday and discussed the budget", [], []),
        ("open water and the budget of the committee", [], []),
    ],
)
def test_a_quote_is_found_with_what_differs(finder, quote, pages, differences):
    places = finder.find(quote)
    assert [one.page for place in places[:1] for one in place.citations] == pages
    assert [one.kind for place in places[:1] for one in place.differences] == differences


def test_the_words_that_differ_are_given(finder):
    (place,) = finder.find("The radar lost nine bees in fog.")
    (difference,) = place.differences
    assert (difference.quoted, difference.printed) == ("nine", "7")
    assert place.citations[0].quote == "The radar lost 7 bees in fog"
    assert 0.7 < place.likeness < 1


def test_what_is_printed_between_is_no_part_of_a_quote_across_pages(finder):
    first, second = finder.find("The average bee flew 412 metres")[0].citations
    assert (first.quote, second.quote) == ("The average bee", "flew 412 metres")


def test_only_papers_that_are_named_are_looked_at(finder):
    bees, tides = finder._library.papers()
    assert finder.find("Honeybees steer by polarised light", [bees])
    assert not finder.find("Honeybees steer by polarised light", [tides])


@pytest.mark.parametrize("quote", ["", " … ", "“”", "word " * 1001])
def test_what_is_no_quote_is_refused(finder, quote):
    with pytest.raises(UsageError, match="The quote has"):
        finder.find(quote)
