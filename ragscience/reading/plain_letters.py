"""Text of a PDF as plain characters: accents on their letters, no invisible characters, single blanks."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["plain_letters", "plain_text"]

_COMBINING = {
    "´": "\u0301",
    "`": "\u0300",
    "¨": "\u0308",
    "ˆ": "\u0302",
    "˜": "\u0303",
    "ˇ": "\u030c",
    "˘": "\u0306",
    "˚": "\u030a",
    "˙": "\u0307",
    "˝": "\u030b",
    "¸": "\u0327",
    "˛": "\u0328",
}
"""Accents that stand beside their letter, as signs of their own, and the combining ones."""
_LOOSE = re.compile(rf"([^\W\d_]?)( ?)([{''.join(_COMBINING)}])(?=( ?)([^\W\d_]?))")
_APART = re.compile("(?<=[^\\W\\d_]) +([\u0300-\u0331])")
"""A combining accent that a blank parts from its letter."""
_VOWELS = frozenset("aeiouyıAEIOUY")
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not decompose into an ASCII letter and a mark."""
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)


def plain_text(text: str) -> str:
    """The text in NFKC with accents on their letters, without invisible characters, and with single blanks."""
    if not text.isascii():
        text = _on_letters(_APART.sub(r"\1", text.replace("\u00ad", "")))
    elif "`" in text:
        text = _on_letters(text)
    return " ".join(_UNSEEN.sub(" ", unicodedata.normalize("NFKC", text)).split())


def plain_letters(text: str) -> str:
    """The text in lower case without accents: "lukasz uber" of "Łukasz Über"; other characters are kept."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _on_letters(text: str) -> str:
    """The text with each accent that stands beside a letter put on it."""
    done, at = "", 0
    for match in _LOOSE.finditer(text):
        if match.start(3) < at:
            continue
        before, gap, sign, after_gap, after = match.groups()
        if not before and match.start() and match.start() == at and done[-1:].isalpha():
            before, gap = done[-1], ""
        goes_on_next = _is_on_next(before, gap, sign, after_gap, after)
        if goes_on_next is None:
            continue
        done += text[at : match.start(3)]
        if goes_on_next:
            if gap and before and after.islower():
                done = done.removesuffix(" ")
            done += _accented(after, sign)
            at = match.end() + len(after_gap) + 1
        else:
            done = done.rstrip(" ")
            done = done[:-1] + _accented(done[-1], sign)
            at = match.end()
    return done + text[at:]


def _is_on_next(before: str, gap: str, sign: str, after_gap: str, after: str) -> bool | None:
    """Whether the accent belongs to the letter after it (True) or before it (False); None where it is a sign alone.

    TeX draws most accents before their letter ("Mu˜noz"), old fonts of publishers after it ("Mun˜oz"); cedilla and
    ogonek are drawn after it by both.
    """
    on_before = bool(before) and _accented(before, sign) != ""
    on_after = bool(after) and _accented(after, sign) != ""
    if sign == "`" and (not before or gap):
        return None
    if sign in "¸˛":
        usual = "cCsStT" if sign == "¸" else "aeAE"
        if on_before and before in usual:
            return False
        return True if on_after and after in usual and not after_gap else False if on_before else None
    if before == "ı" and not gap and on_before:
        return False
    if on_before and not gap and not on_after:
        return False
    if not on_after or after_gap:
        return False if on_before and not gap else None
    if not on_before or gap:
        return True
    if sign == "˜" and (before in "nN") != (after in "nN"):
        return after in "nN"
    prefers_vowel = sign not in "ˇ"
    fits = ((before in _VOWELS) == prefers_vowel, (after in _VOWELS) == prefers_vowel)
    return fits != (True, False)


def _accented(letter: str, sign: str) -> str:
    """The letter with the accent on it as one character, or empty where there is no such character."""
    whole = unicodedata.normalize("NFC", ("i" if letter == "ı" else letter) + _COMBINING[sign])
    return whole if len(whole) == 1 else ""
