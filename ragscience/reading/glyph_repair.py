"""Gives glyphs without a Unicode value the text that their font knows, before anything reads the page.

MuPDF marks such glyphs and shows their codes instead: a sum sign of TeX is "P", and the "Question" of a figure whose
codes are 29 below ASCII is "4XHVWLRQ". What a glyph is called in its font is certain. Codes that are shifted are found
by their letters, which form words with one constant alone: pages with such codes are read when all were seen.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any

from ragscience.reading.pdf_file import load_pymupdf
from ragscience.reading.text_cleaning import LETTER_GROUPS, PAIR_BITS, mean_bits

_SIZE = re.compile(r"(?:big|Big|bigg|Bigg|text|display|wide[rs]?t?)$")
"""The ends of names in TeX's fonts of large symbols: "parenleftbigg", "summationdisplay", "hatwide"."""
_TEX_NAMES = {
    "ceilingleft": "⌈", "ceilingright": "⌉", "floorleft": "⌊", "floorright": "⌋", "angbracketleft": "⟨",
    "angbracketright": "⟩", "bardbl": "‖", "vextendsingle": "|", "vextenddouble": "‖", "mapsto": "↦",
    "triangleright": "▷", "triangleleft": "◁", "contintegral": "∮", "coproduct": "∐", "unionsq": "⊔",
    "intersectionsq": "⊓", "unionmulti": "⊎", "circledot": "⊙", "hat": "ˆ", "tilde": "˜", "radicalbt": "√",
    "radicalvertex": "\u200b", "radicaltp": "\u200b",
}  # fmt: skip
"""The text of glyphs in TeX's fonts that are not in Adobe's list."""
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
UNKNOWN = 128
"""The flag of a character that is a glyph's code (FZ_STEXT_UNICODE_IS_CID)."""
_SYNTHETIC = 4
"""The flag of a blank that MuPDF has put between words."""
_BASE_FONTS = ("Helvetica", "Times", "Courier", "Arial", "Symbol", "ZapfDingbats")
"""Fonts that MuPDF replaces by its own if the file does not have them: the glyphs' names are then of its own font."""
_LOST_DIGIT = re.compile(r"[\x01-\x09]")
_MOST_CODES = 20_000
"""Of one font that are kept to find its constant."""
_CERTAIN_BITS, _LEAST_PAIRS, _LEAST_LEAD = 2.8, 20, 0.8
"""A constant is taken if its text has at most so many bits a pair, in so many pairs, and any other so many more."""
_LEAST_PRINTABLE = 0.95
_BORDERS = frozenset(" .,;:!?()/'\"-0123456789")
_ODD_BITS = 9
"""Of a letter beside another sign."""
_GARBLED_BITS, _GARBLED_PAIRS = 3.3, 60
_LEAST_STRANGE, _STRANGE_SHARE = 20, 0.3
"""Control characters and codes above 255 among the codes of a font that is garbled. In TeX's bitmap fonts for text,
which have their digits and ligatures at such codes, they are fewer than 0.15."""


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
        if known and (code := load_pymupdf().mupdf.ll_fz_unicode_from_glyph_name_strict(known)):
            return chr(code)
    return ""


def symbol(font: str, code: int) -> str:
    """The character of a private code point from U+F020 to U+F0FF in the fonts Symbol or Wingdings, or ""."""
    lower = font.lower()
    if "wingdings" in lower:
        return "" if "wingdings2" in lower or "wingdings3" in lower else _WINGDINGS.get(code - 0xF000, "")
    at = code - 0xF020
    return _SYMBOL_CODES[at].strip("\ufffd") if "symbol" in lower and 0 <= at < len(_SYMBOL_CODES) else ""


@cache
def _dingbats() -> dict[str, str]:
    """The characters of Zapf Dingbats by the glyphs' names: of "a19" MuPDF gives the number as a code point."""
    pymupdf = load_pymupdf()
    font: Any = pymupdf.Font("zadb")
    blocks = (range(0x2190, 0x2200), range(0x2460, 0x2474), range(0x25A0, 0x2670), range(0x2701, 0x27C0))
    found = {code: font.has_glyph(code) for block in blocks for code in block}
    name_of = pymupdf.mupdf.ll_fz_get_glyph_name2
    return {name_of(font.this.m_internal, glyph): chr(code) for code, glyph in found.items() if glyph}


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
        chars = [(char, int(char.font.this)) for line in unknown for _, char in line]
        if all(not self.of(char.font)[2] or (font, char.c) in self._glyphs for char, font in chars):
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

    def glyph_name(self, font: Any, code: int) -> str:
        """The name of the glyph of a code without a Unicode value, or its number; "" where it is not known."""
        key = int(font.this), code
        if key not in self._names and key in self._glyphs and self.of(font)[2]:
            self._names[key] = str(load_pymupdf().mupdf.ll_fz_get_glyph_name2(font, self._glyphs[key]))
        return self._names.get(key, "")


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
                    found, char = [], line.m_internal.first_char
                    while char:  # PyMuPDF's own iterator takes four times as long
                        found.append(char)
                        char = char.next
                    yield found
                number += 1


class FontRepairs:
    """What the fonts of one file were found to mean."""

    def __init__(self) -> None:
        self._codes: defaultdict[str, list[str]] = defaultdict(list)
        """By the full name of a font, the codes of its glyphs without a name, as characters; a string for each run."""
        self.unsettled: set[int] = set()
        """The indexes of pages that must be read again after `decide`."""
        self._shifts: dict[str, int | None] = {}
        """None for a font whose codes are no text."""
        self._characters: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By the name of a font without its subset tag."""
        self._digits: set[str] = set()
        self._fonts = Fonts()
        self._is_decided = False

    def mend(self, page: Any, textpage: Any, content: Mapping[str, Any]) -> bool:
        """Replace what can be known in a `pymupdf.TextPage` of the page; whether any character has changed.

        `content` is what `textpage.extractDICT()` gave.
        """
        lines = [line["spans"] for block in content["blocks"] for line in block.get("lines", ())]
        spans = [span for line in lines for span in line]
        for span in spans if not self._is_decided else ():
            self._characters[span["font"]].update(span["text"])
            if _LOST_DIGIT.search(span["text"]):
                self.unsettled.add(page.number)
        texts = [(span["font"], span["text"]) for span in spans if not span["char_flags"] & UNKNOWN]
        pictorial = {font for font, text in texts if _is_pictorial(font, text)}
        concerned = {number for number, line in enumerate(lines) if any(span["char_flags"] & UNKNOWN for span in line)}
        changes = 0
        if pictorial or not self._digits.isdisjoint(span["font"] for span in spans):
            changes += self._exchange(textpage, pictorial)
        if concerned:
            changes += self._repair(page, textpage, concerned)
        return changes > 0

    def decide(self) -> None:
        """Find what the codes of the fonts mean, once all pages were seen."""
        lost = {font: _lost_digits(seen) for font, seen in self._characters.items()}
        if "surely" in lost.values():
            self._digits = {font for font, how in lost.items() if how}
        for font, runs in self._codes.items():
            shift = constant_shift(runs)
            if shift or (shift is None and _is_garbled(runs)):
                self._shifts[font] = shift
        self._is_decided = True
        self.unsettled.clear()

    def _repair(self, page: Any, textpage: Any, concerned: set[int]) -> int:
        """Replace the characters whose glyphs have a name or a constant, and note the codes of the others.

        `concerned` are the numbers of the lines to look at.
        """
        lines = list(lines_of(textpage, concerned))
        self._fonts.find_glyphs(page, lines, concerned)
        changes = 0
        for line in lines:
            unnamed: list[tuple[str, str]] = []
            for char in filter(is_unknown, line):
                font, name = self._fonts.of(char.font)[0], self._fonts.glyph_name(char.font, char.c)
                text = text_of(name)
                if not text:
                    number = _NUMBERED.fullmatch(name)  # fonts that were cut down keep it, as in "g152"
                    code = int(number[1]) if number else char.c
                    text = self._by_constant(font, code)
                    unnamed.append((font, chr(code)))
                if text:
                    char.c, char.flags = ord(text), char.flags & ~UNKNOWN
                    changes += 1
            for font, run in groupby(unnamed, key=itemgetter(0)):
                if font and not self._is_decided:
                    self.unsettled.add(page.number)
                    if sum(map(len, self._codes[font])) < _MOST_CODES:
                        self._codes[font].append("".join(code for _, code in run))
        return changes

    def _exchange(self, textpage: Any, pictorial: set[str]) -> int:
        """Put right the characters of symbols and dingbats, and lost digits; how many."""
        changes = 0
        for line in lines_of(textpage):
            for char in line:
                code = char.c
                if code == 0x20 or not (pictorial or 1 <= code <= 9):
                    continue
                _, base, _ = self._fonts.of(char.font)
                text = ""
                if base in pictorial:
                    text = symbol(base, code) if code >= 0x100 else _dingbats().get(f"a{code}", "")
                elif base in self._digits and 1 <= code <= 9:
                    text = str(code)
                if text and ord(text) != code:
                    char.c, char.flags = ord(text), char.flags & ~UNKNOWN
                    changes += 1
        return changes

    def _by_constant(self, font: str, code: int) -> str:
        if font not in self._shifts:
            return ""
        shift = self._shifts[font]
        return chr(code + shift) if shift and 0x20 <= code + shift < 0x7F else "\ufffd"


def _is_pictorial(font: str, text: str) -> bool:
    """Whether a font has symbols for which MuPDF gives no Unicode value."""
    lower = font.lower()
    if "dingbats" in lower:
        return any(not one.isspace() and one < "\u0100" for one in text)
    return ("symbol" in lower or "wingdings" in lower) and any("\uf020" <= one <= "\uf0ff" for one in text)


def constant_shift(runs: Sequence[str]) -> int | None:
    """The constant that makes words of a font's codes, 0 where they are words as they are, None where none does.

    `runs` are the codes of glyphs next to each other, as characters.
    """
    pairs = Counter(pair for run in runs for pair in zip(f"\0{run}", f"{run}\0", strict=True))
    codes = Counter("".join(runs))
    total = sum(codes.values())
    found: list[tuple[float, int]] = []
    for shift in range(-128, 128):
        printable, small, capital = (
            sum(times for one, times in codes.items() if ord(first) <= ord(one) + shift <= ord(last))
            for first, last in (" ~", "az", "AZ")
        )
        if printable < _LEAST_PRINTABLE * total or small <= capital:
            continue
        bits, count = _shifted_bits(pairs, shift)
        if count >= _LEAST_PAIRS:
            found.append((bits, shift))
    (bits, shift), (next_bits, _) = sorted([*found, (inf, 0), (inf, 0)])[:2]
    return shift if bits <= _CERTAIN_BITS and next_bits >= bits + _LEAST_LEAD else None


def _shifted_bits(pairs: Mapping[tuple[str, str], int], shift: int) -> tuple[float, int]:
    """(mean bits of the shifted pairs that have a letter, their number)."""
    total = count = 0
    for (first, second), times in pairs.items():
        pair = _shifted(first, shift), _shifted(second, shift)
        if pair in PAIR_BITS or (pair[0] + pair[1]).strip(" ?"):
            total += PAIR_BITS.get(pair, _ODD_BITS) * times
            count += times
    return (total / count if count else 0.0), count


def _shifted(one: str, shift: int) -> str:
    """The shifted code as a small letter, " " for what may stand at a word's border, "?" for other signs."""
    shifted = chr(max(0x20, ord(one) + shift)) if one != "\0" else " "
    if shifted in _BORDERS:
        return " "
    return shifted.lower() if shifted.isascii() and shifted.isalpha() else "?"


def _lost_digits(seen: Mapping[str, int]) -> str:
    """Whether a font for text has 1 to 9 as U+0001 to U+0009, as bitmap fonts of old TeX papers have them.

    "surely": it has words and these characters, and never 1 to 9 themselves. "perhaps": beside such a font it is alike,
    as its larger and bolder siblings are; symbols have other codes, too. `seen` are its characters.
    """
    lost = sum(seen.get(chr(code), 0) for code in range(1, 10))
    letters = sum(times for one, times in seen.items() if one.isascii() and one.isalpha())
    if not seen.keys().isdisjoint("123456789"):
        return ""
    if lost >= 10 and letters > 2 * lost:
        return "surely"
    return "perhaps" if letters >= lost and not any(one == "\0" or "\x10" <= one < " " for one in seen) else ""


def _is_garbled(runs: Sequence[str]) -> bool:
    """Whether codes are surely no text: their letters form no words, or too many are of no letter at all."""
    codes = "".join(runs)
    strange = sum(code > "\xff" or not code.isprintable() for code in codes)
    if strange >= max(_LEAST_STRANGE, _STRANGE_SHARE * len(codes)):
        return True
    bits, count = mean_bits(" ".join(runs))
    return count >= _GARBLED_PAIRS and bits > _GARBLED_BITS
