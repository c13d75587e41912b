"""Where lines stand, against what pymupdf itself finds when it is asked for the words."""

import pymupdf
import pytest

from ragscience.reading.cleaning import clean_text
from ragscience.reading.lines import read_lines
from ragscience.reading.pdf import read_pdf
from tests.pdf_factory import LEADING, LEFT, TOP, make_mapped_pdf, make_pdf
from tests.shared_data import SHARED_DATA, needs_shared_data

PAGES = ["Honeybees steer by light\n\nIn fog they fly slower", "", "Second page, one line"]


def shown(document):
    """(page, text, box) of each line."""
    return [
        (page.number, document.text[line.start : line.end], line.box) for page in document.pages for line in page.lines
    ]


def covers(outer, inner, slack=0.2):
    low = all(a <= b + slack for a, b in zip(outer[:2], inner[:2], strict=True))
    return low and all(a >= b - slack for a, b in zip(outer[2:], inner[2:], strict=True))


def test_lines_stand_where_they_were_drawn(tmp_path):
    lines = shown(read_pdf(make_pdf(tmp_path / "a.pdf", PAGES)))
    assert [(page, text) for page, text, _ in lines] == [
        (1, "Honeybees steer by light"),
        (1, "In fog they fly slower"),
        (3, "Second page, one line"),
    ]
    for (_, _, (left, top, right, bottom)), row in zip(lines, (0, 2, 0), strict=True):
        baseline = TOP + LEADING * row
        assert left == pytest.approx(LEFT, abs=1)
        assert top < baseline <= bottom <= baseline + LEADING
        assert left < right < 595


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_are_those_of_the_page_as_it_is_shown(tmp_path, rotation):
    make_pdf(tmp_path / "a.pdf", ["turned about", "second"])
    with pymupdf.open(tmp_path / "a.pdf") as source:
        source[0].set_rotation(rotation)
        source[0].set_cropbox(pymupdf.Rect(20, 30, 500, 700))
        source.save(tmp_path / "b.pdf")
    (_, text, box), _ = shown(read_pdf(tmp_path / "b.pdf"))
    assert text == "turned about"
    with pymupdf.open(tmp_path / "b.pdf") as source:
        page = source[0]
        picture = page.get_pixmap(dpi=72)
        dark = [(x, y) for x in range(picture.width) for y in range(picture.height) if picture.pixel(x, y)[0] < 128]
        assert dark
        left, top, right, bottom = box
        assert all(left - 1 <= x <= right + 1 and top - 1 <= y <= bottom + 1 for x, y in dark)
        assert (right - left) * (bottom - top) < 3000


def test_lines_off_the_page_or_blank_have_no_box(tmp_path):
    with pymupdf.open() as made:
        page = made.new_page(width=200, height=200)
        page.insert_text((20, 50), "on the page")
        page.insert_text((20, 100), "    ")
        page.insert_text((150, 150), "half of this is beyond")
        made.save(tmp_path / "a.pdf")
    document = read_pdf(tmp_path / "a.pdf")
    assert all(box[2] <= 200 for _, _, box in shown(document))
    assert shown(document)[0][1] == "on the page"
    assert all(text.strip() for _, text, _ in shown(document))


def test_control_characters_keep_the_offsets(tmp_path):
    document = read_pdf(make_mapped_pdf(tmp_path / "a.pdf", r"one \015 two \033 three \012 four \000", {}))
    for _, text, _ in shown(document):
        assert text == text.strip("\n")
    (page,) = document.pages
    assert page.lines
    assert page.lines[0].start == 0


class Drawn:
    """A text page and its page, with a text and lines of one's own."""

    rotation = 0
    rect = pymupdf.Rect(0, 0, 100, 100)

    def __init__(self, text, lines):
        self.text, self.lines = text, lines

    def get_textpage(self, flags):
        return self

    def extractText(self):
        return self.text

    def extractDICT(self):
        if isinstance(self.lines, Exception):
            raise self.lines
        spans = [{"spans": [{"text": part} for part in line], "bbox": (1, 2, 30, 4)} for line in self.lines]
        return {"blocks": [{"lines": spans}]}


@pytest.mark.parametrize(
    ("raw", "lines", "texts"),
    [
        ("a\r\nb\r\n\nc\n", [["a\r"], ["b\r"], ["c"]], ["a", "b", "c"]),
        ("a\x00b c\n", [["a\x00"], ["b c"]], ["a\ufffd", "b c"]),
        ("one two\n", [["one ", "two"]], ["one two"]),
        ("one\ntwo\nthree\n", [["one"], ["other"], ["three"]], ["one"]),
        ("\n\none\n", [[], ["one"]], ["one"]),
    ],
)
def test_what_differs_from_the_text_is_left_out(raw, lines, texts):
    text, found = read_lines(Drawn(raw, lines), ())
    assert text == clean_text(raw).rstrip("\n")
    assert [text[line.start : line.end] for line in found] == texts


def test_a_text_survives_its_lines():
    assert read_lines(Drawn("text\n", RuntimeError("no lines")), (RuntimeError,)) == ("text", ())
    assert read_lines(Drawn("a" * 300_000, RuntimeError("never asked for")), ()) == ("a" * 300_000, ())


@needs_shared_data
@pytest.mark.parametrize("name", ["adam_1412.6980", "bahdanau_1409.0473", "biomed_ida_helicobacter_meta"])
def test_real_pages_keep_their_text_and_find_their_words(name):
    path = SHARED_DATA / "papers" / f"{name}.pdf"
    document = read_pdf(path)
    with pymupdf.open(path) as source:
        for page, drawn in zip(document.pages, source, strict=True):
            text = document.text[page.start : page.end]
            assert text == clean_text(drawn.get_text("text")).rstrip("\n")
            assert sum(line.end - line.start for line in page.lines) >= 0.95 * len(text.replace("\n", ""))
            placed = {}
            for line in page.lines:
                placed.setdefault(document.text[line.start : line.end].replace(" ", ""), []).append(line.box)
            rows = {}
            for *box, word, block, row, _ in drawn.get_text("words"):
                rows.setdefault((block, row), []).append((box, clean_text(word)))
            checked = 0
            for words in rows.values():
                for outer in placed.get("".join(word for _, word in words), [])[:1] if len(words) > 3 else []:
                    checked += all(covers(outer, box) for box, _ in words)
            assert checked >= 5
