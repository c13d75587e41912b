"""The text of one page of a file, without what is not the author's: readers' notes and text that nobody can see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragscience.reading.floats import CAPTION
from ragscience.reading.layout_model import LayoutBox
from ragscience.reading.pymupdf_errors import cause_of, failures, load_pymupdf, raise_if_out_of_memory
from ragscience.reading.text_cleaning import clean_text, illegible_share
from ragscience.reading.text_spans import PageSpans, read_spans, rule_boxes
from ragscience.records import Box

__all__ = ["ILLEGIBLE_SHARE", "PageText", "read_page"]

ILLEGIBLE_SHARE = 0.5
"""Above it a text layer is useless. Fonts without Unicode values give 0.6 to 0.9 on whole pages; readable papers with
old bitmap fonts stay below 0.4 on their worst page (a table), and below 0.1 as a whole."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What was read of a page."""

    text: str
    lack: str = ""
    """"lost", "blank" or "illegible", or empty for a good page."""
    detail: str = ""
    spans: PageSpans | None = None
    rules: tuple[Box, ...] = ()
    drawings: tuple[Box, ...] = ()
    is_recognised: bool = False
    """Whether its text is from OCR."""
    parts: tuple[LayoutBox, ...] = ()
    unseen: str = ""
    """Why the layout model failed on it."""
    left_out: str = ""
    """Readers' notes, a line each."""


def read_page(source: Any, index: int) -> PageText:
    """The text of a page of a `pymupdf.Document`, or the reason why it has none. Raises MemoryError."""
    try:
        page = source[index]
        notes = _without_annotations(source, page)
        textpage = page.get_textpage(flags=load_pymupdf().TEXTFLAGS_TEXT)
        text = clean_text(textpage.extractText()).rstrip("\n")
        floats = {match["what"][:3].lower() for line in text.split("\n") if (match := CAPTION.match(line))}
        spans = read_spans(page, textpage, text, has_tables="tab" in floats)
        rules, drawings = rule_boxes(page) if floats else ((), ())
    except failures() as error:
        raise_if_out_of_memory(error)
        return PageText("", "lost", cause_of(error))
    left_out = "\n".join(notes)
    if not text.strip():
        return PageText("", "blank", left_out=left_out)
    if (share := illegible_share(text)) > ILLEGIBLE_SHARE:
        return PageText(text, "illegible", f"{share:.0%} of its characters", left_out=left_out)
    return PageText(text, spans=spans, rules=tuple(rules), drawings=tuple(drawings), left_out=left_out)


def _without_annotations(source: Any, page: Any) -> list[str]:
    """Take the annotations off a page of the opened file, but for the fields of a form; gives the notes among them.

    Later readers of the page (OCR, the layout model, the metadata) do not see them, either.
    """
    pymupdf = load_pymupdf()
    notes = []
    try:
        # Deleting an annotation ends the one after it.
        while annotation := page.first_annot:
            if annotation.type[0] == pymupdf.PDF_ANNOT_FREE_TEXT:
                notes.append(" ".join(clean_text(annotation.info["content"]).split()))
            page.delete_annot(annotation)
    except failures():
        # They are damaged: form fields are lost with them.
        source.xref_set_key(page.xref, "Annots", "null")
    return [note for note in notes if note]
