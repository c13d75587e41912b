"""What is a heading, and what only looks like one: examples, prompts, authors, algorithms, lists, running heads."""

from itertools import pairwise

import pytest

from ragscience.reading.heading_text import (
    Numbered,
    in_sequence,
    is_label,
    is_sentence,
    without_articles,
    without_lists,
)
from ragscience.reading.pdf_reader import read_pdf
from tests.reading.drawing import Sheet, draw
from tests.shared_data import needs_shared_data, shared_paper

BOLD = "hebo"
PLAIN = ("Times", 10.0, False, False, False)
STRONG = ("Times", 12.0, True, False, False)


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


def test_numbered_trials_in_a_row_are_headings(tmp_path):
    names = ["Introduction", "Trial 1", "Trial 2", "Trial 3", "Discussion"]
    sheet = Sheet()
    sections(sheet, names)
    assert headings_of(tmp_path, sheet) == names


def test_prompts_of_a_dialogue_are_no_headings(tmp_path):
    first, second = Sheet(), Sheet()
    sections(first, SIX)
    prompts = [
        "What are three kinds of clay?",
        "Write a story of a kiln",
        "You are a kiln. I ask, and you glow, always",
    ]
    sections(second, ["7 Dialogues", *prompts])
    assert headings_of(tmp_path, first, second) == [*SIX, "7 Dialogues"]


def test_a_question_is_a_heading_where_sections_have_no_numbers(tmp_path):
    names = ["Introduction", "Why does clay crack?", "Conclusion"]
    sheet = Sheet()
    sections(sheet, names)
    assert headings_of(tmp_path, sheet) == names


def test_lines_of_an_algorithm_are_no_headings(tmp_path):
    sheet = Sheet()
    y = sections(sheet, SIX[:5])
    for number, line in enumerate(("for each kiln do", "heat the kiln", "end for"), 1):
        sheet.write(72, y + 16 * number, f"{number}: {line}", 10, BOLD)
    sections(sheet, SIX[5:], y + 80)
    assert headings_of(tmp_path, sheet) == SIX


def test_authors_and_addresses_below_the_abstract_are_no_headings(tmp_path):
    sheet = Sheet().write(120, 60, "On Kilns and their Ashes", 18, BOLD)
    y = sections(sheet, ["ABSTRACT"], 100)
    for text in ("Ann Author", "ann@kilns.org", "https://kilns.org/ann"):
        sheet.write(72, y, text, 11, BOLD)
        y += 24
    sections(sheet, SIX[:4], y)
    found = headings_of(tmp_path, sheet)
    assert [one for one in found if "@" in one or "http" in one] == []
    assert found[-4:] == SIX[:4]


def test_the_title_and_authors_of_a_cover_page_are_no_headings(tmp_path):
    cover = Sheet().write(72, 100, "Technical Report on Kilns", 14, BOLD).write(72, 160, "Ann Author", 14, BOLD)
    cover.paragraph(72, 300, 3, width=12)
    inside = Sheet().write(72, 60, "Technical Report on Kilns", 14, BOLD).write(72, 90, "Ann Author", 14, BOLD)
    sections(inside, ["Abstract", *SIX[:4]], 150)
    assert headings_of(tmp_path, cover, inside) == ["Abstract", *SIX[:4]]


def test_a_whole_paragraph_in_bold_is_no_heading(tmp_path):
    sheet = Sheet()
    y = sections(sheet, ["Abstract"])
    for text in ("Motivation: kilns are hot, and those who", "look after them are few, as many papers"):
        sheet.write(72, y, text, 10, BOLD)
        y += 12
    for text in ("say that were written in the years since", "the first kiln was built by somebody who", "knew how"):
        sheet.write(72, y, text, 10, BOLD)
        y += 12
    sections(sheet, SIX[:4], y + 20)
    assert headings_of(tmp_path, sheet) == ["Abstract", *SIX[:4]]


def test_cells_of_a_table_with_numbers_are_no_sections_of_a_paper_without(tmp_path):
    sheet = Sheet()
    y = sections(sheet, ["Background", "Methods", "Results"])
    for number, text in enumerate(("Patients complain of delays", "Weak part of patients in care", "Referrals"), 1):
        sheet.write(72, y, f"{number}. {text}", 9, "tiro")
        y += 26
    sections(sheet, ["Discussion"], y)
    assert headings_of(tmp_path, sheet) == ["Background", "Methods", "Results", "Discussion"]


def test_entries_of_a_table_of_contents_are_no_headings(tmp_path):
    contents = Sheet().write(72, 60, "Contents", 14, BOLD)
    for number, name in enumerate(SIX):
        contents.write(72, 100 + 26 * number, name, 11, BOLD).write(500, 100 + 26 * number, str(3 + number), 11, BOLD)
    inside = Sheet()
    sections(inside, SIX)
    assert headings_of(tmp_path, contents, inside) == ["Contents", *SIX]


def test_running_heads_with_a_page_number_are_no_headings(tmp_path):
    sheets = []
    for number, (name, other) in enumerate(pairwise(SIX), 10):
        sheet = Sheet().write(72, 130, f"{number} Kilns of Old", 11, BOLD)
        sections(sheet, [name, other] if name == SIX[0] else [other], 160, lines=6)
        sheets.append(sheet)
    assert headings_of(tmp_path, *sheets) == SIX


def test_proofs_and_lemmas_are_no_sections(tmp_path):
    sheet = Sheet()
    sections(sheet, [*SIX[:3], "Lemma 1 (Heat)", "Proof", *SIX[3:5], "Definition 2", SIX[5]], lines=2)
    assert headings_of(tmp_path, sheet) == SIX


def test_small_subheadings_of_a_font_of_their_own_are_found(tmp_path):
    sheet, names = Sheet(), ["Setting", "Tools for Kilns", "Interviews", "Staff", "Ethics of Fire"]
    y = sections(sheet, ["Background", "Methods"])
    for number, name in enumerate(names):
        sheet.write(72, y, name, 9, "tibi")
        y = sheet.paragraph(72, y + 12, 4, start=number, width=12) + 14
    sections(sheet, ["Results"], y)
    assert headings_of(tmp_path, sheet) == ["Background", "Methods", *names, "Results"]


@pytest.mark.parametrize(
    "text",
    [
        "Theorem 2",
        "Theorem 5.4 For every k there is a kiln",
        "Lemma 3.1 (Heat)",
        "Proof",
        "Proof of Theorem 2.",
        "Figure 3: Kilns",
        "a.b@kilns.org",
        "www.kilns.org",
    ],
)
def test_labels_and_addresses(text):
    assert is_label(text)


@pytest.mark.parametrize("text", ["Assumptions", "Examples of Kilns", "Figures of Merit", "Case 1", "Proofs"])
def test_names_that_begin_like_labels(text):
    assert not is_label(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Memory-access performance.", False),
        ("Kilns vs. ovens", False),
        ("What is fire?", False),
        ("You are a kiln. I will ask you.", True),
        ("Dear recruiter,", True),
        ("We listened to it and here is what we thought of it all:", True),
    ],
)
def test_sentences(text, expected):
    assert is_sentence(text) is expected


def numbers(*found):
    return [Numbered(index, number, "", STRONG) for index, number in enumerate(found)]


def kept(found):
    return [one.number for one in found]


def test_numbers_in_sequence_are_kept_and_one_that_was_missed_does_not_matter():
    assert kept(in_sequence(numbers("1", "2", "2.1", "2.3", "4", "A", "B"), ())) == [
        "1",
        "2",
        "2.1",
        "2.3",
        "4",
        "A",
        "B",
    ]
    assert kept(in_sequence(numbers("I", "II", "III", "IV", "VI"), ())) == ["I", "II", "III", "IV", "VI"]


def test_a_number_out_of_sequence_needs_the_style_of_those_in_it():
    odd = Numbered(9, "18", "", PLAIN)
    assert kept(in_sequence([*numbers("1", "2", "3"), odd], ())) == ["1", "2", "3"]
    assert kept(in_sequence([*numbers("1", "2", "3"), Numbered(9, "8", "", STRONG)], ())) == ["1", "2", "3", "8"]


def test_an_initial_is_no_appendix():
    assert kept(without_articles(numbers("D", "1", "2"), 9)) == ["1", "2"]
    assert kept(without_articles(numbers("I", "II", "III", "IV", "V"), 9)) == ["I", "II", "III", "IV", "V"]
    assert kept(without_articles(numbers("A", "1", "2"), 9)) == ["1", "2"]
    assert kept(without_articles(numbers("1", "2", "A"), 1)) == ["1", "2", "A"]


def test_numbers_no_larger_than_sections_without_any_are_those_of_lists():
    assert without_lists([Numbered(1, "1", ".", PLAIN)], [STRONG] * 3) == []
    assert kept(without_lists(numbers("1"), [PLAIN] * 3)) == ["1"]
    assert kept(without_lists(numbers("1"), [STRONG] * 2)) == ["1"]


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


def test_small_back_matter_has_its_headings(tmp_path):
    sheet = Sheet()
    y = sections(sheet, ["Background", "Methods", "Results"])
    for number, name in enumerate(("Competing interests", "References")):
        sheet.write(72, y, name, 7.5, BOLD)
        y = sheet.paragraph(72, y + 12, 3, start=number, size=7.5) + 14
    assert headings_of(tmp_path, sheet)[-2:] == ["Competing interests", "References"]
