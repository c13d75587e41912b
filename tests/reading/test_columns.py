"""The reading order of pages whose columns are near each other, short, or beside code, formulas and lists."""

import pytest

from ragscience.core.records import Document
from tests.reading.drawing import WORDS, Sheet, of_kind, read
from tests.shared_data import needs_shared_data, shared_paper


def filled(sheet, x, y, first, width, size=10.0):
    """A line of running text as wide as `width` points, its word spaces stretched; `first` is its first word."""
    import pymupdf

    parts = [first]
    lengths = [pymupdf.get_text_length(first, "helv", size)]
    for word in WORDS[sum(map(ord, first)) % 7 :]:
        length = pymupdf.get_text_length(word, "helv", size)
        if sum(lengths) + length + 0.28 * size * len(parts) > width:
            break
        parts.append(word)
        lengths.append(length)
    blank = (width - sum(lengths)) / (len(parts) - 1)
    for part, length in zip(parts, lengths, strict=True):
        sheet.write(x, y, part, size)
        x += length + blank


def in_order(document: Document, *texts: str) -> bool:
    places = [document.text.find(text) for text in texts]
    return -1 not in places and places == sorted(places)


def test_code_next_to_a_column_of_text_is_read_after_it(tmp_path):
    sheet = Sheet()
    for row in range(24):
        filled(sheet, 50, 100 + 12 * row, f"left{row}", 230)
    for row in range(30):
        sheet.write(310 + (0, 12, 24, 36, 48, 24)[row % 6], 103 + 9.4 * row, f"call_{row}(the_value, of_it) if it", 8)
    document = read(tmp_path, sheet)
    assert in_order(document, "left0", "left23", "call_0(", "call_29(")


def test_a_heading_level_with_the_head_of_a_table_is_a_line_of_its_column(tmp_path):
    sheet = Sheet()
    filled(sheet, 60, 80, "one", 470)
    filled(sheet, 60, 92, "two", 470)
    sheet.write(60, 140, "5.1", 11, "hebo").write(90, 140, "Prompts of Users", 11, "hebo")
    sheet.write(420, 140, "Basic").write(470, 140, "Respectful")
    for row in range(3):
        sheet.write(360, 158 + 14 * row, f"{row}3B").write(420, 158 + 14 * row, "0.1").write(470, 158 + 14 * row, "0.2")
    for row in range(24):
        filled(sheet, 60, 162 + 12 * row, f"left{row}", 225)
    for row in range(18):
        filled(sheet, 305, 234 + 12 * row, f"right{row}", 225)
    document = read(tmp_path, sheet)
    assert in_order(document, "5.1 Prompts of Users\n\n", "left0", "left23", "right0")


SENTENCES = {
    "papers2/batchnorm_1502.03167.pdf": {
        3: (
            "For a layer with d-dimensional input",
            "where the expectation and variance",
            "To accomplish this, we introduce",
        ),
        5: ("3.4 Batch Normalization", "4 Experiments"),
    },
    "papers2/gnn_review_1812.08434.pdf": {
        18: ("the ability to deal with dynamic", "REFERENCES", "[1]", "[18]", "[19]", "[42]")
    },
    "papers2/pasa_2501.10120.pdf": {1: ("Abstract", "We introduce PaSa", "1 Introduction", "Academic paper search")},
    "papers2/gram_cnn_bioner_2018.pdf": {
        1: ("1 Introduction", "Named entity recognition (NER) is", "documents. In the")
    },
    "papers2/llama_2302.13971.pdf": {
        8: ("5.1 RealToxicityPrompts\n", "Language models can", "with the size of the model")
    },
}


@needs_shared_data
@pytest.mark.parametrize("name", SENTENCES)
def test_pages_that_were_mixed_are_read_in_order(name):
    document = shared_paper(name)
    for number, texts in SENTENCES[name].items():
        page = document.pages[number - 1]
        text = document.text[page.start : page.end + 200]
        places = [text.find(one) for one in texts]
        assert -1 not in places and places == sorted(places), (number, places)


BOLD = "hebo"


def sections(sheet, names, y=60, lines=3):
    """Paragraphs below bold headings; gives the y below them."""
    for number, name in enumerate(names):
        sheet.write(72, y, name, 11, BOLD)
        y = sheet.paragraph(72, y + 18, lines, start=number, width=12) + 14
    return y


SIX = [f"{number} {name}" for number, name in enumerate(("Introduction", "Kilns", "Clay", "Glaze", "Fire", "Ash"), 1)]


def test_labels_of_examples_are_no_headings_however_often_they_stand_there(tmp_path):
    first, second = Sheet(), Sheet()
    sections(first, SIX)
    names = ["7 Samples", *("Context", "Model completion") * 3, "8 Closing"]
    sections(second, names)
    assert of_kind(read(tmp_path, first, second), "heading") == [*SIX, "7 Samples", "8 Closing"]


def test_the_same_name_in_several_sections_is_a_heading_in_each(tmp_path):
    names = ["1 Bread", "Dough and Water", "2 Cake", "Dough and Water", "3 Rolls", "Dough and Water"]
    sheet = Sheet()
    sections(sheet, names)
    assert of_kind(read(tmp_path, sheet), "heading") == names


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "false", "true"),
    [
        ("papers/gpt2_2019.pdf", "GPT-2 completion", "8.4. Robustness"),
        ("papers2/llama_2302.13971.pdf", "Who are 5 people you would like to meet?", "D Generations from LLaMA-I"),
        ("papers2/star_2203.14465.pdf", "6: end for", "3.2 Rationalization"),
        (
            "papers2/biomed_quality_improvement_malawi_bmc.pdf",
            "4.5 Management-related issues",
            "Tools for data collection",
        ),
    ],
)
def test_headings_of_papers(name, false, true):
    found = of_kind(shared_paper(name), "heading")
    assert false not in found
    assert true in found
