"""What the reader makes of pages drawn as papers are: their order, their clean text, and what each part is."""

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragscience.reading.document_structure import SourcePage, structured_document
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.text_spans import PageSpans, Span, TextPiece
from tests.reading.drawing import Sheet, draw, of_kind, read


def check_whole(document):
    """Elements cover the text in its order, and every line is where its page says."""
    covered = [False] * len(document.text)
    for before, after in zip(document.elements, document.elements[1:], strict=False):
        assert before.end <= after.start
    for one in document.elements:
        page = document.pages[one.page - 1]
        assert page.start <= one.start < one.end <= page.end
        covered[one.start : one.end] = [True] * (one.end - one.start)
    assert not [char for char, known in zip(document.text, covered, strict=True) if not known and not char.isspace()]
    for page in document.pages:
        for line in page.lines:
            assert page.start <= line.start <= line.end <= page.end
            assert document.text[line.start : line.end].strip()
            left, top, right, bottom = line.box
            assert left < right
            assert top < bottom


def two_columns(sheet, y=100, lines=20):
    sheet.paragraph(50, y, lines, start=0, width=5, size=9)
    sheet.paragraph(310, y, lines, start=7, width=5, size=9)
    return sheet


def test_columns_are_read_one_after_the_other_below_what_spans_them(tmp_path):
    sheet = two_columns(Sheet().write(60, 70, "A title that reaches over both of the columns here", 18, "hebo"), y=120)
    sheet.texts.sort(key=lambda text: text[1])  # drawn row by row, across the columns
    document = read(tmp_path, sheet)
    check_whole(document)
    assert document.text.startswith("A title that reaches over both of the columns here\n\nThe model reads")
    left, right = document.text.index("The model reads"), document.text.index("Paper and keeps")
    assert left < right
    assert document.text.count("\n\n") == 2


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_turned_page_is_read_as_it_is_shown(tmp_path, rotation):
    sheet = Sheet(rotation=rotation)
    sheet.paragraph(50, 100, 6)
    document = read(tmp_path, sheet)
    check_whole(document)
    upright = read(tmp_path, Sheet(texts=sheet.texts))
    assert document.text == upright.text
    width, height = (842, 595) if rotation != 180 else (595, 842)
    assert all(box[2] <= width and box[3] <= height for box in (line.box for line in document.pages[0].lines))
    left, top, right, bottom = upright.pages[0].lines[0].box
    turned = {90: (842 - bottom, left), 180: (595 - right, 842 - bottom), 270: (top, 595 - right)}[rotation]
    assert document.pages[0].lines[0].box[:2] == pytest.approx(turned, abs=0.3)


def test_words_broken_at_a_lines_end_are_joined_and_compounds_kept(tmp_path):
    lines = [
        "The transformer uses atten-",
        "tion, and attention helps; the en-",
        "coder maps self-attention, and self-",
        "attention is a compound word, as is state-of-the-",
        "art; a 1-",
        "2 score and the US-",
        "based work stay as they are.",
    ]
    sheet = Sheet()
    for number, line in enumerate(lines):
        sheet.write(50, 100 + 12 * number, line)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert document.text == (
        "The transformer uses attention, and attention helps; the encoder maps self-attention, and self-attention is a "
        "compound word, as is state-of-the-art; a 1-2 score and the US-based work stay as they are."
    )


def test_what_repeats_at_the_edges_is_kept_aside(tmp_path):
    sheets = []
    for number in range(1, 7):
        sheet = Sheet().write(50, 40, "Journal of Reading, Vol. 3", 8).write(290, 800, str(number), 9)
        sheet.paragraph(50, 100, 10, start=number)
        sheets.append(sheet)
    document = read(tmp_path, *sheets)
    check_whole(document)
    assert "Journal" not in document.text
    assert [page.furniture for page in document.pages] == [f"Journal of Reading, Vol. 3\n{n}" for n in range(1, 7)]


def paper():
    first = Sheet().write(150, 80, "How Papers Are Read", 18, "hebo").write(230, 110, "Ann Author, Bo Byline")
    first.write(270, 150, "Abstract", 12, "hebo")
    y = first.paragraph(80, 170, 5)
    first.write(50, y + 20, "1 Introduction", 13, "hebo")
    y = first.paragraph(50, y + 40, 8, start=4)
    first.write(50, y + 20, "2 Method", 13, "hebo").write(50, y + 45, "2.1 Reading", 11, "hebo")
    y = first.paragraph(50, y + 65, 6, start=8)
    first.write(200, y + 12, "f(x) = 2x + 1    (1)")
    first.paragraph(50, y + 40, 4, start=12)
    second = Sheet().write(50, 80, "2.2 Order", 11, "hebo")
    y = second.paragraph(50, 100, 6, start=3)
    second.write(50, y + 20, "Acknowledgements", 13, "hebo")
    y = second.paragraph(50, y + 40, 3, start=9)
    second.write(50, y + 20, "References", 13, "hebo")
    for number in range(1, 4):
        second.write(50, y + 18 + 24 * number, f"[{number}] A. Author. A work on reading papers with great care, and")
        second.write(66, y + 30 + 24 * number, f"other things. Journal of Work, 199{number}.")
    return first, second


def test_headings_have_levels_and_the_elements_below_them_a_path(tmp_path):
    document = read(tmp_path, *paper())
    check_whole(document)
    headings = [(one.level, document.text[one.start : one.end]) for one in document.elements if one.kind == "heading"]
    assert headings == [
        (1, "Abstract"),
        (1, "1 Introduction"),
        (1, "2 Method"),
        (2, "2.1 Reading"),
        (2, "2.2 Order"),
        (1, "Acknowledgements"),
        (1, "References"),
    ]
    below = next(one for one in document.elements if one.start > document.text.index("2.2 Order") + 9)
    assert below.section == "2 Method › 2.2 Order"


def test_the_parts_of_a_paper_have_their_kinds(tmp_path):
    document = read(tmp_path, *paper())
    assert of_kind(document, "title") == ["How Papers Are Read"]
    assert of_kind(document, "authors") == ["Ann Author, Bo Byline"]
    assert of_kind(document, "equation") == ["f(x) = 2x + 1 (1)"]
    assert len(of_kind(document, "abstract")) == 1
    references = of_kind(document, "reference")
    assert [reference[:3] for reference in references] == ["[1]", "[2]", "[3]"]
    assert references[1].endswith("and other things. Journal of Work, 1992.")
    assert "\nf(x)" in document.text
    assert "\n\nf(x)" not in document.text


def table_sheet():
    sheet = Sheet()
    y = sheet.paragraph(50, 100, 6)
    sheet.write(50, y + 20, "Table 1: Scores of three systems.", 9)
    rows = [("System", "EM", "F1"), ("Plain", "40.1", "52.3"), ("With | bars", "44.5", "-"), ("Large", "47.0", "60.25")]
    sheet.rule(80, y + 26, 300, y + 26)
    for number, cells in enumerate(rows):
        for x, cell in zip((85, 200, 260), cells, strict=True):
            sheet.write(x, y + 38 + 12 * number, cell, 9)
    sheet.rule(80, y + 41, 300, y + 41).rule(80, y + 78, 300, y + 78)
    sheet.paragraph(50, y + 110, 6, start=5)
    return sheet


def test_a_table_is_markdown_behind_its_caption(tmp_path):
    document = read(tmp_path, table_sheet())
    check_whole(document)
    header = "| System | EM | F1 |\n|---|---|---|\n"
    table = header + "| Plain | 40.1 | 52.3 |\n| With \\| bars | 44.5 | - |\n| Large | 47.0 | 60.25 |"
    assert of_kind(document, "table") == [table]
    assert f"\n\nTable 1: Scores of three systems.\n{table}\n\n" in document.text


def test_footnotes_stand_at_the_end_of_their_page(tmp_path):
    sheet = Sheet()
    sheet.paragraph(50, 100, 30)
    sheet.write(58, 700, "1", 5).write(61, 703, "A note on something that was said above.", 8)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert of_kind(document, "footnote") == ["1A note on something that was said above."]


def test_the_words_in_a_figure_stand_at_the_end_of_their_page(tmp_path):
    sheet = Sheet().rule(60, 60, 400, 160)
    for number, tick in enumerate(("0.8", "0.6", "0.4")):
        sheet.write(70, 70 + 30 * number, tick, 7).write(150, 70 + 30 * number, f"RoBERTa {number}", 7)
    sheet.write(50, 180, "Figure 1: Scores of three systems.", 9)
    sheet.paragraph(50, 220, 10)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert [one.kind for one in document.elements] == ["caption", "text", "figure"]
    assert document.text.endswith("0.8 RoBERTa 0 0.6 RoBERTa 1 0.4 RoBERTa 2")


def lines_run(path, sheet):
    """How many lines of the reader run for a page."""
    draw(path, [sheet])
    ran = 0

    def trace(frame, event, _):
        nonlocal ran
        ran += event == "line"
        return trace if "/reading/" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_pdf(path)
    finally:
        sys.settrace(before)
    return ran


def with_captions(count, word):
    sheet = Sheet()
    for number in range(count):
        sheet.write(50, 10 + 800 / count * number, f"{word} {number + 1}: A caption of what is not there.", 1)
    return sheet


def with_rules(count):
    """Two tables side by side, with a line of text and a rule to the right and to the left for each of `count`."""
    sheet = Sheet().write(50, 8, "Table 1: What is on the left.", 4).write(300, 8, "Table 2: What is on the right.", 4)
    for number in range(count):
        for left in (50, 300):
            sheet.rule(left, 12 + 2 * number, left + 200, 12 + 2 * number)
            sheet.write(left, 13.5 + 2 * number, f"{number}", 1).write(left + 100, 13.5 + 2 * number, "a value", 1)
    return sheet


@pytest.mark.parametrize(("sheet", "of"), [(with_captions, ["Table"]), (with_captions, ["Figure"]), (with_rules, [])])
def test_twice_as_many_captions_or_rules_are_twice_the_work(tmp_path, sheet, of):
    few, many = (lines_run(tmp_path / "a.pdf", sheet(count, *of)) for count in (100, 200))
    assert many < 2.2 * few


def piece(text, x0, base, size=10.0, turn=0, number=0):
    span = Span(text, x0, x0 + 5.0 * len(text), base, size, "f", False, False)
    return TextPiece((span,), x0, base - 0.8 * size, span.x1, base + 0.2 * size, base, size, turn, number)


TEXTS = st.sampled_from(
    [
        "Table 1: a",
        "Figure 2. b",
        "1 Introduction",
        "References",
        "[1] A. B. C.",
        "28.4",
        "-",
        "x = 2y (3)",
        "• item",
        "word-",
    ]
) | st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=40)
PIECES = st.lists(
    st.builds(
        piece,
        TEXTS,
        st.floats(-50, 650),
        st.sampled_from([50.0, 62.0, 74.5, 75.0, 100.0, 400.0, 790.0]) | st.floats(-20, 900),
        st.sampled_from([1.0, 6.0, 10.0, 18.0]),
        st.sampled_from([0, 0, 0, 1, 3]),
    ),
    min_size=1,
    max_size=40,
)
RULES = st.lists(st.tuples(*[st.floats(0, 600)] * 4), max_size=4).map(tuple)


A_CAPTION = piece("Table 1: a", 0.0, 50.0, size=1.0)
A_TURNED_ONE = piece("Table 1: a", 0.0, 50.0, size=1.0, turn=1)


@example([([piece("References", 0.0, 62.0, size=1.0), A_TURNED_ONE], ()), ([A_CAPTION], ()), ([A_TURNED_ONE], ())])
@given(st.lists(st.tuples(PIECES, RULES), min_size=1, max_size=3))
def test_no_text_is_lost_of_any_page(pages):
    sources = [
        SourcePage(number, PageSpans(595.0, 842.0, tuple(pieces), "\n".join(one.text for one in pieces)), rules, rules)
        for number, (pieces, rules) in enumerate(pages, 1)
    ]
    document = structured_document(sources, "", ())
    assert [page.number for page in document.pages] == list(range(1, len(sources) + 1))
    for source, page in zip(sources, document.pages, strict=True):
        wanted = sum(len("".join(one.text.split())) for one in source.spans.pieces)
        got = len("".join((document.text[page.start : page.end] + page.furniture).split()))
        assert got >= 0.9 * wanted - 5
    for before, after in zip(document.elements, document.elements[1:], strict=False):
        assert before.end <= after.start
    covered = "".join(document.text[one.start : one.end] for one in document.elements)
    assert "".join(covered.split()) == "".join(document.text.split())
