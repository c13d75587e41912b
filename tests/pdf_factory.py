"""Draws small real PDFs for tests: one string a page, typeset by pymupdf."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

_PAGE_OF_TEXT = (
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>"
)
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
            page.insert_text((LEFT, TOP + LEADING * row), line, fontsize=10, fontname=font)
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


def make_scanned_text(path: Path, pages: Sequence[str]) -> Path:
    """Write a PDF whose pages are pictures of text, 20 point Helvetica at 200 dots per inch, without a text layer."""
    import pymupdf

    path.parent.mkdir(parents=True, exist_ok=True)
    document = pymupdf.open()
    for text in pages:
        with pymupdf.open() as drawn:
            page = drawn.new_page(width=595, height=842)
            for row, line in enumerate(text.split("\n")):
                page.insert_text((LEFT, TOP + 2 * LEADING * row), line, fontsize=20)
            picture = page.get_pixmap(dpi=200)
        page = document.new_page(width=595, height=842)
        page.insert_image(page.rect, pixmap=picture)
    document.save(path)
    document.close()
    return path


def make_raw_pdf(path: Path, objects: Sequence[bytes]) -> Path:
    """Write a PDF from the bodies of its objects, numbered from 1; the first must be the catalog."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, xref)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(out)
    return path


def make_mapped_pdf(path: Path, text: str, meaning: Mapping[str, int]) -> Path:
    """Write one page that shows an ASCII text, some letters of which the font's ToUnicode table gives other meanings.

    With that, and with octal escapes in the text, a page can hold what no drawing function lets through: private use
    and control characters.
    """
    entries = "".join(f"<{ord(letter):02X}> <{code:04X}>\n" for letter, code in meaning.items())
    table = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def /CMapType 2 def\n"
        "1 begincodespacerange <00> <FF> endcodespacerange\n"
        f"{len(meaning)} beginbfchar\n{entries}endbfchar\nendcmap end end"
    )
    return make_raw_pdf(
        path,
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            _PAGE_OF_TEXT,
            _stream(f"BT /F 10 Tf 50 780 Td ({text}) Tj ET".encode("ascii")),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
            _stream(table.encode("ascii")),
        ],
    )


def make_endless_pdf(path: Path) -> Path:
    """Write one page whose drawing calls ten forms that call ten forms each, and so on, 16 levels deep."""
    levels = 16
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /XObject << /X 5 0 R >> >> >>",
        _stream(b"/X Do"),
    ]
    for number in range(5, 5 + levels):
        form = b"/Type /XObject /Subtype /Form /BBox [0 0 595 842]"
        if number < 4 + levels:
            resources = b" /Resources << /XObject << /X %d 0 R >> >>" % (number + 1)
            objects.append(_stream(b"/X Do " * 10, form + resources))
        else:
            objects.append(_stream(b"0 0 m", form))
    return make_raw_pdf(path, objects)


def make_huge_pdf(path: Path, characters: int) -> Path:
    """Write a small file with so many characters on its one page that reading it takes some 100 bytes for each."""
    line = b"1 0 0 1 50 780 Tm (" + b"a" * 1000 + b") Tj "
    return make_raw_pdf(
        path,
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            _PAGE_OF_TEXT,
            _stream(b"BT /F 0.1 Tf " + line * (characters // 1000) + b"ET", compress=True),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ],
    )


def _stream(data: bytes, entries: bytes = b"", *, compress: bool = False) -> bytes:
    if compress:
        data, entries = zlib.compress(data), entries + b" /Filter /FlateDecode"
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (entries, len(data), data)
