"""Glyphs without a Unicode value: what their font calls them, constants."""

import random
import string

import pymupdf
import pytest

from ragscience.reading.glyph_repair import text_of
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.text_cleaning import clean_span, mean_bits
from tests.pdf_factory import make_mapped_pdf, make_pdf
from tests.reading.drawing import WORDS
from tests.shared_data import needs_shared_data, shared_paper


def test_digits_of_bitmap_fonts_are_put_back(tmp_path):
    text = r"In the year \001\0110\007 we read \0020 papers, or \003\004\005 pages: \0010 a day and \006\010 a week."
    assert read_pdf(make_mapped_pdf(tmp_path / "a.pdf", text, {})).text == (
        "In the year 1907 we read 20 papers, or 345 pages: 10 a day and 68 a week."
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("summationdisplay", "∑"), ("hatwider", "ˆ"), ("T_h", "Th"), ("f_f_i", "ffi"), ("uni03B1", "α"),
        ("u1D49E", "𝒞"), ("a.sc", "a"), ("uniD800", ""), ("g152", ""), (".notdef", ""),
    ],
)  # fmt: skip
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


ENGLISH = " ".join(WORDS)
LANGUAGES = {
    "English": ENGLISH,
    "German": "Die Zuordnung der Seiten zu den Fragen bleibt erhalten, und jede Antwort nennt ihre Quelle genau",
    "French": "Les réponses sont tirées des pages que le lecteur a ouvertes lui-même dans sa bibliothèque",
    "Finnish": "Jokainen vastaus perustuu niihin sivuihin, jotka lukija on itse lisännyt kirjastoonsa tänään",
    "Polish": "Każda odpowiedź opiera się na stronach, które czytelnik sam dodał do swojej biblioteki",
    "Turkish": "Her cevap okuyucunun kendi kütüphanesine eklediği sayfalara dayanır ve kaynağını gösterir",
    "Vietnamese": "Mỗi câu trả lời dựa trên những trang mà người đọc đã thêm vào thư viện của mình",
    "code": "def read_pages(source, index): return [clean_text(page) for page in source if page.number == index]",
}


def permuted(text, seed):
    """The text in letters that stand for each other, as a font with made-up codes gives it."""
    letters = list(string.ascii_lowercase)
    other = random.Random(seed).sample(letters, 26)
    return text.translate(str.maketrans("".join(letters), "".join(other)))


@pytest.mark.parametrize("name", LANGUAGES)
def test_text_in_a_language_has_few_bits_a_pair(name):
    bits, count = mean_bits(LANGUAGES[name])
    assert count > 40
    assert bits < 2.9


def test_a_page_in_letters_for_others_is_left_out_with_a_warning_and_the_good_one_stays(tmp_path):
    lines = [" ".join(WORDS[start : start + 8]) for start in range(0, 32, 8)] * 4
    path = make_pdf(tmp_path / "a.pdf", ["\n".join(lines), "\n".join(permuted(line, 3) for line in lines)])
    document = read_pdf(path)
    assert document.pages[1].start == document.pages[1].end
    assert document.text.startswith("the model reads every passage")
    assert "its letters form no words" in document.pages[1].warning
    assert "1 of 2 pages without readable text" in document.warnings[0]


def test_an_illegible_line_is_left_out_and_its_page_has_a_warning(tmp_path):
    good = make_pdf(tmp_path / "good.pdf", ["\n".join([ENGLISH[:80]] * 4)])
    bad = make_mapped_pdf(tmp_path / "bad.pdf", r"\020\021\022\023\024\025" * 8, {})
    with pymupdf.open(good) as whole, pymupdf.open(bad) as other:
        whole[0].show_pdf_page(pymupdf.Rect(0, 200, 595, 1042), other)
        whole.save(tmp_path / "both.pdf")
    document = read_pdf(tmp_path / "both.pdf")
    assert "\ufffd" not in document.text
    assert document.text.count("the model reads") == 4
    share = document.pages[0].warning.split("%")[0]
    assert 10 <= int(share) <= 30
    assert document.warnings == (f"1 of 1 pages with illegible characters ({share}%), in fonts without Unicode values",)
