import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.reading.text_cleaning import clean_text, sensible_title

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_holds_nothing_dangerous_and_can_be_written(text):
    cleaned = clean_text(text)
    assert all(unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t" for c in cleaned)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "",
        "untitled",
        "Microsoft Word - final_v3.doc",
        "proc.dvi",
        "attending_to_head2_new",
        "doi:10.1016/j.x",
        "arXiv:1706.03762v7",
        "A \x00\x01 title",
        "x" * 301,
    ],
)
def test_what_is_no_title_is_left_out(raw):
    assert sensible_title(raw) == ""
