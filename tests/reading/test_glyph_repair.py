"""Glyphs without a Unicode value: what their font calls them, constants."""

import struct

import pytest

from ragscience.reading.glyph_repair import text_of
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.text_cleaning import clean_span
from tests.pdf_factory import make_mapped_pdf, make_raw_pdf
from tests.shared_data import needs_shared_data, shared_paper

PROSE = (
    "Question: Aside from the Apple Remote, what other device can control the program",
    "that the remote was designed to interact with? The answer stands in the second paragraph.",
)


def bare_truetype(glyphs=200):
    """The bytes of a TrueType font with so many empty glyphs, which have no names and no characters."""
    tables = {
        b"glyf": b"\0" * 4,
        b"head": struct.pack(
            ">IIIIHHQQhhhhHHhhh", 1 << 16, 0, 0, 0x5F0F3CF5, 0, 1000, 0, 0, 0, 0, 500, 800, 0, 8, 2, 0, 0
        ),
        b"hhea": struct.pack(">IhhhHhhhhhhhhhhhH", 1 << 16, 800, -200, 0, 500, *[0] * 11, glyphs),
        b"hmtx": struct.pack(">Hh", 500, 0) * glyphs,
        b"loca": b"\0\0" * (glyphs + 1),
        b"maxp": struct.pack(">IH", 1 << 16, glyphs) + b"\0" * 26,
        b"post": struct.pack(">IIhhI", 3 << 16, 0, 0, 0, 0) + b"\0" * 16,
    }
    head, body, start = struct.pack(">IHHHH", 1 << 16, len(tables), 64, 2, 48), b"", 12 + 16 * len(tables)
    for name, data in tables.items():
        head += struct.pack(">4sIII", name, 0, start + len(body), len(data))
        body += data + b"\0" * (-len(data) % 4)
    return head + body


def make_coded_pdf(path, lines, shift, note=""):
    """One page in a font that gives each character's code less `shift` and no Unicode value; `note` is in Helvetica."""
    shown = b"".join(
        b"1 0 0 1 50 %d Tm <%b> Tj " % (780 - 14 * row, "".join(f"{ord(c) - shift:04x}" for c in line).encode())
        for row, line in enumerate(lines)
    )
    font = bare_truetype()
    content = b"BT /F 10 Tf %b /G 10 Tf 1 0 0 1 50 400 Tm (%b) Tj ET" % (shown, note.encode())
    return make_raw_pdf(
        path,
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
            b" /Resources << /Font << /F 5 0 R /G 8 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
            b"<< /Type /Font /Subtype /Type0 /BaseFont /ABCDEF+Figure /Encoding /Identity-H"
            b" /DescendantFonts [6 0 R] >>",
            b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /ABCDEF+Figure /DW 500 /FontDescriptor 7 0 R"
            b" /CIDToGIDMap /Identity"
            b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
            b"<< /Type /FontDescriptor /FontName /ABCDEF+Figure /Flags 4 /FontFile2 9 0 R >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(font), font),
        ],
    )


@pytest.mark.parametrize("shift", [29, 31, -5])
def test_codes_that_are_shifted_by_a_constant_are_read(tmp_path, shift):
    document = read_pdf(make_coded_pdf(tmp_path / "a.pdf", PROSE, shift, "Figure 1 shows it."))
    assert document.text == " ".join(PROSE) + "\n\nFigure 1 shows it."


def test_digits_of_bitmap_fonts_are_put_back(tmp_path):
    text = r"In the year \001\0110\007 we read \0020 papers, or \003\004\005 pages: \0010 a day and \006\010 a week."
    assert read_pdf(make_mapped_pdf(tmp_path / "a.pdf", text, {})).text == (
        "In the year 1907 we read 20 papers, or 345 pages: 10 a day and 68 a week."
    )


def test_marks_of_zapf_dingbats_are_told_by_their_names(tmp_path):
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /D 5 0 R /G 6 0 R >> >> >>",
        b"<< /Length 60 >>\nstream\nBT /G 10 Tf 50 780 Td (it is ) Tj /D 10 Tf (\\001 \\002) Tj ET       \nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats"
        b" /Encoding << /Type /Encoding /Differences [1 /a19 /a23] >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    assert read_pdf(make_raw_pdf(tmp_path / "a.pdf", objects)).text.split() == ["it", "is", "✓", "✗"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("summationdisplay", "∑"),
        ("parenleftBigg", "("),
        ("summationtext.1", "∑"),
        ("hatwider", "ˆ"),
        ("ceilingleftbig", "⌈"),
        ("T_h", "Th"),
        ("t_t.liga", "tt"),
        ("f_f_i", "ffi"),
        ("fi", "fi"),
        ("uni03B1", "α"),
        ("u1D49E", "𝒞"),
        ("Sigma1", "Σ"),
        ("a.sc", "a"),
        ("bracketlefttp", "⎡"),
        ("uniD800", ""),
        ("g152", ""),
        ("C0", ""),
        ("12", ""),
        (".notdef", ""),
        ("", ""),
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
