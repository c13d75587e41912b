"""Whether a text holds what a right answer must hold, however a PDF broke its lines and words.

Three readings of a text are compared, from strict to loose: with blanks collapsed, with words joined that a line's end
cut, and without blanks and hyphens at all (for equations, and for text layers that cut words into pieces).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Readings", "holds", "holds_all", "readings"]

_SHORTEST_TIGHT = 4
"""Shorter strings are not looked for without blanks: they would be found by chance."""
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u223c": "~", "\u02dc": "~"}
_ONE_FORM = str.maketrans({**dict.fromkeys(_DASHES, "-"), **_QUOTES})
_BROKEN_WORD = re.compile(r"(\w)-[ \t]*\n\s*(\w)")
_BLANKS = re.compile(r"\s+")
_LOOSE = re.compile(r"[\s\-\x00-\x1f]+")


@dataclass(frozen=True, slots=True)
class Readings:
    """One text, read in three ways; case, dashes, quotation marks and ligatures are folded in each."""

    spaced: str
    joined: str
    tight: str


@lru_cache(maxsize=4096)
def readings(text: str) -> Readings:
    """The three readings of `text`."""
    folded = unicodedata.normalize("NFKC", text.replace("\u00ad", "-\n")).translate(_ONE_FORM).lower()
    return Readings(
        _BLANKS.sub(" ", folded).strip(),
        _BLANKS.sub(" ", _BROKEN_WORD.sub(r"\1\2", folded)).strip(),
        _LOOSE.sub("", folded),
    )


def holds(text: str, wanted: str) -> bool:
    """Whether `wanted` occurs in `text`; a number only as a whole: 8 is not in 28.4, nor 28.4 in 128.4 or 28.41."""
    own, sought = readings(text), readings(wanted)
    if not sought.spaced:
        return False
    pattern = _whole(sought.spaced)
    if pattern.search(own.spaced) or pattern.search(own.joined):
        return True
    return len(sought.tight) >= _SHORTEST_TIGHT and bool(_whole(sought.tight).search(own.tight))


def holds_all(text: str, wanted: Iterable[str]) -> bool:
    """Whether each of `wanted` occurs in `text`."""
    return all(holds(text, each) for each in wanted)


@lru_cache(maxsize=4096)
def _whole(wanted: str) -> re.Pattern[str]:
    before = r"(?<!\d)(?<!\d[.,])" if wanted[0].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if wanted[-1].isdigit() else ""
    return re.compile(before + re.escape(wanted) + after)
