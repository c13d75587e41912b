"""The benchmark of marks counts what it says."""

import pymupdf
import pytest

from benchmarks.marks import Outcome, checked
from benchmarks.pdfium_words import PageWords, Word, letters_of, page_words
from ragscience.core.records import Citation
from ragscience.reading.pdf_reader import read_pdf
from tests.pdf_factory import make_pdf

LINES = [
    "Bees steer by polarised light",
    "and in fog they fly slower",
    "than in the sun of June",
    "or in the rain of April",
]


def page():
    """Four lines, each word 20 points wide, each line 10 points high."""
    words = [
        Word(word, (20.0 * at, 10.0 * line, 20.0 * at + 18, 10.0 * line + 9), line)
        for line, text in enumerate(LINES)
        for at, word in enumerate(text.split())
    ]
    owners = [number for number, word in enumerate(words) for _ in letters_of(word.text)]
    return PageWords(words, "".join(letters_of(word.text) for word in words), owners)


def line(number, first=0.0, last=200.0):
    return first, 10.0 * number, last, 10.0 * number + 9


@pytest.mark.parametrize(
    ("quote", "boxes", "outcome"),
    [
        ("in fog they fly slower", [line(1)], Outcome(True, True, True, 1)),
        ("in fog they fly slower", [line(1, 20)], Outcome(True, True, True, 0)),
        ("In f\u00f3g they fly-slower", [line(1, 20)], Outcome(True, True, True, 0)),
        ("in fog they fly slower", [line(1, 40)], Outcome(True, True, False, 0)),
        ("in fog they fly slower", [line(1), line(2)], Outcome(True, True, True, 7)),
        ("in fog they fly slower", [line(0), line(1), line(2)], Outcome(True, True, False, 12)),
        ("in fog they fly slower", [], Outcome(True, False, False, 0)),
        ("wasps do not fly in the rain", [line(3)], Outcome(False, True, False, 6)),
        ("in fog they fly slower than wasps in the sunlight", [line(1), line(2)], Outcome(False, True, True, 3)),
    ],
)
def test_a_mark_is_held_against_the_words_of_its_page(quote, boxes, outcome):
    citation = Citation("a.pdf", 1, quote, True, "/a.pdf", boxes=tuple(boxes))
    assert checked([citation], lambda _path, _number: page()) == outcome


def test_a_quote_over_two_pages_is_right_where_both_its_parts_are():
    right = Citation("a.pdf", 1, "in fog they fly slower", True, "/a.pdf", boxes=(line(1),))
    wrong = Citation("a.pdf", 2, "in fog they fly slower", True, "/a.pdf", boxes=(line(3),))
    assert checked([right, right], lambda *_: page()) == Outcome(True, True, True, 2)
    assert not checked([right, wrong], lambda *_: page()).right_boxes


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (30, 40, 430, 540)])
def test_both_programs_see_a_page_alike(tmp_path, rotation, crop):
    source = make_pdf(tmp_path / "plain.pdf", ["\n".join(LINES)])
    with pymupdf.open(source) as document:
        if crop:
            document[0].set_cropbox(pymupdf.Rect(crop))
        document[0].set_rotation(rotation)
        document.save(tmp_path / "a.pdf")
    read = page_words(tmp_path / "a.pdf", 1)
    assert sorted(word.text for word in read.words) == sorted(" ".join(LINES).split())
    assert len({word.line for word in read.words}) == len(LINES)
    lines = read_pdf(tmp_path / "a.pdf").pages[0].lines
    citation = Citation("a.pdf", 1, " ".join(LINES), True, str(tmp_path / "a.pdf"), boxes=tuple(x.box for x in lines))
    assert checked([citation]) == Outcome(True, True, True, 0)
