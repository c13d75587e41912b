"""Entries of reference lists in the forms that papers print them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.metadata import reference_starts


def at(left, *texts):
    return [(text, left) for text in texts]


def test_numbers_in_brackets_decide_whatever_the_indent():
    lines = at(
        50.0, "[1] A. Name. A title", "of two lines, 2001.", "[2] B. Name.", "[3] C. Name. A title", "[1] quoted"
    )
    assert reference_starts(lines) == (0, 2, 3)


def test_numbers_before_a_dot_count_up():
    lines = at(
        50.0, "1.", "World Body. A title, volume", "12. Springer, 2003.", "2. Name A. Title.", "3. Name B. Title."
    )
    assert reference_starts(lines) == (0, 3, 4)


def test_a_number_that_could_not_be_read_costs_its_entry_alone():
    lines = at(50.0, "[1] A.", "[] B.", "[3] C.", "[4] D.", "[40] no entry", "[5] E.")
    assert reference_starts(lines) == (0, 2, 3, 5)


def test_labels_decide():
    lines = at(
        50.0, "[Knu86] D. Knuth. A title", "that goes on.", "[ABC+99a] Many of them.", "[Name et al., 2003] One."
    )
    assert reference_starts(lines) == (0, 2, 3)


def test_a_hanging_indent_decides_in_each_column():
    first = [
        ("Name, A. A title that is", 50.0),
        ("long. 2001.", 60.0),
        ("Name, B. A title", 50.2),
        ("of two. 2002.", 60.0),
    ]
    second = [("lines of the last one.", 310.0), ("Other, C. Title", 300.0), ("Two, D. Title", 300.0), ("more.", 310.0)]
    assert reference_starts([*first, *second]) == (0, 2, 5, 6)


def test_without_an_indent_a_name_after_an_end_begins_an_entry():
    lines = at(
        50.0,
        "M. Name, A. Other, and B. Third. A title with",
        "Words of it. In Some Conference, 2016.",
        "A. Second. A title of one line. 2019.",
        "Übername, C. Another. URL http://example.org/",
        "and more of it",
    )
    assert reference_starts(lines) == (0, 2, 3)


def test_nothing_holds_nothing():
    assert reference_starts([]) == ()


@given(st.lists(st.tuples(st.text(max_size=20) | st.just("[1] A"), st.floats(-1e6, 1e6)), max_size=30))
def test_starts_are_places_of_lines_in_order(lines):
    starts = reference_starts(lines)
    assert list(starts) == sorted(set(starts))
    assert all(0 <= start < len(lines) for start in starts)


@pytest.mark.parametrize("count", [2, 40])
def test_each_of_many_numbered_entries_is_found(count):
    lines = [line for number in range(1, count + 1) for line in at(50.0, f"[{number}] Name.", "Title", "Place, 2001.")]
    assert reference_starts(lines) == tuple(range(0, 3 * count, 3))
