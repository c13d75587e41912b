"""A PDF file: opened, its pages counted, copied with the quotes highlighted, and drawn as pictures.

PyMuPDF's messages are kept off stderr, and its errors become problems of the file. All this runs in a worker process,
for the files are not trusted.
"""

import re
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from ragscience.core.errors import FileProblem
from ragscience.core.records import Box, PageShape
from ragscience.reading.text_cleaning import clean_text, printable_name

_OUT_OF_MEMORY = re.compile(r"\b(malloc|calloc|realloc)\b.{0,200}\bfailed\b")


def load_pymupdf() -> Any:
    """The module pymupdf, without messages on stderr and without its layout model, which takes 0.8 s and 450 MB."""
    if "pymupdf" not in sys.modules:
        sys.modules.update({"pymupdf.layout": None, "pymupdf4llm": None})  # type: ignore[dict-item]
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    return pymupdf


def failures() -> tuple[type[Exception], ...]:
    """PyMuPDF's errors for a bad file: its own are RuntimeErrors, MuPDF's are FzErrorBase."""
    return RuntimeError, ValueError, IndexError, load_pymupdf().mupdf.FzErrorBase


def mishaps() -> tuple[type[Exception], ...]:
    """The errors of calculations with a file's strange values, too."""
    return *failures(), ArithmeticError, AttributeError, LookupError, TypeError


def cause_of(error: Exception) -> str:
    """MuPDF's message, if known, on one line."""
    origin = error.__cause__ or error
    words = clean_text(str(origin)).split()
    return " ".join(words)[:200].rstrip(".") or type(origin).__name__


def raise_if_out_of_memory(error: Exception) -> None:
    """Raise MemoryError where MuPDF's allocator failed, which it reports like any other error."""
    if _OUT_OF_MEMORY.search(str(error)) or _OUT_OF_MEMORY.search(str(error.__cause__ or "")):
        raise MemoryError(str(error)) from error


_HEADER_WITHIN_BYTES = 1024
"""`%PDF` may begin anywhere in the first 1024 bytes (PDF 1.7 reference, appendix H, note 13)."""
AGAIN = "Download the file again."
_WEB_PAGE = "a web page"
_FROM_PAGE = "Open it in a browser to see what it says, and download the PDF itself."
_KINDS = {
    b"<!doctype html": _WEB_PAGE,
    b"<html": _WEB_PAGE,
    b"version https://git-lfs": "a Git LFS pointer",
    b"pk\x03\x04": "a ZIP or office file",
    b"%!ps": "PostScript",
    b"\x04%!ps": "PostScript",
}


def _require_pdf_header(path: Path) -> None:
    """Raise FileProblem unless the path is a regular file with a PDF header."""
    name = printable_name(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileProblem(f"{name} is not a regular file.", "Give the path of a PDF file.", reason="unreadable")
        with path.open("rb") as file:
            head = file.read(_HEADER_WITHIN_BYTES + len(b"%PDF") - 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileProblem(f"{name} does not exist.", "Check the path.", reason="missing") from error
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileProblem(f"{name} cannot be read: {cause}.", "Check its permissions.", reason="unreadable") from error
    if status.st_size == 0:
        raise FileProblem(f"{name} is empty: it has 0 bytes.", AGAIN, reason="empty")
    if b"%PDF" not in head:
        fix = _FROM_PAGE if (what := _kind(head)) == f"is {_WEB_PAGE}" else AGAIN
        raise FileProblem(f"{name} is not a PDF: it {what}.", fix, reason="not-a-pdf")


def _kind(head: bytes) -> str:
    """What a file is or lacks, by its first bytes."""
    start = head.lstrip().lower()
    kind = next((kind for beginning, kind in _KINDS.items() if start.startswith(beginning)), "")
    return f"is {kind}" if kind else f"has no %PDF header in its first {_HEADER_WITHIN_BYTES} bytes"


@contextmanager
def opened(path: Path, password: str) -> Iterator[Any]:
    """The file as an open, decrypted `pymupdf.Document`, closed at the end.

    Raises FileProblem with reason "missing", "unreadable", "not-a-pdf", "empty", "encrypted" or "damaged".
    """
    _require_pdf_header(path)
    pymupdf = load_pymupdf()
    name = printable_name(path)
    with damage_in(path):
        # MuPDF needs names in UTF-8: a file with another name is opened by its bytes.
        has_other_name = any("\ud800" <= character <= "\udfff" for character in str(path))
        how: dict[str, Any] = {"stream": path.read_bytes()} if has_other_name else {"filename": path}
        source = pymupdf.open(**how, filetype="pdf")
    try:
        if not source.is_pdf:
            raise FileProblem(f"{name} has a PDF header but is not a PDF.", AGAIN, reason="not-a-pdf")
        if source.needs_pass and not _unlocked(source, password):
            wrong = ", and the one given does not open it" if password else ""
            file, copy = shlex.quote(name), shlex.quote(f"open-{name}")
            fix = f"Save a copy without it, in a PDF viewer or with: qpdf --decrypt --password=PASSWORD {file} {copy}"
            raise FileProblem(f"{name} is locked with a password{wrong}.", fix, reason="encrypted")
        yield source
    finally:
        source.close()
        pymupdf.TOOLS.store_shrink(100)
        pymupdf.TOOLS.reset_mupdf_warnings()


@contextmanager
def damage_in(path: Path) -> Iterator[None]:
    """Turn MuPDF's errors into FileProblem with reason "damaged", or MemoryError."""
    try:
        yield
    except failures() as error:
        raise_if_out_of_memory(error)
        message = f"{printable_name(path)} is damaged and cannot be opened ({cause_of(error)})."
        raise FileProblem(message, AGAIN, reason="damaged") from error


def _unlocked(source: Any, password: str) -> bool:
    try:
        return bool(source.authenticate(password))
    except failures():
        return False


def page_count(source: Any, path: Path) -> int:
    """The number of pages, at least 1. Raises FileProblem."""
    with damage_in(path):
        count = int(source.page_count)
    if count < 1:
        raise FileProblem(f"{printable_name(path)} has no pages: it is empty or damaged.", AGAIN, reason="no-pages")
    return count


def count_pages(path: Path) -> int:
    """The number of pages of a PDF, without reading them. Raises as `read_pdf`."""
    with opened(path, "") as source:
        return page_count(source, path)


_CREATOR = "RAG Science"
_COLOURS = ((0.55, 0.80, 1.0), (0.62, 0.90, 0.60), (0.84, 0.72, 1.0), (1.0, 0.74, 0.52))
"""Blue, green, violet, orange, for the quotes of a page in turn: none is the yellow of a reader's own marks."""
_NOTE_POINTS = 20.0
"""The width of a note's icon."""

_SHARED_PIECES = 0.5


@dataclass(frozen=True, slots=True)
class Highlight:
    """A quote on a page."""

    quote: str
    boxes: tuple[Box, ...]
    """Its boxes in points on the page as it is shown. Without boxes, or with other words in them, the quote is
    searched on the page."""


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page to copy, and its marks."""

    number: int
    """From 1."""
    label: str
    """The page's name in the notes: `file.pdf, p.3`."""
    marks: tuple[Highlight, ...]


def mark_pages(source: Path, target: Path, pages: Sequence[MarkedPage]) -> int:
    """Write copies of `pages` of a PDF to `target`, with highlights and a note; gives how many quotes have no place.

    A quote without a place is still in the note. Raises FileProblem as read_pdf does, and for a missing page.
    """
    pymupdf = load_pymupdf()
    with opened(source, "") as paper, damage_in(source), pymupdf.open() as copy:
        unplaced = 0
        for page in pages:
            if not 1 <= page.number <= paper.page_count:
                raise FileProblem(
                    f"{page.label}: the file has {paper.page_count} pages now.",
                    "`python ingest.py` reads the file as it is.",
                    reason="changed",
                )
            copy.insert_pdf(paper, from_page=page.number - 1, to_page=page.number - 1, links=False)
            unplaced += _mark(copy[-1], page)
        copy.save(target, garbage=3, deflate=True)
        return unplaced


def join_pages(parts: Sequence[Path], target: Path) -> int:
    """Join PDFs of `mark_pages` to one file, in their order; gives the number of its pages. Raises FileProblem."""
    pymupdf = load_pymupdf()
    with pymupdf.open() as whole:
        for part in parts:
            with opened(part, "") as pages, damage_in(part):
                whole.insert_pdf(pages)
        whole.set_metadata({"creator": _CREATOR, "title": "Cited pages"})
        whole.save(target, garbage=3, deflate=True)
        return int(whole.page_count)


def _mark(page: Any, wanted: MarkedPage) -> int:
    """Add highlights, each quote's in another colour, and a note to a page; how many quotes have no place on it."""
    pymupdf = load_pymupdf()
    unplaced, highest = 0, None
    words = page.get_text("words")
    for mark, colour in zip(wanted.marks, cycle(_COLOURS), strict=False):
        quads = [(pymupdf.Rect(box) * page.derotation_matrix).quad for box in mark.boxes]  # on the unrotated page
        if not _hold(words, quads, mark.quote):
            # The file has changed since it was read, or its lines have no boxes.
            quads = _searched(page, mark.quote)
        if not quads:
            unplaced += 1
            continue
        highlight = page.add_highlight_annot(quads)
        highlight.set_colors(stroke=colour)
        highlight.set_info(content=f"{wanted.label}: {mark.quote}", title=_CREATOR)
        highlight.update()
        top = (quads[0].rect * page.rotation_matrix).y0
        highest = top if highest is None else min(highest, top)
    corner = pymupdf.Point(_NOTE_POINTS / 4, max(_NOTE_POINTS / 4, highest or 0.0))
    text = "\n\n".join([wanted.label, *(mark.quote for mark in wanted.marks)])
    note = page.add_text_annot(corner * page.derotation_matrix, text, icon="Note")
    note.set_info(content=text, title=_CREATOR)
    note.update()
    return unplaced


def _hold(words: Sequence[Sequence[Any]], quads: Sequence[Any], quote: str) -> bool:
    """Whether the words whose centres are in the quads are the quote, by the three-letter pieces that they share.

    `words` are (left, top, right, bottom, text, …) on the unrotated page.
    """
    point = load_pymupdf().Point
    rects = [quad.rect for quad in quads]
    centres = (point((word[0] + word[2]) / 2, (word[1] + word[3]) / 2) for word in words)
    inside = [word for word, at in zip(words, centres, strict=True) if any(at in rect for rect in rects)]
    shown, wanted = _pieces("".join(word[4] for word in inside)), _pieces(quote)
    return bool(quads) and len(wanted & shown) >= _SHARED_PIECES * len(wanted)


def _pieces(text: str) -> set[str]:
    letters = "".join(character for character in text.casefold() if character.isalnum())
    return {letters[at : at + 3] for at in range(max(1, len(letters) - 2))}


def _searched(page: Any, quote: str) -> list[Any]:
    """The places of a quote's words on the page; none for an empty quote."""
    words = " ".join(quote.split())
    return list(page.search_for(words, quads=True)) if words else []


_MOST_PIXELS = 16_000_000
"""Of a picture, whatever the page's height: 48 MB of memory."""


def draw_page(path: Path, number: int, width: int, target: Path) -> PageShape:
    """Write a PNG of page `number` (from 1) of a PDF to `target`, `width` pixels wide, and give the page's shape.

    With a width of 0 nothing is written; a picture of more than 16 million pixels is made smaller. Raises FileProblem
    as read_pdf does, and for a missing page.
    """
    pymupdf = load_pymupdf()
    with opened(path, "") as paper, damage_in(path):
        if not 1 <= number <= paper.page_count:
            raise FileProblem(f"There is no page {number}: the file has {paper.page_count}.", reason="changed")
        page = paper[number - 1]
        sides = page.rect
        if width:
            zoom = min(width / sides.width, (_MOST_PIXELS / (sides.width * sides.height)) ** 0.5)
            page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), alpha=False).save(target, output="png")
        # PyMuPDF counts the crop box from the top of the sheet, and leaves it larger than the sheet where it is.
        left, top, right, bottom = page.cropbox
        sheet = page.mediabox
        box = pymupdf.Rect(left, sheet.y1 - bottom, right, sheet.y1 - top) & sheet
        return PageShape(sides.width, sides.height, page.rotation, tuple(box))
