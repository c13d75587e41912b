"""What is a heading, and what only looks like one: examples, prompts, authors, algorithms, lists, running heads."""

import pytest

from ragscience.reading.pdf_reader import read_pdf
from tests.reading.drawing import Sheet, draw
from tests.shared_data import needs_shared_data, shared_paper

BOLD = "hebo"


def headings_of(tmp_path, *sheets):
    document = read_pdf(draw(tmp_path / "a.pdf", sheets))
    return [document.text[one.start : one.end] for one in document.elements if one.kind == "heading"]


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
    assert headings_of(tmp_path, first, second) == [*SIX, "7 Samples", "8 Closing"]


def test_the_same_name_in_several_sections_is_a_heading_in_each(tmp_path):
    names = ["1 Bread", "Dough and Water", "2 Cake", "Dough and Water", "3 Rolls", "Dough and Water"]
    sheet = Sheet()
    sections(sheet, names)
    assert headings_of(tmp_path, sheet) == names


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
    document = shared_paper(name)
    found = [document.text[one.start : one.end] for one in document.elements if one.kind == "heading"]
    assert false not in found
    assert true in found
