"""What may reach a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.engine.printable import plain

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)
NASTY = st.sampled_from(list("\x00\x07\x08\x1b\x9b\x9d\x7f\r\u202e\u2066\u200b\u200f\u2060\ufeff\ud800\udfff\u2028"))


@given(st.lists(st.one_of(ANY_TEXT, NASTY)).map("".join))
def test_nothing_dangerous_is_left(text):
    for character in plain(text):
        category = unicodedata.category(character)
        assert category not in {"Cc", "Cs", "Zl", "Zp"} or character in "\n\t"
        assert unicodedata.bidirectional(character) not in {
            "RLO",
            "LRO",
            "RLE",
            "LRE",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }
        assert character not in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
    plain(text).encode("utf-8")


@given(ANY_TEXT, ANY_TEXT)
def test_a_stream_can_be_cleaned_piece_by_piece(a, b):
    assert plain(a + b) == plain(a) + plain(b)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x9b31m", "␛31m"),
        ("\x1b]0;title\x07", "␛]0;title"),
        ("one\r\ntwo\ttabs", "one\ntwo\ttabs"),
        ("page one\fpage two", "page one\npage two"),
        ("overwritten\rline", "overwrittenline"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("\ud83d alone", "\ufffd alone"),
        ("שלום العالم", "שלום العالم"),
        ("e\u0301 नमस्ते 😀", "e\u0301 नमस्ते 😀"),
        ("hidden\U000e0041\U000e0042", "hidden"),
    ],
)
def test_examples(raw, shown):
    assert plain(raw) == shown
