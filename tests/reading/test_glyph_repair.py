"""Glyphs without a Unicode value: what their font calls them, constants."""

import pytest

from ragscience.reading.glyph_repair import text_of
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.text_cleaning import clean_span
from tests.pdf_factory import make_mapped_pdf
from tests.shared_data import needs_shared_data, shared_paper


def test_digits_of_bitmap_fonts_are_put_back(tmp_path):
    text = r"In the year \001\0110\007 we read \0020 papers, or \003\004\005 pages: \0010 a day and \006\010 a week."
    assert read_pdf(make_mapped_pdf(tmp_path / "a.pdf", text, {})).text == (
        "In the year 1907 we read 20 papers, or 345 pages: 10 a day and 68 a week."
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("summationdisplay", "∑"),
        ("hatwider", "ˆ"),
        ("T_h", "Th"),
        ("f_f_i", "ffi"),
        ("uni03B1", "α"),
        ("u1D49E", "𝒞"),
        ("a.sc", "a"),
        ("uniD800", ""),
        ("g152", ""),
        (".notdef", ""),
    ],
)
def test_what_the_name_of_a_glyph_tells(name, text):
    assert clean_span(text_of(name)) == text


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "page", "has", "lacks"),
    [
        ("papers2/react_2210.03629", 2, "Question: Aside from the Apple Remote, what other", "4XHVWLRQ"),
        ("papers2/batchnorm_1502.03167", 1, "∑", "X^N"),
        ("papers/gpt2_2019", 7, "| Charles Darwin | ✓ | 83.4% |", "\ufffd"),
    ],
)
def test_papers_in_such_fonts_are_read(name, page, has, lacks):
    document = shared_paper(f"{name}.pdf")
    text = document.text[document.pages[page - 1].start : document.pages[page - 1].end]
    assert has in text
    assert lacks not in text
