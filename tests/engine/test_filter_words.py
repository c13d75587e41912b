import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import UsageError
from ragscience.core.records import Filters
from ragscience.engine.requests import KINDS, described, filters_of, refiltered, year_range
from ragscience.library.filter_selection import is_in_section


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


NAMES = st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip), max_size=3)
YEARS = st.tuples(st.integers(1000, 9999), st.integers(1000, 9999)).map(lambda pair: (min(pair), max(pair)))


@given(NAMES, NAMES, st.lists(st.sampled_from(KINDS), max_size=3), st.none() | YEARS, NAMES)
def test_what_filters_are_called_makes_them_again(papers, sections, kinds, years, authors):
    span = None if years is None else "-".join(map(str, years))
    filters = filters_of(papers=papers, sections=sections, kinds=kinds, years=span, authors=authors)
    assert refiltered(Filters(), described(filters)) == filters


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


@pytest.mark.parametrize(
    ("part", "section", "is_in"),
    [
        ("3", "3 method › 3.1 data", True),
        ("3", "5 search › 5.3 joining", False),
        ("3", "section 3", True),
        ("3", "35 years", False),
        ("5.3", "5 search › 5.3 joining", True),
        ("5.3.", "5 search › 5.31 joining", False),
        ("joining", "5 search › 5.3 joining", True),
    ],
)
def test_a_number_is_that_of_a_heading(part, section, is_in):
    assert is_in_section(part, section) is is_in
