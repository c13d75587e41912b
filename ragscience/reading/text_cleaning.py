"""Cleaning of a PDF's text and of its title, and the share of illegible characters."""

import logging
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

_LINE_ENDS = re.compile("\r\n?")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""C0 and C1 controls but tab and newline, and surrogates, which cannot be encoded."""
_ILLEGIBLE = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
"""The replacement character and the three private use areas."""
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_GROUPS = ("Th", "tt", "ti", "tti", "ft", "fft", "fj", "ffj", "tf", "fb", "ffb", "fh", "ffh", "fk", "ffk", "ct", "st")
_FIRST_GROUP = 0x10F700
LETTER_GROUPS = {letters: chr(code) for code, letters in _LIGATURES.items() if letters != "st"} | {
    letters: chr(_FIRST_GROUP + number) for number, letters in enumerate(_GROUPS)
}
"""Ligatures as one character each: Unicode's, and for those that it does not have private ones that only `clean_span`
knows, as MuPDF has room for a single one."""
_SYMBOL_PARTS = dict(zip(range(0xF8E6, 0xF8FF), "⏐⎯®©™⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪⎮⎞⎟⎠⎤⎥⎦⎫⎬⎭", strict=True))
"""Parts of large brackets: Adobe's private code points from before Unicode had them."""
_BLANKS = dict.fromkeys([*b"\t\n\r", 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000], " ")
_NOTHING = dict.fromkeys([0x200B, 0x2060, 0xFEFF])
_SYMBOL_BULLETS = dict.fromkeys([0xF0B7, 0xF0A7, 0xF06E], "•")
"""Bullets of the fonts Symbol and Wingdings, which have private code points."""
_SPAN = {**_LIGATURES, **_BLANKS, **_NOTHING, **_SYMBOL_BULLETS, **_SYMBOL_PARTS}
_SPAN |= {_FIRST_GROUP + number: letters for number, letters in enumerate(_GROUPS)}
_LOOSE_ACCENT = re.compile("([¨´ˆ˜ˇ˚])([A-Za-zı])|([AOUaou]) ?(¨)(?=[A-Za-z])")
_TEX_LIGATURES = {"\x0b": "ff", "\x0c": "fi", "\r": "fl", "\x0e": "ffi", "\x0f": "ffl"}
_LOST_LIGATURE = re.compile("(?<=[a-z])[\x0b\x0c\r\x0e\x0f]|[\x0b\x0c\r\x0e\x0f](?=[a-z])")
"""Old TeX fonts without Unicode values have their ligatures at these codes (the encoding OT1)."""
_LONGEST_TITLE = 300
_PLACEHOLDER = re.compile(
    r"""untitled | no\ title | .*\bmanuscript\ no\b | title$ | unknown$ | none$ | document\d*$ | presentation\d*$
    | microsoft\ (word|powerpoint|excel)\b | powerpoint\ presentation | (layout|slide)\ ?\d*$
    | doi\b | arxiv: | https?:""",
    re.IGNORECASE | re.VERBOSE,
)
_FILE_NAME = re.compile(
    r"[^\s_]*+_\S*+|.*\.(pdf|dvi|ps|eps|tex|docx?|pptx?|odt|rtf|txt|html?|indd|qxd|fm)", re.IGNORECASE
)


def clean_text(text: str) -> str:
    """The text with newlines as line ends and U+FFFD for each control character and lone surrogate.

    A control character in a PDF's text is a glyph without a Unicode value. U+FFFD is no command to a terminal, and
    keeps the offsets of all other characters (but for the carriage return of a pair).
    """
    return _UNPRINTABLE.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def clean_span(text: str) -> str:
    """The text of a span: letters for ligatures, a space for every blank, the rest as `clean_text`."""
    if text.isascii() and text.isprintable():
        return text
    text = _LOST_LIGATURE.sub(lambda match: _TEX_LIGATURES[match[0]], text)
    return _UNPRINTABLE.sub("\ufffd", text.translate(_SPAN))


def mend_accents(text: str) -> str:
    """The text in NFC, with accents that are drawn before their letter put on it: "naïve" for "na¨ıve"."""
    if text.isascii():
        return text

    def put_on(match: re.Match[str]) -> str:
        accent, letter = match[1] or match[4], match[2] or match[3]
        return _accented(letter, accent) or match[0]

    return unicodedata.normalize("NFC", _LOOSE_ACCENT.sub(put_on, text))


_ACCENTS = {"´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "˘": "\u0306"}
_ACCENTS |= {"˚": "\u030a", "˙": "\u0307", "˝": "\u030b", "¸": "\u0327", "˛": "\u0328"}
"""Accents that stand beside their letter, as signs of their own, and the combining ones."""
_BESIDE = re.compile(rf"([^\W\d_]?)( ?)([{''.join(_ACCENTS)}])( ?)([^\W\d_]?)")
_APART = re.compile("(?<=[^\\W\\d_]) +([\u0300-\u0331])")
"""A combining accent that a blank parts from its letter."""
_USUAL = {"˜": "nN", "ˇ": "cdenrstzCDENRSTZ", "¸": "cCsStT", "˛": "aeAE"}
"""Letters on which an accent is usual; of others the vowels."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not decompose into an ASCII letter and a mark."""
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]"
)


def plain_text(text: str) -> str:
    """The text in NFKC with accents on their letters, without invisible characters, and with single blanks."""
    if not text.isascii() or "`" in text:
        text = _BESIDE.sub(_put_on, _APART.sub(r"\1", text.replace("\u00ad", "")))
    return " ".join(_UNSEEN.sub(" ", unicodedata.normalize("NFKC", text)).split())


def plain_letters(text: str) -> str:
    """The text in lower case without accents: "lukasz uber" of "Łukasz Über"; other characters are kept."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _put_on(match: re.Match[str]) -> str:
    """An accent put on the letter before or after it.

    TeX draws most accents before their letter ("Mu˜noz"), old fonts of publishers after it ("Mun˜oz"): it is the letter
    on which the accent is usual, where that decides nothing the one after it, but for those below a letter.
    """
    before, gap, sign, gap_after, after = match.groups()
    usual = _USUAL.get(sign, "aeiouyıAEIOUY")
    onto = "" if gap else _accented(before, sign), "" if gap_after else _accented(after, sign)
    fits = [(letter in usual) + (letter == "ı") for letter in (before or " ", after or " ")]
    if sign == "`" and (gap or not before):
        return match[0]
    if onto[0] and (not onto[1] or fits[0] > fits[1] or (fits[0] == fits[1] and sign in "¸˛")):
        return onto[0] + gap_after + after
    return before + ("" if after.islower() else gap) + onto[1] if onto[1] else match[0]


def _accented(letter: str, sign: str) -> str:
    """The letter with the accent on it as one character, or empty where there is no such character."""
    whole = unicodedata.normalize("NFC", ("i" if letter == "ı" else letter) + _ACCENTS[sign])
    return whole if letter and len(whole) == 1 else ""


def text_of_latex(source: str) -> str:
    """The words of LaTeX source, formulas as text; as it is written where it cannot be read."""
    from pylatexenc.latex2text import LatexNodes2Text
    from pylatexenc.latexwalker import LatexWalkerError

    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)
    with suppress(LatexWalkerError, RecursionError, ValueError, IndexError):
        return str(LatexNodes2Text(math_mode="text", keep_comments=True).latex_to_text(source))
    return source


def illegible_share(text: str) -> float:
    """The share of illegible characters in a cleaned text's visible ones, from 0 to 1; 0 for blank text."""
    visible = sum(map(len, text.split()))
    return len(_ILLEGIBLE.findall(text)) / visible if visible else 0.0


def sensible_title(raw: str | None) -> str:
    """A title from a PDF's metadata on one line, or "" where it is a placeholder, a file's name or an identifier."""
    title = " ".join(clean_text(raw or "").split())
    if not any(character.isalpha() for character in title) or len(title) > _LONGEST_TITLE or "\ufffd" in title:
        return ""
    if _PLACEHOLDER.match(title) or _FILE_NAME.fullmatch(title):
        return ""
    return title


def printable_name(path: Path) -> str:
    """The file's name on one line, with U+FFFD for what cannot be printed."""
    return clean_text(path.name).replace("\n", "\ufffd") or str(path)


_ROWS = (
    "354334443543424562333454441",
    "134619791563752892552649372",
    "194629901435532984233869221",
    "167217721355632793443559421",
    "443324353443325582235555351",
    "199523662554951992432969391",
    "166617442253332692442639261",
    "189318862444542653522449391",
    "353424343333423453334556342",
    "187416990925531898441579572",
    "166627812544142993332749382",
    "156426551342442797443549472",
    "137517362444352493453939561",
    "274327132345643897424658341",
    "343343343342322472233328531",
    "196824612563661392542745672",
    "199419992699992999690999491",
    "255426442445552675443558431",
    "163727412524553486324559321",
    "168918712665652892433549351",
    "344315452442223352232545441",
    "197609881575941994562699362",
    "076629731985632894474939282",
    "173528901999694399923969690",
    "033324433434422492334459460",
    "154428531654432696542449331",
    "233334443333333364324336349",
)
PAIR_BITS: Mapping[tuple[str, str], int] = {
    (first, second): int(bits)
    for first, row in zip("abcdefghijklmnopqrstuvwxyz ", _ROWS, strict=True)
    for second, bits in zip("abcdefghijklmnopqrstuvwxyz ", row, strict=True)
    if first + second != "  "
}
"""For two neighbouring letters, or a letter and a word's border (" "), the least -log2 of P(second | first) over 33
languages, rounded, at most 9. tools/make_letter_pairs.py makes it, from the counts of langdetect 1.0.9 (Apache License
2.0).
"""
_WORD = re.compile(r"[^\W\d_]{3,20}")


def mean_bits(text: str) -> tuple[float, int]:
    """(mean bits of the text's pairs of Latin letters, or of a letter and a word's border; their number); 0 for none.

    Words of three letters or more count, but for those in capitals: abbreviations, and sequences of proteins. Text in a
    language has 2.0 to 2.9 bits a pair; letters at random, or put in each other's place, have above 3.
    """
    total = count = 0
    for word in _WORD.findall(text):
        bits, pairs = _bits_of(word)
        total += bits
        count += pairs
    return (total / count if count else 0.0), count


@lru_cache(maxsize=32_768)
def _bits_of(word: str) -> tuple[int, int]:
    """(bits of a word's pairs, their number)."""
    if word.isupper():
        return 0, 0
    if not word.isascii():
        word = "".join([one for one in unicodedata.normalize("NFKD", word) if not unicodedata.combining(one)])
    bits = [PAIR_BITS[pair] for pair in pairwise(f" {word.lower()} ") if pair in PAIR_BITS]
    return sum(bits), len(bits)
