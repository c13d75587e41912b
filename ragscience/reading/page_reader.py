"""The text of one page of a file, without what is not the author's: readers' notes and text that nobody can see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ragscience.core.records import Box
from ragscience.reading.floats import CAPTION
from ragscience.reading.glyph_repair import FontRepairs
from ragscience.reading.hidden_text import hidden_places, place_of
from ragscience.reading.layout_model import LayoutBox
from ragscience.reading.pymupdf_errors import cause_of, failures, load_pymupdf, raise_if_out_of_memory
from ragscience.reading.text_cleaning import clean_span, clean_text, illegible_share, mean_bits
from ragscience.reading.text_spans import PageSpans, read_spans, rule_boxes

__all__ = ["UNSETTLED", "PageText", "read_page"]

UNSETTLED = "unsettled"
"""What a page lacks whose fonts are understood only when all pages were seen."""

_NOISE_SHARE, _LEAST_NOISE = 0.5, 3
"""A page with this share of illegible characters is no text, nor is a line with so many of them. Fonts without Unicode
values give 0.6 to 0.9; readable papers stay below 0.1."""
_NO_WORDS_BITS, _NO_WORDS_PAIRS = 3.4, 200
"""A page with so many bits a pair, in so many pairs, has letters that stand for others: text has up to 2.9."""
_MOST_CHARACTERS = 200_000
"""On a page with a layout."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What was read of a page."""

    text: str
    lack: str = ""
    """"lost", "blank", "illegible" or `UNSETTLED`, or empty for a good page."""
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
    """Readers' notes and text that nobody can see, a line each."""
    illegible: float = 0.0
    """The share of illegible characters among those that the file has on the page."""
    content: dict[str, Any] | None = None
    """Of the first page, what PyMuPDF's `extractDICT` gives."""


def read_page(source: Any, index: int, repairs: FontRepairs) -> PageText:
    """The text of a page of a `pymupdf.Document`, or the reason why it has none. Raises MemoryError."""
    try:
        page = source[index]
        notes = _without_annotations(source, page)
        textpage = page.get_textpage(flags=load_pymupdf().TEXTFLAGS_TEXT)
        text = clean_text(textpage.extractText()).rstrip("\n")
        spans, content = PageSpans(0.0, 0.0, (), text), {}
        rules: list[Box] = []
        drawings: list[Box] = []
        if len(text) <= _MOST_CHARACTERS:
            content = textpage.extractDICT()
            is_mended = repairs.mend(page, textpage, content)
            if repairs.is_unsettled(index):
                return PageText("", UNSETTLED, left_out="\n".join(notes))
            if is_mended:
                content = textpage.extractDICT()
            read_log = cache(page.get_bboxlog)
            hidden = hidden_places(page, _lines(content), read_log)
            if hidden:
                notes += [said for line in _lines(content) if (said := _text(line, hidden, is_hidden=True).strip())]
            text = "\n".join(_text(line, hidden) for line in _lines(content)).strip("\n")
            floats = {match["what"][:3].lower() for line in text.split("\n") if (match := CAPTION.match(line))}
            has_tables = "tab" in floats
            lines = _shown(textpage.extractRAWDICT() if has_tables else content, hidden)
            spans = read_spans(page, lines, text, has_tables=has_tables)
            if floats:
                rules, drawings = rule_boxes(page, read_log())
    except failures() as error:
        raise_if_out_of_memory(error)
        return PageText("", "lost", cause_of(error))
    left_out = "\n".join(notes)
    if not text.strip():
        return PageText("", "blank", left_out=left_out)
    said = "\n".join(piece.text for piece in spans.pieces) or text
    share, (bits, pairs) = illegible_share(said), mean_bits(said)
    if bits > _NO_WORDS_BITS and pairs >= _NO_WORDS_PAIRS:
        return PageText(text, "illegible", "its letters form no words", left_out=left_out, illegible=1.0)
    spans = _without_noise(spans)
    if share > _NOISE_SHARE or not spans.plain.strip():
        return PageText(text, "illegible", f"{share:.0%} of its characters", left_out=left_out, illegible=share)
    return PageText(
        spans.plain,
        spans=spans,
        rules=tuple(rules),
        drawings=tuple(drawings),
        left_out=left_out,
        content=None if index else content,
        illegible=share,
    )


def _without_noise(spans: PageSpans) -> PageSpans:
    """The spans without the pieces of which most characters are illegible."""
    if not illegible_share(spans.plain) and not illegible_share("\n".join(piece.text for piece in spans.pieces)):
        return spans
    pieces = tuple(piece for piece in spans.pieces if not _is_noise(piece.text))
    lines = [line for line in spans.plain.split("\n") if not _is_noise(line)]
    return replace(spans, pieces=pieces, plain="\n".join(lines))


def _is_noise(text: str) -> bool:
    share = illegible_share(text)
    return share > _NOISE_SHARE and share * len("".join(text.split())) >= _LEAST_NOISE


def _lines(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for block in content["blocks"] for line in block.get("lines", ())]


def _shown(content: dict[str, Any], hidden: frozenset[Box]) -> list[dict[str, Any]]:
    """The lines without the spans at these places."""
    if not hidden:
        return _lines(content)
    lines = [
        {**line, "spans": [one for one in line["spans"] if place_of(one) not in hidden]} for line in _lines(content)
    ]
    return [line for line in lines if line["spans"]]


def _text(line: dict[str, Any], hidden: frozenset[Box], *, is_hidden: bool = False) -> str:
    """The text of those spans that are not at these places, or that are."""
    spans = line["spans"]
    if hidden:
        spans = [span for span in spans if (place_of(span) in hidden) == is_hidden]
    return clean_span("".join([span["text"] for span in spans]))


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
