"""OCR of pages without a text layer, by the Tesseract in PyMuPDF.

PyMuPDF has only the program: the data of each language are files of Tesseract's own packages.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Box
from ragscience.reading.text_cleaning import clean_span
from ragscience.reading.text_spans import ASCENT, DESCENT, PageSpans, Span, TextPiece

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


def has_picture(page: Any) -> bool:
    """Whether anything is drawn on a `pymupdf.Page`; if not, there is nothing to recognise."""
    return bool(page.get_bboxlog())


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
