import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import UsageError
from ragscience.core.records import Filters
from ragscience.engine.requests import KINDS, described, filters_of, joined, refiltered, year_range


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("2017", (2017, 2017)),
        (" 2015-2020 ", (2015, 2020)),
        ("2015–2020", (2015, 2020)),
        ("2015 - 2020", (2015, 2020)),
        ("2015-", (2015, 9999)),
        ("-2020", (1, 2020)),
    ],
)
def test_years_are_one_or_from_one_to_another(text, years):
    assert year_range(text) == years


@pytest.mark.parametrize("text", ["", "-", "17", "20177", "2020-2015", "twenty", "2015-2016-2017", "2015 2016"])
def test_what_is_no_year_is_refused_with_its_text(text):
    with pytest.raises(UsageError, match=re.escape(repr(text))):
        year_range(text)


def test_nothing_asked_is_no_filter():
    assert filters_of() == Filters()


def test_options_become_filters():
    made = filters_of(
        papers=["bert*"], pages=(1, 3), sections=[" Method "], kinds=["Table"], years="2017", authors=["Vaswani"]
    )
    assert made == Filters(("bert*",), (1, 3), ("table",), ("Method",), (2017, 2017), ("Vaswani",))


def test_an_unknown_kind_is_refused_with_the_list_of_kinds():
    with pytest.raises(UsageError, match=r"no kind 'tabel'\. Did you mean table") as refused:
        filters_of(kinds=["tabel"])
    assert all(kind in refused.value.fix for kind in KINDS)
    with pytest.raises(UsageError, match="no kind 'zzz'") as refused:
        filters_of(kinds=["zzz"])
    assert "Did you mean" not in refused.value.message


@pytest.mark.parametrize("empty", [{"sections": [" "]}, {"authors": [""]}])
def test_a_filter_of_blanks_is_refused(empty):
    with pytest.raises(UsageError, match="is empty"):
        filters_of(**empty)


def test_a_questions_own_filters_come_beside_those_of_the_run():
    run = Filters(papers=("a",), pages=(1, 2), kinds=("table",), years=(2000, 2001))
    own = Filters(papers=("b",), sections=("method",), years=(1990, 1990), authors=("knuth",))
    assert joined(run, own) == Filters(("a", "b"), (1, 2), ("table",), ("method",), (1990, 1990), ("knuth",))
    assert joined(run, Filters()) == run


NAMES = st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip), max_size=3)
YEARS = st.tuples(st.integers(1000, 9999), st.integers(1000, 9999)).map(lambda pair: (min(pair), max(pair)))


@given(NAMES, NAMES, st.lists(st.sampled_from(KINDS), max_size=3), st.none() | YEARS, NAMES)
def test_what_filters_are_called_makes_them_again(papers, sections, kinds, years, authors):
    span = None if years is None else "-".join(map(str, years))
    filters = filters_of(papers=papers, sections=sections, kinds=kinds, years=span, authors=authors)
    assert refiltered(Filters(), described(filters)) == filters


def test_open_years_and_pages_are_called_so():
    assert described(Filters(years=(2015, 9999))) == "year=2015-"
    assert described(Filters(years=(1, 2015))) == "year=-2015"
    assert described(Filters(pages=(3, 4))) == "pages=3-4"


def test_a_filter_in_the_chat_replaces_its_like_and_leaves_the_others():
    first = refiltered(Filters(pages=(1, 2)), "kind=table author='van den Oord' year=2016")
    assert first == Filters(pages=(1, 2), kinds=("table",), authors=("van den Oord",), years=(2016, 2016))
    second = refiltered(first, "kind=text kind=abstract year=")
    assert second == Filters(pages=(1, 2), kinds=("text", "abstract"), authors=("van den Oord",))
    assert refiltered(second, "") == second
    assert refiltered(second, "off") == Filters()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("table", "'table' is no filter"),
        ("colour=red", "'colour=red' is no filter"),
        ("author='van", "not closed"),
        ("year=1 year=2", "two years"),
        ("year=soon", "'soon' is no year"),
        ("kind=rhyme", "no kind 'rhyme'"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(typed, said):
    with pytest.raises(UsageError, match=said):
        refiltered(Filters(), typed)
