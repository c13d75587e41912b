"""How a row looks: its font, size and weight, the white in it, and a raised sign at its beginning."""

from __future__ import annotations

import re

from ragscience.reading.heading_text import LETTER
from ragscience.reading.text_rows import Row

__all__ = ["Style", "has_wide_gap", "is_raised", "style_of"]

Style = tuple[str, float, bool, bool, bool]
"""Font, size in half points, bold, italic, capitals."""
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_WIDE = 2.5
"""In font sizes: more than the word spaces of a stretched line."""
_SECTION_NUMBER = re.compile(r"(?:\d{1,2}|[A-Z]|[IVX]+)(?:\.\d{1,2}|\.[IVX]+)*[.:)]?")


def style_of(row: Row) -> Style:
    """The style of a row: its most used font, the size of its largest letters, its weight, slant and capitals."""
    letters = [span for piece in row.pieces for span in piece.spans if LETTER.search(span.text)]
    size = max((span.size for span in letters), default=row.size)
    return row.font, round(size * 2) / 2, row.bold, row.italic, _is_in_capitals(row.text)


def _is_in_capitals(text: str) -> bool:
    """Whether a line is in capitals, but for a symbol or a name like "LoRA"."""
    if text.upper() == text:
        return True
    letters = [letter for word in _LONG_WORD.findall(text) for letter in word]
    return len(letters) >= 5 and sum(map(str.islower, letters)) <= 0.1 * len(letters)


def has_wide_gap(row: Row) -> bool:
    """Whether a row has white as between columns, or before a page number; not after the number of a section."""
    right = row.pieces[0].x1
    for number, piece in enumerate(row.pieces[1:], 1):
        is_numbered = number == 1 and bool(_SECTION_NUMBER.fullmatch(row.pieces[0].text.strip()))
        if piece.x0 - right > _WIDE * row.size and not is_numbered:
            return True
        right = max(right, piece.x1)
    return False


def is_raised(row: Row) -> bool:
    """Whether a row begins with a small or raised sign, as affiliations and footnotes do."""
    first = next(span for piece in row.pieces for span in piece.spans if not span.text.isspace())
    return first.size < 0.8 * row.size or first.base < row.base - 0.15 * row.size
