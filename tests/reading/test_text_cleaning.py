import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.reading.text_cleaning import (
    clean_span,
    clean_text,
    sensible_title,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_holds_nothing_dangerous_and_can_be_written(text):
    cleaned = clean_text(text)
    assert all(unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t" for c in cleaned)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


def test_a_control_character_is_marked_where_it_stood():
    assert clean_text("0.\x0400\tone\x1b[31m\x00\x85\ud800") == "0.\ufffd00\tone\ufffd[31m\ufffd\ufffd\ufffd"


@pytest.mark.parametrize(
    "title",
    [
        "In Search of an Understandable Consensus Algorithm",
        "Overview of the Technology\r\nAcceptance Model\r\n",
        "BERT: Pre-training of Deep Bidirectional Transformers",
        "Über die Größe",
        "注意力就是你所需要的",
    ],
)
def test_a_title_is_kept_on_one_line(title):
    assert sensible_title(title) == " ".join(title.split())


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "",
        "   ",
        "untitled",
        "Untitled-1",
        "Microsoft Word - final_v3.doc",
        "PowerPoint Presentation",
        "proc.dvi",
        "paper 2 (final).PDF",
        "attending_to_head2_new",
        "doi:",
        "doi:10.1016/j.x",
        "1706.03762",
        "arXiv:1706.03762v7",
        "A \x00\x01 title",
        "x" * 301,
    ],
)
def test_what_is_no_title_is_left_out(raw):
    assert sensible_title(raw) == ""


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("eﬃcient ﬂow", "efficient flow"),
        ("a\u00a0b\u2009c\td", "a b c d"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("\uf0b7 item", "• item"),
        ("de\x0cnition of o\x0b", "definition of off"),
        ("\x0c\x02", "\ufffd\ufffd"),
        ("½ ² ﬁ", "½ ² fi"),
        ("\ud800", "\ufffd"),
    ],
)
def test_a_span_is_cleaned_without_changing_what_it_says(raw, clean):
    assert clean_span(raw) == clean
