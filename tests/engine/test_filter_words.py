import re

import pytest

from ragscience.core.errors import UsageError
from ragscience.engine.requests import described, filters_of, year_range
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


def test_what_is_no_kind_is_refused_with_the_one_that_is_meant():
    with pytest.raises(UsageError, match=r"There is no kind 'tables'\. Did you mean table\?"):
        filters_of(kinds=["tables"])
    assert described(filters_of(papers=["a b"], kinds=["table"], years="2015-")) == "paper='a b' kind=table year=2015-"


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
