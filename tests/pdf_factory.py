"""Draws small real PDFs for tests: one string a page, typeset by pymupdf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

LEFT, TOP, LEADING = 50, 60, 14
"""Where the first line begins and how far the next one is below it, in points; a page is A4, 595 x 842."""


def make_pdf(
    path: Path,
    pages: Sequence[str],
    *,
    title: str = "",
    user_password: str = "",
    owner_password: str = "",
    metadata: Mapping[str, str] | None = None,
    font_size: float = 10,
) -> Path:
    """Write a PDF with one page for each string, one drawn line for each line of it, and give its path back.

    An empty string makes an empty page. Latin-1 text is drawn with Helvetica, anything else with Droid Sans Fallback.
    A password encrypts the file with AES-256; without a user password such a file still opens. Parent folders are made.
    """
    import pymupdf

    path.parent.mkdir(parents=True, exist_ok=True)
    document = pymupdf.open()
    for text in pages:
        page = document.new_page(width=595, height=842)
        for row, line in enumerate(text.split("\n")):
            font = "helv" if all(ord(character) < 256 for character in line) else "china-s"
            page.insert_text((LEFT, TOP + LEADING * row), line, fontsize=font_size, fontname=font)
    document.set_metadata({"title": title, **(metadata or {})})
    encrypted = bool(user_password or owner_password)
    document.save(
        path,
        encryption=pymupdf.PDF_ENCRYPT_AES_256 if encrypted else pymupdf.PDF_ENCRYPT_NONE,
        user_pw=user_password,
        owner_pw=owner_password or user_password,
    )
    document.close()
    return path


def make_scan(path: Path, pages: int = 1) -> Path:
    """Write a PDF whose pages are pictures only, as a scanner without text recognition leaves them."""
    import pymupdf

    path.parent.mkdir(parents=True, exist_ok=True)
    picture = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 60, 80), False)
    picture.clear_with(200)
    document = pymupdf.open()
    for _ in range(pages):
        page = document.new_page(width=595, height=842)
        page.insert_image(page.rect, pixmap=picture)
    document.save(path)
    document.close()
    return path
