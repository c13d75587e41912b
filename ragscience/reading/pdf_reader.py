"""A PDF becomes a Document: its text, with the offsets of each page.

PyMuPDF reads the file and repairs it where possible: a file is refused only where none of it can be used.
"""

import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from ragscience.core.errors import FileProblem, ModelProblem
from ragscience.core.records import LOST_PAGE, REPAIRED_FILE, Box, Document, Mark, Metadata
from ragscience.reading.document_structure import SourcePage, structured_document
from ragscience.reading.floats import CAPTION
from ragscience.reading.formulas import PageGlyphs
from ragscience.reading.glyph_repair import FontRepairs
from ragscience.reading.page_reader import UNSETTLED, PageText, read_glyphs, read_marks, read_page
from ragscience.reading.paper_metadata import metadata_of
from ragscience.reading.pdf_file import AGAIN, cause_of, failures, mishaps, opened, page_count, raise_if_out_of_memory
from ragscience.reading.text_cleaning import clean_span, printable_name, sensible_title
from ragscience.reading.text_spans import ASCENT, DESCENT, PageSpans, Span, TextPiece, rule_boxes

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


def read_pdf(path: Path, password: str = "", ocr: str = "", on_page: OnPage = lambda *_: None) -> Document:
    """The document of a PDF, with a warning for everything that is missing from it.

    Pages without readable text are read by OCR in the language `ocr`, or in several ("eng+deu"), if one is given.

    Raises FileProblem with reason "missing", "unreadable", "not-a-pdf", "empty", "encrypted", "damaged", "no-pages" or
    "no-text", and MemoryError.
    """
    with opened(path, password) as source:
        repairs = FontRepairs()
        pages: list[PageText] = []
        marks: list[Mark] = []
        count = page_count(source, path)
        for index in range(count):
            marks += read_marks(source, index)
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
    return replace(document, metadata=metadata, warnings=(*document.warnings, *warning), marks=tuple(marks))


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
        if not drawn.get_bboxlog():
            return page  # nothing is drawn on it
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


# OCR, by the Tesseract in PyMuPDF: the data of each language are files of Tesseract's own packages

_DOTS_PER_INCH = 300
"""Tesseract's best resolution: capitals of 10 point type are 30 dots high."""
_MOST_DOTS = 40_000_000
"""In a page's picture: an A3 page at 300 dots per inch has 17 million. Larger pages have a lower resolution."""
_FOLDERS = (
    "/usr/share/tesseract-ocr/*/tessdata",
    "/usr/share/tesseract-ocr/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
)
_DATA = ".traineddata"
_WORD = re.compile(r"[^\W_]{3,}|\d+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_LEAST_WRITING = 0.45
"""Share of the visible characters in words and numbers: 0.34 for a photograph that Tesseract took for writing, 0.78 to
0.94 for printed pages, between them for drawings with labels."""
_ALIKE = 0.85, 1.2
"""A line within this ratio of its page's usual size has the usual size: measurements are not more exact."""
_CAPITAL, _SMALL_LETTER, _BELOW = 0.72, 0.53, 0.21
"""How far letters reach above and below the base line, in type sizes: Helvetica's, and about Times's."""
_REACHES_UP = re.compile(r"[^\Wacegm-su-z_]")
_REACHES_DOWN = re.compile(r"[gjpqy,;()\[\]{}|Q]")
_TABLE = re.compile(r"^tab(?:le|\.)? ?[\dIVX]", re.IGNORECASE | re.MULTILINE)


def find_tessdata(language: str) -> str:
    """The folder with Tesseract's data of a language, or of several ("eng+deu").

    It is the environment's `TESSDATA_PREFIX`, as for Tesseract itself, or one of the usual folders. Raises ModelProblem
    where the data are missing.
    """
    folders = list(_data_folders())
    wanted = language.split("+")
    for folder in folders:
        if all((folder / f"{name}{_DATA}").is_file() for name in wanted):
            return str(folder)
    known = sorted({path.name.removesuffix(_DATA) for folder in folders for path in folder.glob(f"*{_DATA}")})
    if not known:
        message = "Reading scanned pages needs Tesseract, which is not installed."
        raise ModelProblem(message, "Install it, for example with: apt-get install tesseract-ocr")
    lacking = next((name for name in wanted if name not in known), wanted[0])
    message = f"Tesseract has no data for the language {lacking!r}; it has {', '.join(known)}."
    package = f"tesseract-ocr-{lacking.replace('_', '-').lower()}"
    raise ModelProblem(message, f"Install it, for example with: apt-get install {package}; or set RAG_OCR_LANGUAGE.")


def _data_folders() -> Iterator[Path]:
    """The folders that may have Tesseract's data, newest version first."""
    if prefix := os.environ.get("TESSDATA_PREFIX"):
        yield Path(prefix)
        return
    patterns = list(_FOLDERS)
    program = shutil.which("tesseract")
    if program:
        share = Path(program).resolve().parent.parent / "share"
        patterns += [f"{share}/tessdata", f"{share}/tesseract-ocr/*/tessdata"]
    for pattern in patterns:
        yield from sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)


def recognise(page: Any, language: str, tessdata: str) -> PageSpans:
    """The text on the picture of a `pymupdf.Page`, as it is shown; takes 1 to 5 s for a printed page.

    Raises what PyMuPDF raises for a page that cannot be drawn or recognised.
    """
    import pymupdf

    width, height = float(page.rect.width), float(page.rect.height)
    dots = min(_DOTS_PER_INCH, int((_MOST_DOTS / max(width * height / 72**2, 1e-3)) ** 0.5))
    # In colour: of grey pictures PyMuPDF 2.0 makes pages without any text.
    picture = page.get_pixmap(dpi=max(dots, 1), colorspace=pymupdf.csRGB, alpha=False)
    # PyMuPDF gives a PDF of a single page, with the recognised text behind the picture.
    written = picture.pdfocr_tobytes(compress=False, language=language, tessdata=tessdata)
    with pymupdf.open(stream=written, filetype="pdf") as recognised:
        scale = pymupdf.Matrix(width / recognised[0].rect.width, height / recognised[0].rect.height)
        content = recognised[0].get_textpage(flags=pymupdf.TEXTFLAGS_TEXT, matrix=scale).extractDICT()
    lines = [line for block in content["blocks"] for line in block.get("lines", ())]
    plain = "\n".join(" ".join(_text(line).split()) for line in lines)
    return PageSpans(width, height, tuple(_pieces(lines, by_word=bool(_TABLE.search(plain)))), plain)


def _text(line: dict[str, Any]) -> str:
    return clean_span("".join([span["text"] for span in line["spans"]]))


def _pieces(lines: Sequence[dict[str, Any]], *, by_word: bool) -> Iterator[TextPiece]:
    """A piece for each line, or for each word on a page with a table, whose cells are found by white space."""
    lines = [line for line in lines if _text(line).strip()]
    measured = [_measured(_text(line), line["bbox"]) for line in lines]
    number = 0
    for line, (size, base) in zip(lines, evened(measured, [len(_text(line)) for line in lines]), strict=True):
        parts = [span for span in line["spans"] if clean_span(span["text"]).strip()]
        for words in [[span] for span in parts] if by_word else [parts]:
            text = clean_span(" ".join(span["text"].strip() for span in words))
            x0, x1 = words[0]["bbox"][0], words[-1]["bbox"][2]
            span = Span(text, x0, x1, base, size, "", bold=False, italic=False)
            yield TextPiece((span,), x0, base - ASCENT * size, x1, base + DESCENT * size, base, size, 0, number)
            number += 1


def _measured(text: str, box: Box) -> tuple[float, float]:
    """(type size, base line) of a line whose letters fill the box, in points.

    Tesseract gives each word a size by its width, which is not the type size. The height of the line gives the type
    size, given whether letters with ascenders and descenders are in it.
    """
    up = _CAPITAL if _REACHES_UP.search(text) else _SMALL_LETTER
    down = _BELOW if _REACHES_DOWN.search(text) else 0.0
    size = max(1.0, (box[3] - box[1]) / (up + down))
    return size, box[3] - down * size


def is_writing(text: str) -> bool:
    """Whether a recognised text is writing: in photographs and drawings Tesseract finds letters but no words."""
    visible = sum(map(len, text.split()))
    return visible > 0 and sum(map(len, _WORD.findall(text))) >= _LEAST_WRITING * visible


def evened(lines: Sequence[tuple[float, float]], characters: Sequence[int]) -> list[tuple[float, float]]:
    """(size, base line) of lines with so many characters; sizes near the usual one become the usual one."""
    weighted = sorted((size, count) for (size, _), count in zip(lines, characters, strict=True))
    usual, seen = 0.0, 0
    for size, count in weighted:
        usual, seen = size, seen + count
        if 2 * seen >= sum(characters):
            break
    low, high = _ALIKE
    return [(round(usual if low * usual <= size <= high * usual else size, 1), base) for size, base in lines]
