"""Readers' notes and text that nobody can see are not the author's words."""

import pymupdf
import pytest

from ragscience.reading.pdf_reader import read_pdf
from tests.pdf_factory import make_pdf
from tests.shared_data import SHARED_DATA, needs_shared_data


def test_a_readers_note_is_not_in_the_text(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["The author says that attention is enough.\nAnd says no more."])
    with pymupdf.open(path) as paper:
        page = paper[0]
        page.add_freetext_annot((60, 62, 400, 90), "I doubt this: is it really?", fontsize=11)
        page.add_highlight_annot(page.search_for("attention is enough"))
        page.add_stamp_annot((300, 300, 500, 400), stamp=0)
        field = pymupdf.Widget()
        field.field_name, field.field_type, field.rect = (
            "name",
            pymupdf.PDF_WIDGET_TYPE_TEXT,
            pymupdf.Rect(50, 500, 300, 530),
        )
        field.field_value = "what was filled in"
        page.add_widget(field)
        paper.save(tmp_path / "noted.pdf")
    document = read_pdf(tmp_path / "noted.pdf")
    assert document.text == "The author says that attention is enough. And says no more.\n\nwhat was filled in"
    assert document.pages[0].furniture == "I doubt this: is it really?"
    assert document.warnings == ()


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "notes"),
    [("papers/retro_2112.04426", 6), ("papers2/distillation_1503.02531", 9), ("papers2/star_2203.14465", 3)],
)
def test_the_notes_in_annotated_papers_are_left_out(name, notes):
    path = SHARED_DATA / f"{name}.pdf"
    with pymupdf.open(path) as paper:
        written = [a.info["content"] for page in paper for a in page.annots(types=[pymupdf.PDF_ANNOT_FREE_TEXT])]
    assert len(written) == notes
    document = read_pdf(path)
    text = " ".join(document.text.split())
    for note in (" ".join(note.split()) for note in written):
        assert note not in text or len(note.split()) < 4
        assert any(note in " ".join(page.furniture.split()) for page in document.pages)
