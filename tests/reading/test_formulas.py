"""Displayed formulas of drawn pages become text like LaTeX; what is not sure is marked."""

import csv
import re
import unicodedata

import pytest

from ragscience.core.records import Document, Element, Line, Page
from ragscience.core.sentences import UNSURE, formulas_named
from ragscience.reading.other_formats import with_formulas
from tests.reading.drawing import Sheet, read
from tests.shared_data import ROOT, needs_shared_data, shared_paper


def prose(sheet):
    sheet.paragraph(72, 80, 6)
    sheet.paragraph(72, 300, 6, start=20)
    return sheet


def formulas_of(tmp_path, sheet):
    document = read(tmp_path, prose(sheet))
    found = [one for one in document.elements if one.kind == "equation"]
    for element in found:
        lines = [one for one in document.pages[0].lines if element.start <= one.start < element.end]
        assert (
            "\n".join(document.text[one.start : one.end] for one in lines) == document.text[element.start : element.end]
        )
    return [document.text[one.start : one.end] for one in found]


def test_a_fraction_is_read_by_its_bar(tmp_path):
    sheet = (
        Sheet().write(200, 220, "f(x) =").write(240, 213, "a + b").write(246, 228, "2c").rule(238, 217.5, 268, 217.5)
    )
    assert formulas_of(tmp_path, sheet.write(273, 220, "+ 1")) == [r"f(x) = \frac{a + b}{2c} + 1"]


def test_indices_and_exponents_are_read_by_size_and_place(tmp_path):
    sheet = Sheet().write(200, 220, "x").write(205, 222, "ij", 7).write(205, 216, "2", 7).write(214, 220, "= y")
    sheet.write(230, 215.5, "a", 7).write(234, 214, "b", 5)
    assert formulas_of(tmp_path, sheet.write(240, 220, "+ z")) == ["x_{ij}^2 = y^{a^b} + z"]


def test_a_number_raised_behind_a_full_stop_is_no_part_of_the_sentence(tmp_path):
    sheet = prose(Sheet()).write(72, 220, "All of them were counted again.").write(211, 216, "1", 7)
    document = read(tmp_path, sheet.write(220, 220, "Then the counts of both were compared with it."))
    assert "again.^1 Then" in document.text


def test_a_word_set_small_and_lower_is_an_index_of_the_word_before(tmp_path):
    sheet = prose(Sheet()).write(72, 220, "There are 340 M weights in BERT").write(206, 222, "LARGE", 7)
    document = read(tmp_path, sheet.write(232, 220, "and far fewer in the other of both."))
    assert "in BERT_LARGE and far fewer" in document.text


def test_what_stands_in_a_line_and_is_on_no_level_makes_it_unsure(tmp_path):
    sheet = Sheet().write(200, 220, "f(x) =").write(240, 214, "a").write(250, 226, "b").write(260, 220, "+ 1")
    (found,) = formulas_of(tmp_path, sheet)
    assert found.startswith(UNSURE[0])
    assert found.endswith(UNSURE[1])


def plain(text):
    """A formula without what does not change its meaning: blanks, braces around one sign, variants of signs."""
    kept = "".join(text.split()).replace("′", "'").replace("¯", "\ue001")
    kept = unicodedata.normalize("NFKC", kept).replace("\ue001", "¯")
    same = ("−-", "⋅·", "∥‖", "∣|", "∼~", "⊺⊤", "ǫϵ", "φϕ", "µμ", "∆Δ", "△Δ", "◦∘", "εϵ", "∗*")
    kept = kept.replace("||", "‖").replace("=⇒", "⟹").replace("\ufe01", "")
    for one, other in same:
        kept = kept.replace(one, other)
    return re.sub(r"([_^])\{(.)\}", r"\1\2", kept)


def judged(half):
    with (ROOT / "benchmarks" / "questions" / "formulas.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["half"] == half:
                document = shared_paper(row["file"])
                x0, y0, x1, y1 = map(float, row["box"].split(","))
                found = "\n".join(
                    document.text[one.start : one.end]
                    for one in document.elements
                    if one.page == int(row["page"]) and one.kind == "equation" and one.box
                    and one.box[1] < y1 + 4 and y0 - 4 < one.box[3] and one.box[0] < x1 and x0 < one.box[2]
                )  # fmt: skip
                is_right = plain(row["formula"]) in plain(found)
                yield "right" if is_right else "marked" if UNSURE[0] in found or not found else "wrong"


@needs_shared_data
@pytest.mark.parametrize("half", ["open", "closed"])
def test_sixty_formulas_of_papers_are_right_or_marked(half):
    found = list(judged(half))
    assert len(found) == 30
    assert found.count("right") >= {"open": 26, "closed": 21}[half]
    assert found.count("wrong") <= 1


def test_a_formula_that_is_not_understood_is_named_by_its_page():
    text = f"It is {UNSURE[0]}a b{UNSURE[1]}, and {UNSURE[0]}c"
    assert formulas_named(text, 5) == "It is [formula, p.5], and [formula, p.5]"
    assert formulas_named("c d⟫ and e") == "[formula] and e"


def test_a_formula_is_replaced_where_it_is_surely_the_same_and_all_else_moves_with_it():
    parts = [("text", "Before it."), ("equation", "⟪dh(t) = f(h(t),t,θ) (2)⟫"), ("equation", "a_1 + b_1 = c_1d_1")]
    parts += [("equation", "E[v] = sum_1 (3)\n= max_2 − E[w] (4)"), ("text", "Behind it.")]
    text, elements, lines = "", [], []
    for kind, said in parts:
        elements.append(Element(len(text), len(text) + len(said), kind, 1))
        lines += [Line(len(text) + one.start(), len(text) + one.end(), (0, 0, 9, 9)) for one in re.finditer(".+", said)]
        text += f"{said}\n"
    document = Document(text, (Page(1, 0, len(text), lines=tuple(lines)),), elements=tuple(elements))
    known = [
        r"\frac{dh(t)}{dt}=f(h(t),t,\theta) (2)",
        "a_{1}+b_{1}=c_{1}d_{1}",
        "a_{1}+b_{1}=d_{1}-c_{1}",
        "=max_{2}-E[w] (4)",
    ]
    new = with_formulas(document, known)
    said = [new.text[one.start : one.end] for one in new.elements]
    assert said == ["Before it.", known[0], "a_1 + b_1 = c_1d_1", f"E[v] = sum_1 (3)\n{known[3]}", "Behind it."]
    assert [new.text[one.start : one.end] for one in new.pages[0].lines] == "\n".join(said).split("\n")
    assert new.pages[0].end == len(new.text)
