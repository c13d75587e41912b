"""Pages as pictures, and their sizes.

This runs in a worker process, as reading does, for the files are not trusted.
"""

from __future__ import annotations

from pathlib import Path

from ragscience.core.errors import FileProblem
from ragscience.core.records import PageShape
from ragscience.reading.pdf_reader import damage_in, opened
from ragscience.reading.pymupdf_errors import load_pymupdf

__all__ = ["draw_page"]

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
