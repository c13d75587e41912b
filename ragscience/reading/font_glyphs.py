"""MuPDF's own characters of a page, and what their fonts are called and call their glyphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ragscience.reading.pymupdf_errors import load_pymupdf

__all__ = ["UNKNOWN", "Fonts", "is_unknown", "lines_of"]

UNKNOWN = 128
"""The flag of a character that is a glyph's code (FZ_STEXT_UNICODE_IS_CID)."""
_SYNTHETIC = 4
"""The flag of a blank that MuPDF has put between words."""
_BASE_FONTS = ("Helvetica", "Times", "Courier", "Arial", "Symbol", "ZapfDingbats")
"""Fonts that MuPDF replaces by its own if the file does not have them: the glyphs' names are then of its own font."""


class Fonts:
    """The names of a file's fonts and of their glyphs, each asked for once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, str, bool]] = {}
        self._kept: list[Any] = []
        """The fonts that are known, as another could be at the address of one that MuPDF has let go."""
        self._glyphs: dict[tuple[int, int], int] = {}
        """The glyphs of codes without a Unicode value."""
        self._names: dict[tuple[int, int], str] = {}

    def of(self, font: Any) -> tuple[str, str, bool]:
        """(full name, name without subset tag, whether the file has the font)."""
        key = int(font.this)
        if key not in self._known:
            mupdf = load_pymupdf().mupdf
            full = str(mupdf.ll_fz_font_name(font))
            base = full[7:] if full[6:7] == "+" else full
            is_own = base != full or not base.startswith(_BASE_FONTS)
            self._known[key] = full, base, is_own and not mupdf.ll_fz_font_flags(font).ft_substitute
            self._kept.append(mupdf.FzFont(mupdf.ll_fz_keep_font(font)))
        return self._known[key]

    def find_glyphs(self, page: Any, lines: Sequence[Sequence[Any]], concerned: set[int]) -> None:
        """Find the glyphs of the characters without a Unicode value in the page's lines with these numbers."""
        unknown = [[(at, char) for at, char in enumerate(line) if is_unknown(char)] for line in lines]
        if all(self._is_found(char) for line in unknown for _, char in line):
            return
        pymupdf = load_pymupdf()
        flags = pymupdf.TEXTFLAGS_TEXT & ~pymupdf.TEXT_USE_CID_FOR_UNKNOWN_UNICODE
        by_glyph = page.get_textpage(flags=flags | pymupdf.TEXT_USE_GID_FOR_UNKNOWN_UNICODE)
        for line, twin in zip(unknown, lines_of(by_glyph, concerned), strict=False):
            for at, char in line:
                glyph = twin[at] if at < len(twin) else None
                if glyph is None or char.origin.x != glyph.origin.x or char.origin.y != glyph.origin.y:
                    return
                self._glyphs[int(char.font.this), char.c] = glyph.c

    def _is_found(self, char: Any) -> bool:
        return not self.of(char.font)[2] or (int(char.font.this), char.c) in self._glyphs

    def glyph_name(self, font: Any, code: int) -> str:
        """The name of the glyph of a code without a Unicode value, or its number; "" where it is not known."""
        key = int(font.this), code
        if key not in self._names:
            if not self.of(font)[2] or key not in self._glyphs:
                return ""
            self._names[key] = str(load_pymupdf().mupdf.ll_fz_get_glyph_name2(font, self._glyphs[key]))
        return self._names[key]


def is_unknown(char: Any) -> bool:
    """Whether a character is a glyph's code."""
    return bool(char.flags & (UNKNOWN | _SYNTHETIC) == UNKNOWN)


def lines_of(textpage: Any, concerned: set[int] | None = None) -> Iterator[list[Any]]:
    """MuPDF's own characters of each line, or of those lines alone."""
    text = load_pymupdf().mupdf.FZ_STEXT_BLOCK_TEXT
    number = 0
    for block in textpage.this:
        if block.m_internal.type == text:
            for line in block:
                if concerned is None or number in concerned:
                    yield _characters(line)
                number += 1


def _characters(line: Any) -> list[Any]:
    # The list is walked by hand: PyMuPDF's own iterator takes four times as long.
    found = []
    char = line.m_internal.first_char
    while char:
        found.append(char)
        char = char.next
    return found
