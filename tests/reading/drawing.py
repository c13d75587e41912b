"""Draws pages as papers have them: text at given places, in given sizes, with lines next to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragscience.core.records import Document

WORDS = (  # noqa: SIM905 - prose, no list
    "the model reads every passage of a paper and keeps what it says about the question that was asked before while "
    "other systems look only at titles which loses most of the facts that a careful reader would find in the tables"
).split()


@dataclass
class Sheet:
    """A page in the making: (x, base line, text, size, font), and lines from point to point."""

    texts: list[tuple[float, float, str, float, str]] = field(default_factory=list)
    rules: list[tuple[float, float, float, float]] = field(default_factory=list)
    rotation: int = 0

    def write(self, x, y, text, size=10, font="helv"):
        self.texts.append((x, y, text, size, font))
        return self

    def rule(self, x0, y0, x1, y1):
        self.rules.append((x0, y0, x1, y1))
        return self

    def paragraph(self, x, y, lines, start=0, size=10, leading=12, width=9):
        """Lines of `width` words each from WORDS on, the last one short; gives the y below them."""
        for number in range(lines):
            count = width if number + 1 < lines else 3
            words = [WORDS[(start + number * width + step) % len(WORDS)] for step in range(count)]
            text = " ".join(words).capitalize() if number == 0 else " ".join(words)
            self.write(x, y, text + ("." if number + 1 == lines else ""), size)
            y += leading
        return y


def draw(path: Path, sheets: Sequence[Sheet], title: str = "") -> Path:
    """Write a PDF of A4 pages and give its path back."""
    import pymupdf

    document = pymupdf.open()
    for sheet in sheets:
        page = document.new_page(width=595, height=842)
        for x, y, text, size, font in sheet.texts:
            if font == "symbols":  # by its bytes: PyMuPDF's own font of signs knows them by Latin letters alone
                page.insert_font(fontname=font, fontbuffer=pymupdf.Font("symb").buffer)
            page.insert_text((x, y), text, fontsize=size, fontname=font)
        for x0, y0, x1, y1 in sheet.rules:
            page.draw_line((x0, y0), (x1, y1))
        if sheet.rotation:
            page.set_rotation(sheet.rotation)
    document.set_metadata({"title": title})
    document.save(path)
    document.close()
    return path


def read(folder: Path, *sheets: Sheet, title: str = "") -> Document:
    """What the reader makes of these pages."""
    from ragscience.reading.pdf_reader import read_pdf

    return read_pdf(draw(folder / "a.pdf", sheets, title))


def of_kind(document: Document, kind: str) -> list[str]:
    """The texts of the elements of that kind."""
    return [document.text[one.start : one.end] for one in document.elements if one.kind == kind]


def draw_unread_formula(path: Path) -> None:
    """A page about bees with a formula whose layout is not understood: the root has no bar."""
    sheet = Sheet()
    sheet.paragraph(50, 100, 8)
    sheet.write(50, 200, "The speed of bees in fog is given by the following formula of their number:")
    sheet.write(200, 220, "y =").write(220, 221, "√", font="symbols").write(226, 220, "d + e")
    sheet.paragraph(50, 250, 8)
    draw(path, [sheet])
