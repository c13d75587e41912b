import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.reading.text_cleaning import (
    clean_span,
    clean_text,
    illegible_share,
    mend_accents,
    printable_name,
    sensible_title,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_holds_nothing_dangerous_and_can_be_written(text):
    cleaned = clean_text(text)
    assert all(unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t" for c in cleaned)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_what_can_be_read_stays_as_it_is(text):
    assert clean_text(text) == text


def test_a_control_character_is_marked_where_it_stood():
    assert clean_text("0.\x0400\tone\x1b[31m\x00\x85\ud800") == "0.\ufffd00\tone\ufffd[31m\ufffd\ufffd\ufffd"


def test_line_ends_become_newlines():
    assert clean_text("a\r\nb\rc\n\r") == "a\nb\nc\n\n"


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 0), (" \n", 0), ("abc", 0), ("a\ufffd", 0.5), ("\ufffd \ue000\n\U000f0000 x", 0.75), ("\ufffd", 1)],
)
def test_illegible_share_counts_visible_characters_only(text, share):
    assert illegible_share(text) == share


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


def test_a_file_name_of_any_bytes_can_be_shown():
    assert printable_name(Path("/a/b\x1b[2J\n\udcff.pdf")) == "b\ufffd[2J\ufffd\ufffd.pdf"
    assert printable_name(Path("/")) == "/"


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


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("na¨ıve", "naïve"),
        ("Mu¨ller and J¨urgen", "Müller and Jürgen"),
        ("Universit´e", "Université"),
        ("¨q ˆ2", "¨q ˆ2"),
        ("Am\u0065\u0301lie", "Amélie"),
    ],
)
def test_loose_accents_are_put_on_their_letters(raw, clean):
    assert mend_accents(raw) == clean
