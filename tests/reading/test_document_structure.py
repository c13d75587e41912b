"""What the reader makes of pages drawn as papers are: their order, their clean text, and what each part is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.reading.document_structure import SourcePage, structured_document
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.text_spans import PageSpans, Piece, Span
from tests.pdf_factory import make_mapped_pdf
from tests.reading.drawing import Sheet, draw


def read(tmp_path, *sheets, title=""):
    return read_pdf(draw(tmp_path / "a.pdf", sheets, title))


def of_kind(document, kind):
    return [document.text[one.start : one.end] for one in document.elements if one.kind == kind]


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


def test_three_columns_are_three(tmp_path):
    sheet = Sheet()
    for number, x in enumerate((40, 225, 410)):
        sheet.paragraph(x, 100, 20, start=5 * number, width=6, size=8)
    sheet.texts.sort(key=lambda text: text[1])
    document = read(tmp_path, sheet)
    check_whole(document)
    starts = [document.text.index(words) for words in ("The model reads", "Of a paper and", "What it says about")]
    assert starts == sorted(starts)


def test_a_paragraph_goes_on_in_the_next_column_and_gives_way_to_nothing(tmp_path):
    sheet = Sheet()
    for number in range(20):
        sheet.write(50, 100 + 12 * number, "a line of the left column that is full", 9)
        sheet.write(310, 100 + 12 * number, "the right column goes on as it was", 9)
    sheet.write(60, 360, "* A note at the foot of the left column", 7)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert "column that is full the right column goes on" in document.text
    assert document.text.endswith("* A note at the foot of the left column")


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


def test_a_box_is_around_its_line(tmp_path):
    import pymupdf

    sheet = Sheet()
    sheet.paragraph(50, 100, 6)
    path = draw(tmp_path / "a.pdf", [sheet])
    document = read_pdf(path)
    with pymupdf.open(path) as source:
        for line in document.pages[0].lines:
            left, top, right, bottom = line.box
            grown = left - 1, top - 1, right + 1, bottom + 1
            inside = source[0].get_text("text", clip=grown).strip()
            assert inside == document.text[line.start : line.end]


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


def test_a_page_is_not_left_with_nothing(tmp_path):
    document = read(tmp_path, *[Sheet().write(50, 40, "Only this") for _ in range(6)])
    assert document.text.count("Only this") == 6


def test_line_numbers_are_kept_aside(tmp_path):
    sheet = Sheet()
    for number in range(1, 31):
        sheet.write(30, 88 + 12 * number, str(number), 6)
        sheet.write(60, 88 + 12 * number, "a line of text that is numbered in the margin of the page")
    document = read(tmp_path, sheet)
    assert not any(char.isdigit() for char in document.text)
    assert document.pages[0].furniture.split() == [str(number) for number in range(1, 31)]


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


def test_a_table_above_its_caption_is_found_as_well(tmp_path):
    sheet = Sheet()
    for number, cells in enumerate([("System", "Score"), ("Plain", "40.1"), ("Large", "47.0")]):
        for x, cell in zip((85, 200), cells, strict=True):
            sheet.write(x, 100 + 12 * number, cell, 9)
    sheet.write(50, 150, "Table 2: Scores above.", 9)
    sheet.paragraph(50, 190, 8)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert "Table 2: Scores above.\n| System | Score |\n|---|---|\n| Plain | 40.1 |" in document.text


def test_a_sentence_about_a_table_is_no_caption(tmp_path):
    sheet = Sheet()
    sheet.write(50, 100, "Table 1 shows what was found in the papers that were read for this work here")
    sheet.paragraph(50, 112, 5)
    document = read(tmp_path, sheet)
    assert of_kind(document, "caption") == []


def test_the_text_in_a_figure_is_not_running_text(tmp_path):
    sheet = Sheet()
    y = sheet.paragraph(50, 100, 6)
    for x, label in ((100, "Encoder"), (200, "Decoder"), (300, "Loss")):
        sheet.write(x, y + 40, label, 8)
    sheet.write(50, y + 80, "Figure 1: The parts of the model.", 9)
    sheet.paragraph(50, y + 110, 6, start=3)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert of_kind(document, "figure") == ["Encoder Decoder Loss"]
    assert "Figure 1: The parts of the model.\nEncoder Decoder Loss" in document.text


def test_exponents_are_readable(tmp_path):
    import pymupdf

    right = 50 + pymupdf.get_text_length("about 10", fontsize=10)
    sheet = Sheet().write(50, 100, "about 10").write(right, 96, "19", 6)
    sheet.write(right + 10, 100, "operations in the whole of it")
    assert read(tmp_path, sheet).text == "about 10^19 operations in the whole of it"


def test_footnotes_stand_at_the_end_of_their_page(tmp_path):
    sheet = Sheet()
    sheet.paragraph(50, 100, 30)
    sheet.write(58, 700, "1", 5).write(61, 703, "A note on something that was said above.", 8)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert of_kind(document, "footnote") == ["1A note on something that was said above."]


def test_text_drawn_twice_for_boldness_is_read_once(tmp_path):
    document = read(tmp_path, Sheet().write(50, 100, "Heavy words").write(50.3, 100, "Heavy words"))
    assert document.text == "Heavy words"


def test_right_to_left_text_keeps_the_order_of_the_file(tmp_path):
    import pymupdf

    path = make_mapped_pdf(
        tmp_path / "a.pdf", "abc def", {letter: 0x5D0 + number for number, letter in enumerate("abcdef")}
    )
    with pymupdf.open(path) as source:
        assert read_pdf(path).text == source[0].get_text().strip()


def one_span(text, x0, base, size=10.0, font="f", bold=False):
    return Span(text, x0, x0 + 5.0 * len(text), base, size, font, bold, False)


def piece(text, x0, base, size=10.0, turn=0, number=0):
    span = one_span(text, x0, base, size)
    return Piece((span,), x0, base - 0.8 * size, span.x1, base + 0.2 * size, base, size, turn, number)


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


def test_pages_without_places_are_taken_as_the_file_gives_them():
    placed = PageSpans(595.0, 842.0, (piece("Some words", 50, 100),), "Some words")
    plain = PageSpans(595.0, 842.0, (), "As it\nis.")
    document = structured_document([SourcePage(1, plain), SourcePage(2, placed), SourcePage(3, plain)], "", ())
    assert document.text == "As it\nis.\n\nSome words\n\nAs it\nis."
    assert [(page.start, page.end) for page in document.pages] == [(0, 9), (11, 21), (23, 32)]


def test_a_layout_that_fails_costs_no_text():
    good = piece("Some words", 50, 100)
    spans = PageSpans(
        595.0, 842.0, (good, replace(good, spans=(), base=300.0, y0=292.0, y1=302.0)), "Some words\nand more"
    )
    document = structured_document([SourcePage(1, spans), SourcePage(2, spans)], "Title", ("a warning",))
    assert document.text == "Some words\nand more\n\nSome words\nand more"
    assert (document.title, document.warnings) == ("Title", ("a warning",))
    assert [one.kind for one in document.elements] == ["text", "text"]


def test_letters_with_loose_accents_are_composed_and_not_taken_for_lost():
    rows = [piece("e\u0301" * 30, 50, 100), piece("na¨ıve Scho¨lkopf", 50, 112)]
    spans = PageSpans(595.0, 842.0, tuple(rows), "plain")
    assert structured_document([SourcePage(1, spans)], "", ()).text == "é" * 30 + " naïve Schölkopf"


def test_the_lines_of_a_list_item_hang_together(tmp_path):
    sheet = Sheet()
    y = sheet.paragraph(50, 100, 5)
    for number in range(1, 4):
        sheet.write(60, y + 24 * number - 8, f"{number}. An item that says something of its own here:", 10)
        sheet.write(74, y + 24 * number + 4, "with a line that hangs below it and ends.", 10)
    document = read(tmp_path, sheet)
    check_whole(document)
    items = of_kind(document, "list")
    assert len(items) == 3
    assert items[1] == "2. An item that says something of its own here: with a line that hangs below it and ends."


def wrapped(sheet, x, y, lines, start=0, size=9):
    """Lines of running text of one width from `x` on, without an end."""
    for number in range(lines):
        words = "reads every passage of a long paper and keeps it whole"
        sheet.write(x, y + 11 * number, f"{chr(97 + (start + number) % 26)} {words}"[: 46 - number % 2], size)
    return y + 11 * lines


def small_table(sheet, x, y, rows, columns=(0, 70, 120)):
    sheet.rule(x, y - 9, x + 150, y - 9)
    for number, row in enumerate(rows):
        for offset, cell in zip(columns, row, strict=False):
            sheet.write(x + offset, y + 11 * number, cell, 8)
    sheet.rule(x, y + 3, x + 150, y + 3)
    sheet.rule(x, y + 11 * len(rows) - 7, x + 150, y + 11 * len(rows) - 7)


LEFT = (("Model", "EM", "F1"), ("ReaderA", "34.5", "40.1"), ("ReaderB", "36.6", "44.7"), ("ReaderC", "40.4", "46.8"))
RIGHT = (("System", "Dev", "Test"), ("Gold", "89.6", "90.0"), ("Bare", "70.7", "32.4"), ("Full", "77.8", "46.8"))


def as_markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---|---|", *lines[1:]])


def test_tables_side_by_side_are_two_however_near_their_captions_stand(tmp_path):
    sheet = Sheet()
    sheet.write(72, 80, "Table 1: Scores of the readers that were asked.", 10, "tiro")
    sheet.write(284, 80, "Table 2: Shares of what the systems found.", 10, "tiro")
    small_table(sheet, 80, 108, LEFT)
    small_table(sheet, 300, 114, RIGHT)
    sheet.paragraph(72, 200, 10)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert of_kind(document, "table") == [as_markdown(LEFT), as_markdown(RIGHT)]
    captions = of_kind(document, "caption")
    assert captions == [
        "Table 1: Scores of the readers that were asked.",
        "Table 2: Shares of what the systems found.",
    ]
    assert document.text.index("ReaderC") < document.text.index("Table 2:") < document.text.index("The model reads")


def test_a_table_in_the_corner_of_a_text_is_a_table(tmp_path):
    sheet = Sheet()
    sheet.paragraph(72, 80, 5, width=12)
    below = wrapped(sheet, 72, 160, 12)
    sheet.write(310, 172, "Table 1: Scores of the readers.", 10)
    small_table(sheet, 316, 200, LEFT)
    sheet.paragraph(72, below + 4, 5, width=12)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert of_kind(document, "table") == [as_markdown(LEFT)]
    assert of_kind(document, "caption") == ["Table 1: Scores of the readers."]
    places = [document.text.index(f"{letter} reads every passage of a long") for letter in "abcdefghijkl"]
    assert places == sorted(places)
    assert not any("Table" in text or "34.5" in text for text in of_kind(document, "text"))


def test_the_names_in_a_figure_next_to_text_are_not_text(tmp_path):
    sheet = Sheet()
    sheet.paragraph(72, 80, 5, width=12)
    below = wrapped(sheet, 72, 160, 14)
    for number, label in enumerate(("100", "75", "50", "0")):
        sheet.write(320, 166 + 20 * number, label, 8)
    sheet.write(345, 240, "Scale of the model (billions)", 8)
    sheet.write(310, 268, "Figure 1: What grows with the scale", 9)
    sheet.write(310, 279, "of a model that reads.", 9)
    sheet.paragraph(72, below + 4, 5, width=12)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert of_kind(document, "caption") == ["Figure 1: What grows with the scale of a model that reads."]
    assert of_kind(document, "figure") == ["100 75 50 0 Scale of the model (billions)"]


def test_upright_lines_next_to_a_figure_belong_to_it(tmp_path):
    import pymupdf

    sheet = Sheet()
    sheet.paragraph(72, 80, 6, width=12)
    sheet.write(100, 300, "0", 8).write(100, 220, "100", 8).write(200, 310, "Steps", 8)
    sheet.write(72, 340, "Figure 1: What grows with the steps.", 10)
    sheet.paragraph(72, 380, 10, width=12)
    path = draw(tmp_path / "a.pdf", [sheet])
    with pymupdf.open(path) as source:
        source[0].insert_text((90, 290), "Win rate (%)", fontsize=8, rotate=90)
        source.save(tmp_path / "b.pdf")
    document = read_pdf(tmp_path / "b.pdf")
    check_whole(document)
    (figure,) = of_kind(document, "figure")
    assert figure.endswith("Win rate (%)")
    assert not any("Win rate" in text for text in of_kind(document, "text"))


def test_cells_of_several_lines_are_whole_and_rows_around_a_shared_cell_stay_apart(tmp_path):
    sheet = Sheet().write(72, 80, "Table 1: What was asked.", 10)
    sheet.rule(72, 90, 420, 90)
    rows = [
        (104, "Use", "What was said", ""),
        (124, "Ideas", "List five ideas for how to regain enthusiasm", ""),
        (134, "", "for my career as a writer of tests", ""),
        (154, "Story", "Write a short story in which a bear goes and", ""),
        (164, "", "makes friends with a seal", ""),
    ]
    for y, *cells in rows:
        for x, cell in zip((80, 140, 400), cells, strict=True):
            if cell:
                sheet.write(x, y, cell, 9)
    for y in (109, 140, 170):
        sheet.rule(72, y, 420, y)
    sheet.paragraph(72, 200, 6)
    sheet.write(72, 300, "Table 2: What was found.", 10)
    for y, *cells in ((316, "Model", "EM", "Label"), (330, "Token", "17.3", ""), (341, "Sequence", "14.7", "")):
        for x, cell in zip((80, 140, 200), cells, strict=True):
            if cell:
                sheet.write(x, y, cell, 9)
    sheet.write(200, 335.5, "72.5", 9)
    for y in (306, 320, 346):
        sheet.rule(72, y, 240, y)
    sheet.paragraph(72, 400, 6)
    document = read(tmp_path, sheet)
    check_whole(document)
    first, second = of_kind(document, "table")
    assert first.split("\n")[2:] == [
        "| Ideas | List five ideas for how to regain enthusiasm for my career as a writer of tests |",
        "| Story | Write a short story in which a bear goes and makes friends with a seal |",
    ]
    assert second.split("\n")[2:] == ["| Token | 17.3 | 72.5 |", "| Sequence | 14.7 |  |"]


def test_each_of_the_tables_above_their_captions_has_its_own(tmp_path):
    sheet = Sheet()
    y = 90
    for number, rows in enumerate((LEFT, RIGHT, LEFT), 1):
        small_table(sheet, 100, y, rows)
        sheet.write(72, y + 60, f"Table {number}: What was measured of the systems then.", 10)
        y += 90
    sheet.paragraph(72, y + 20, 8)
    document = read(tmp_path, sheet)
    assert of_kind(document, "table") == [as_markdown(LEFT), as_markdown(RIGHT), as_markdown(LEFT)]


def test_a_table_that_points_at_tables_is_read_once(tmp_path):
    sheet = Sheet().write(72, 80, "Table 8: Pointers to the tables of results.", 10)
    rows = [("Pass", "Where"), *((f"Forward {chr(97 + n)}", f"Table {9 + n}") for n in range(6))]
    for number, (name, where) in enumerate(rows):
        sheet.write(100, 104 + 12 * number, name, 9).write(220, 104 + 12 * number, where, 9)
    for y in (94, 107, 180):
        sheet.rule(90, y, 300, y)
    sheet.paragraph(72, 240, 8)
    document = read(tmp_path, sheet)
    check_whole(document)
    assert [document.text.count(where) for _, where in rows[1:]] == [1] * 6
    assert len(of_kind(document, "caption")) == 1


def small_capitals(sheet, x, y, text, size=11):
    """Words whose small letters are capitals of four fifths of the size; the first of each is large."""
    import pymupdf

    for word in text.split():
        for part, scale in ((word[:1], 1.0), (word[1:], 0.8)):
            part = part.upper()
            sheet.write(x, y, part, size * scale)
            x += pymupdf.get_text_length(part, fontname="helv", fontsize=size * scale)
        x += 0.3 * size


def test_headings_in_small_capitals_and_with_a_dot_at_the_first_level_alone(tmp_path):
    sheet = Sheet().write(72, 60, "1. Introduction", 12, "hebo")
    y = sheet.paragraph(72, 80, 6, size=11, leading=13.5)
    sheet.write(72, y + 14, "2. Method", 12, "hebo")
    for number, name in (("2.1", "matched lookback validation"), ("2.2", "sum of kernel functions")):
        y = sheet.paragraph(72, y + 40, 6, size=11, leading=13.5)
        small_capitals(sheet, 72, y + 14, f"{number} {name}")
    y = sheet.paragraph(72, y + 40, 6, size=11, leading=13.5)
    sheet.write(72, y + 14, "2.3 THE OPTIMAL RANK r FOR LoRA", 11)
    sheet.paragraph(72, y + 40, 6, size=11, leading=13.5)
    document = read(tmp_path, sheet)
    check_whole(document)
    headings = [(one.level, document.text[one.start : one.end]) for one in document.elements if one.kind == "heading"]
    assert headings == [
        (1, "1. Introduction"),
        (1, "2. Method"),
        (2, "2.1 MATCHED LOOKBACK VALIDATION"),
        (2, "2.2 SUM OF KERNEL FUNCTIONS"),
        (2, "2.3 THE OPTIMAL RANK r FOR LoRA"),
    ]


def test_a_title_that_begins_with_an_article_is_a_title(tmp_path):
    sheet = Sheet().write(120, 70, "A Page Behind Each Sentence", 18, "hebo").write(200, 95, "Ada Lovelace", 11)
    y = 130
    for heading in ("Abstract", "1 Introduction", "2 Kilns"):
        sheet.write(72, y, heading, 12, "hebo")
        y = sheet.paragraph(72, y + 18, 6) + 14
    document = read(tmp_path, sheet)
    assert of_kind(document, "title") == ["A Page Behind Each Sentence"]
    assert of_kind(document, "heading") == ["Abstract", "1 Introduction", "2 Kilns"]


def test_bold_items_of_a_list_are_no_sections(tmp_path):
    sheet, y = Sheet(), 60
    for number in range(1, 7):
        sheet.write(72, y, f"{number} Kilns of the {number}th kind", 12, "hebo")
        y = sheet.paragraph(72, y + 16, 4, start=number) + 10
    for number in (2, 3):
        sheet.write(72, y, f"{number}. We have seen that kilns are hot.", 10, "hebo")
        y = sheet.paragraph(84, y + 12, 3, start=number) + 10
    document = read(tmp_path, sheet)
    assert of_kind(document, "heading") == [f"{number} Kilns of the {number}th kind" for number in range(1, 7)]


def test_an_equation_has_its_parts_above_and_below(tmp_path):
    sheet = Sheet()
    y = sheet.paragraph(72, 80, 6, width=16)
    sheet.write(215, y + 10, "N", 7).write(180, y + 18, "p(x) =", 10).write(212, y + 18, "p(s) + 1", 10)
    sheet.write(216, y + 25, "i=1", 7)
    sheet.write(180, y + 44, "Many(Q) = Join(heads, headm) W", 10)
    sheet.paragraph(72, y + 70, 6, width=16)
    document = read(tmp_path, sheet)
    (equation,) = of_kind(document, "equation")
    assert all(part in equation for part in ("N", "p(x) =", "i=1", "Many(Q)"))
    assert document.text[document.text.index(equation) - 2 :].startswith(".\n")


def test_a_licence_of_several_lines_on_every_page_is_left_out(tmp_path):
    def page(number):
        one = Sheet()
        one.write(60, 34, f"Agyeman et al. Health Services Research 2014, 14:{number}", 7)
        one.write(60, 44, "http://www.biomedcentral.com/1472-6963/14/1", 7)
        one.paragraph(60, 80, 20, start=3 * number)
        one.write(60, 780, "2014 The Author(s) has paid for this article to be freely available under the terms of", 6)
        one.write(60, 787, "the Creative Commons Attribution Licence which permits unrestricted use, distribution", 6)
        one.write(60, 794, "and reproduction in any medium, provided the original work is properly cited.", 6)
        one.write(60, 801, f"Downloaded from https://academic.oup.com by a reader on {number} May", 6)
        return one

    document = read_pdf(draw(tmp_path / "a.pdf", [page(number) for number in range(1, 7)]))
    for words in ("Creative Commons", "provided the original", "Downloaded", "Agyeman", "biomedcentral"):
        assert words not in document.text
        assert all(words in one.furniture for one in document.pages)
    assert len(document.text.split()) == 6 * (19 * 9 + 3)
