"""A PDF becomes a Document: its text, with the offsets of each page.

PyMuPDF reads the file and repairs it where possible: a file is refused only where none of it can be used.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from ragscience.core.errors import FileProblem, ModelProblem
from ragscience.core.records import LOST_PAGE, REPAIRED_FILE, Document, Metadata
from ragscience.reading.document_structure import SourcePage, structured_document
from ragscience.reading.floats import CAPTION
from ragscience.reading.formulas import PageGlyphs
from ragscience.reading.glyph_repair import FontRepairs
from ragscience.reading.ocr import find_tessdata, has_picture, is_writing, recognise
from ragscience.reading.page_reader import UNSETTLED, PageText, read_glyphs, read_page
from ragscience.reading.paper_metadata import metadata_of
from ragscience.reading.pdf_file import AGAIN, cause_of, failures, mishaps, opened, page_count, raise_if_out_of_memory
from ragscience.reading.text_cleaning import printable_name, sensible_title
from ragscience.reading.text_spans import PageSpans, rule_boxes

OnPage = Callable[[int, int, bool], None]
"""Is told of a page that is done: its number from 1, how many there are, and whether OCR read it, which takes
seconds. A page may be read more than once."""

_SCANNED = frozenset({"blank", "illegible"})
"""Pages in such a state may be read by OCR."""
_HARD_TO_READ, _LEAST_ILLEGIBLE, _AS_SCANNED = 0.02, 20, 0.25
"""A page with this share of illegible characters, and so many of them, has a warning; above the last it may be read by
OCR, too."""
_TITLE_PAGES = 3
"""Their words decide whether a hyphen at a line's end in the title belongs to the word."""
_LACKS = {
    "lost": LOST_PAGE,
    "blank": "without text: blank, scanned or damaged",
    "illegible": "without readable text: scanned, or in fonts without Unicode values",
}


def read_pdf(
    path: Path,
    password: str = "",
    ocr: str = "",
    on_page: OnPage = lambda *_: None,
) -> Document:
    """The document of a PDF, with a warning for everything that is missing from it.

    Pages without readable text are read by OCR in the language `ocr`, or in several ("eng+deu"), if one is given.

    Raises FileProblem with reason "missing", "unreadable", "not-a-pdf", "empty", "encrypted", "damaged", "no-pages" or
    "no-text", and MemoryError.
    """
    with opened(path, password) as source:
        repairs = FontRepairs()
        pages: list[PageText] = []
        count = page_count(source, path)
        for index in range(count):
            pages.append(read_page(source, index, repairs))
            on_page(index + 1, count, False)

        def slow_page_done(index: int) -> None:
            on_page(index + 1, count, True)

        repairs.decide()
        for index, page in enumerate(pages):
            if page.lack == UNSETTLED:
                again = read_page(source, index, repairs)
                pages[index] = replace(again, left_out="\n".join(filter(None, [page.left_out, again.left_out])))
        instead = ""
        if ocr and any(map(_may_be_recognised, pages)):
            try:
                tessdata = find_tessdata(ocr)
            except ModelProblem as problem:
                instead = str(problem)
            else:
                pages = [_recognised_page(source, *one, ocr, tessdata, slow_page_done) for one in enumerate(pages)]
                instead = f"OCR found no words on it in the language {ocr!r}: set RAG_OCR_LANGUAGE, or skip the file."
        # Known only now: a damaged page is repaired while it is read.
        was_repaired = bool(source.is_repaired)
        title = sensible_title((source.metadata or {}).get("title"))
        metadata, warning = _metadata(source, pages)
        _require_text(path, pages, instead)
        glyphs_of = cache(partial(read_glyphs, source, repairs=repairs))
        document = _document(pages, title=metadata.title or title, was_repaired=was_repaired, glyphs_of=glyphs_of)
    return replace(document, metadata=metadata, warnings=(*document.warnings, *warning))


def _metadata(source: Any, pages: list[PageText]) -> tuple[Metadata, tuple[str, ...]]:
    """The paper's metadata, and a warning where they cannot be read: the document is kept."""
    try:
        seen = None if pages[0].is_recognised else pages[0].spans
        text = "\n".join(page.text for page in pages[:_TITLE_PAGES])
        return metadata_of(seen, source.metadata or {}, text, pages[-1].text), ()
    except mishaps() as error:
        raise_if_out_of_memory(error)
        return Metadata(), (f"without authors, year and title: {cause_of(error)}",)


def _may_be_recognised(page: PageText) -> bool:
    return page.lack in _SCANNED or page.illegible >= _AS_SCANNED


def _recognised_page(
    source: Any, index: int, page: PageText, ocr: str, tessdata: str, slow_page_done: Callable[[int], None]
) -> PageText:
    """The page, read by OCR if it had no text and OCR finds words. Raises MemoryError."""
    if not _may_be_recognised(page):
        return page
    try:
        drawn = source[index]
        if not has_picture(drawn):
            return page
        spans = recognise(drawn, ocr, tessdata)
        rules, drawings = rule_boxes(drawn, drawn.get_bboxlog()) if CAPTION.search(spans.plain) else ((), ())
    except failures() as error:
        raise_if_out_of_memory(error)
        return replace(page, detail=f"OCR failed: {cause_of(error)}")
    finally:
        slow_page_done(index)
    if not is_writing(spans.plain):
        return page
    return PageText(spans.plain, "", "", spans, tuple(rules), tuple(drawings), is_recognised=True)


def _require_text(path: Path, pages: list[PageText], instead: str) -> None:
    """Raise FileProblem where no page can be read; its fix is `instead`, or else OCR."""
    name = printable_name(path)
    on_pages = "its only page" if len(pages) == 1 else f"any of its {len(pages)} pages"
    if all(page.lack == "lost" for page in pages):
        message = f"{name} is damaged: {on_pages} could not be read: {pages[0].detail}."
        raise FileProblem(message.replace("any of", "none of"), AGAIN, reason="damaged")
    ocr = instead or (
        "`python ingest.py --ocr` reads scans; it needs Tesseract (apt-get install tesseract-ocr). "
        f"Or add a text layer with: ocrmypdf --force-ocr {shlex.quote(name)} {shlex.quote(f'text-{name}')}"
    )
    if not all(page.lack for page in pages):
        return
    if garbled := [page for page in pages if page.lack == "illegible"]:
        share = sum(page.illegible * len(page.text) for page in garbled) / sum(len(page.text) for page in garbled)
        what = f"{share:.0%} of its characters are illegible"
        raise FileProblem(f"{name} has no readable text: {what}.", ocr, reason="no-text")
    raise FileProblem(f"{name} is probably scanned: there is no text on {on_pages}.", ocr, reason="no-text")


def _is_hard_to_read(page: PageText) -> bool:
    """Whether a page with text lacks so many characters that it has a warning."""
    if page.lack or page.is_recognised:
        return False
    return page.illegible >= _HARD_TO_READ and page.illegible * len(page.text) >= _LEAST_ILLEGIBLE


def _why_illegible(page: PageText) -> str:
    why = "fonts without Unicode values"
    return f"{why}; --ocr reads it as a scan" if page.illegible >= _AS_SCANNED else why


def _document(
    pages: list[PageText], *, title: str, was_repaired: bool, glyphs_of: Callable[[int], PageGlyphs | None]
) -> Document:
    """The document of the pages, without the text of illegible ones, with warnings of what they lack."""
    sources = []
    for number, page in enumerate(pages, 1):
        warning = _LACKS[page.lack] + (f" ({page.detail})" if page.detail else "") if page.lack else ""
        if page.is_recognised:
            warning = "read by OCR"
        elif _is_hard_to_read(page):
            warning = f"{page.illegible:.0%} of its characters are illegible: {_why_illegible(page)}"
        spans = page.spans or PageSpans(0.0, 0.0, (), "")
        glyphs = None if page.is_recognised else partial(glyphs_of, number - 1)
        sources.append(SourcePage(number, spans, page.rules, page.drawings, warning, glyphs))
    lacking = Counter(page.lack for page in pages if page.lack)
    warnings = [REPAIRED_FILE] if was_repaired else []
    warnings += [f"{lacking[lack]} of {len(pages)} pages {what}" for lack, what in _LACKS.items() if lacking[lack]]
    if hard := [page for page in pages if _is_hard_to_read(page)]:
        low, high = (f"{pick(page.illegible for page in hard):.0%}" for pick in (min, max))
        shares = low if low == high else f"{low} to {high}"
        what = f"with illegible characters ({shares}), in fonts without Unicode values"
        again = "; --ocr reads the worst as scans" if any(page.illegible >= _AS_SCANNED for page in hard) else ""
        warnings.append(f"{len(hard)} of {len(pages)} pages {what}{again}")
    if recognised_pages := sum(page.is_recognised for page in pages):
        warnings.append(f"{recognised_pages} of {len(pages)} pages read by OCR: some of their words may be wrong")
    document = structured_document(sources, title, warnings)
    whole = (
        replace(one, furniture="\n".join(filter(None, [one.furniture, page.left_out])))
        for one, page in zip(document.pages, pages, strict=True)
    )
    return replace(document, pages=tuple(whole))
