"""What a glyph means by its name in the font, where the file gives no Unicode value for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from ragscience.reading.pymupdf_errors import load_pymupdf
from ragscience.reading.text_cleaning import LETTER_GROUPS

__all__ = ["UNKNOWN", "Fonts", "code_of", "dingbat", "is_known_name", "is_unknown", "lines_of", "symbol", "text_of"]

_SIZE = re.compile(r"(?:big|Big|bigg|Bigg|text|display|wide[rs]?t?)$")
"""The ends of names in TeX's fonts of large symbols: "parenleftbigg", "summationdisplay", "hatwide"."""
_TEX_NAMES = {
    "ceilingleft": "⌈",
    "ceilingright": "⌉",
    "floorleft": "⌊",
    "floorright": "⌋",
    "angbracketleft": "⟨",
    "angbracketright": "⟩",
    "bardbl": "‖",
    "vextendsingle": "|",
    "vextenddouble": "‖",
    "mapsto": "↦",
    "triangleright": "▷",
    "triangleleft": "◁",
    "contintegral": "∮",
    "coproduct": "∐",
    "unionsq": "⊔",
    "intersectionsq": "⊓",
    "unionmulti": "⊎",
    "circledot": "⊙",
    "hat": "ˆ",
    "tilde": "˜",
    "radicalbt": "√",
    "radicalvertex": "\u200b",
    "radicaltp": "\u200b",
}
_UNICODE_NAME = re.compile(r"uni([0-9A-F]{4})|u([0-9A-F]{4,6})")
_NUMBERED = re.compile(r"(?:g|glyph|gid|cid|index|C|G)?[_:]?(\d{1,5})")
_SYMBOL_CODES = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧ∆ΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
    + "\ufffd" * 34
    + "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"
    + "\ufffd〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)
"""The encoding of the font Symbol from 0x20 on (PDF 1.7 reference, appendix D.5)."""
_WINGDINGS = {0x6C: "●", 0x6E: "■", 0x71: "❑", 0x76: "❖", 0xA7: "▪", 0xA8: "◻", 0xB7: "•", 0xD8: "➢"}
_WINGDINGS |= {0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓"}


@lru_cache(maxsize=4096)
def text_of(name: str) -> str:
    """The text of a glyph with that name, or "" where the name does not tell.

    Names are read as the Adobe Glyph List Specification says, section 2: what follows a point is a variant, and
    underscores join the letters of a ligature. Names of TeX's symbols are added. "Th" is one private character, which
    `clean_span` writes out.
    """
    name = name.split(".")[0]
    letters = name.replace("_", "")
    if letters in LETTER_GROUPS:
        return LETTER_GROUPS[letters]
    if "_" in name:
        return ""
    if match := _UNICODE_NAME.fullmatch(name):
        code = int(match[1] or match[2], 16)
        return "" if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)
    for known in (name, _SIZE.sub("", name), name.rstrip("0123456789") if len(name) > 4 else ""):
        if known in _TEX_NAMES:
            return _TEX_NAMES[known]
        if code := _adobe_code(known):
            return chr(code)
    return ""


def is_known_name(name: str) -> bool:
    """Whether the name of a glyph tells its text."""
    return bool(text_of(name))


def code_of(name: str, glyph: int) -> int:
    """The number in a name such as "g152", or else that of the glyph: fonts that were cut down keep such numbers."""
    match = _NUMBERED.fullmatch(name)
    return int(match[1]) if match else glyph


def _adobe_code(name: str) -> int:
    """The code point of a name in Adobe's list, or 0."""
    from pymupdf import mupdf

    return int(mupdf.ll_fz_unicode_from_glyph_name_strict(name)) if name else 0


def symbol(font: str, code: int) -> str:
    """The character of a private code point from U+F020 to U+F0FF in the fonts Symbol or Wingdings, or ""."""
    lower = font.lower()
    if "wingdings" in lower:
        return "" if "wingdings2" in lower or "wingdings3" in lower else _WINGDINGS.get(code - 0xF000, "")
    at = code - 0xF020
    return _SYMBOL_CODES[at].strip("\ufffd") if "symbol" in lower and 0 <= at < len(_SYMBOL_CODES) else ""


def dingbat(number: int) -> str:
    """The character of the glyph "a19" in Zapf Dingbats, for which MuPDF gives the number as a code point, or ""."""
    return _dingbats().get(f"a{number}", "")


@cache
def _dingbats() -> dict[str, str]:
    """The characters of the glyphs' names, from the font that MuPDF has."""
    import pymupdf

    font: Any = pymupdf.Font("zadb")
    blocks = (range(0x2190, 0x2200), range(0x2460, 0x2474), range(0x25A0, 0x2670), range(0x2701, 0x27C0))
    found = {code: font.has_glyph(code) for block in blocks for code in block}
    name_of = pymupdf.mupdf.ll_fz_get_glyph_name2
    return {name_of(font.this.m_internal, glyph): chr(code) for code, glyph in found.items() if glyph}


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
