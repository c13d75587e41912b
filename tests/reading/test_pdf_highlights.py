"""Marked pages, read back: which words lie under the highlights, and what can be seen of them."""

import pymupdf
import pytest

from ragscience.reading.pdf_file import Highlight, MarkedPage, mark_pages
from ragscience.reading.pdf_reader import read_pdf
from tests.pdf_factory import make_pdf

PAGES = ["Bees steer by polarised light\nIn fog they fly slower", "A second page", "The glaze matures at 1280 degrees"]


def boxes_of(path, words):
    document = read_pdf(path)
    start = document.text.index(words)
    return tuple(
        line.box
        for page in document.pages
        for line in page.lines
        if line.start < start + len(words) and start < line.end
    )


def highlights(path):
    """(page index, words under each highlight, its text) of each."""
    found = []
    with pymupdf.open(path) as document:
        for page in document:
            for annotation in page.annots(types=[pymupdf.PDF_ANNOT_HIGHLIGHT]):
                vertices = annotation.vertices
                words = []
                for at in range(0, len(vertices), 4):
                    rect = pymupdf.Quad(vertices[at : at + 4]).rect
                    words += [
                        word[4]
                        for word in page.get_text("words")
                        if (pymupdf.Rect(word[:4]) & rect).get_area() > 0.5 * pymupdf.Rect(word[:4]).get_area()
                    ]
                found.append((page.number, " ".join(words), annotation.info["content"]))
    return found


def notes(path):
    with pymupdf.open(path) as document:
        return [[note.info["content"] for note in page.annots(types=[pymupdf.PDF_ANNOT_TEXT])] for page in document]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_highlight_lies_on_its_quote(tmp_path, rotation):
    # Twice, so that looking for the words instead would show.
    source = make_pdf(tmp_path / "plain.pdf", ["", "", f"{PAGES[2]}\n\n{PAGES[2]}"])
    with pymupdf.open(source) as document:
        for page in document:
            page.set_rotation(rotation)
        document.save(tmp_path / "a.pdf")
    source = tmp_path / "a.pdf"
    quote = "The glaze matures at 1280 degrees"
    marks = (Highlight(quote, boxes_of(source, quote)),)
    assert mark_pages(source, tmp_path / "out.pdf", [MarkedPage(3, "a.pdf, p.3", marks)]) == 0
    assert highlights(tmp_path / "out.pdf") == [(0, quote, f"a.pdf, p.3: {quote}")]
    with pymupdf.open(tmp_path / "out.pdf") as out:
        assert out[0].rotation == rotation
        left, top, right, bottom = boxes_of(source, quote)[0]
        picture = out[0].get_pixmap(dpi=72)
        colours = {
            picture.pixel(x, y) for x in range(int(left) + 1, int(right)) for y in range(int(top) + 2, int(bottom) - 2)
        }
        assert any(blue > 200 and red < 160 for red, _, blue in colours), colours
        assert picture.pixel(int(right) + 30 if right < 500 else int(left) - 30, int(bottom)) == (255, 255, 255)


def test_every_page_is_there_once_with_a_note_of_its_quotes(tmp_path):
    source = make_pdf(tmp_path / "a.pdf", PAGES)
    without_boxes = [Highlight(words, ()) for words in ("fly slower", "no such words", "")]
    quote = Highlight("Bees steer by polarised light", boxes_of(source, "Bees steer"))
    first = MarkedPage(1, "a.pdf, p.1", (quote, *without_boxes))
    third = MarkedPage(3, "a.pdf, p.3", (Highlight("1280 degrees", ()),))
    assert mark_pages(source, tmp_path / "out.pdf", [first, third]) == 2
    assert [(page, words) for page, words, _ in highlights(tmp_path / "out.pdf")] == [
        (0, "Bees steer by polarised light"),
        (0, "fly slower"),
        (1, "1280 degrees"),
    ]
    assert notes(tmp_path / "out.pdf") == [
        ["a.pdf, p.1\n\nBees steer by polarised light\n\nfly slower\n\nno such words\n\n"],
        ["a.pdf, p.3\n\n1280 degrees"],
    ]


def test_boxes_with_other_words_in_them_are_not_believed(tmp_path):
    source = make_pdf(tmp_path / "a.pdf", PAGES)
    elsewhere = boxes_of(source, "Bees steer")
    words = ("In fog they fly slower", "Gone since then")
    page = MarkedPage(1, "p.1", tuple(Highlight(quote, elsewhere) for quote in words))
    assert mark_pages(source, tmp_path / "out.pdf", [page]) == 1
    assert [words for _, words, _ in highlights(tmp_path / "out.pdf")] == ["In fog they fly slower"]
