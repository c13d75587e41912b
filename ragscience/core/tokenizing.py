"""Text becomes terms: `tokenize` for the keyword index and its questions, `terms` to compare sentences.

`tokenize`: NFKC and case folding; words of any script; English stop words out; Snowball stems. Numbers keep their
decimals ("28.4"), a hyphenated name gives the whole and its parts ("GPT-3": gpt3, gpt, 3), a word broken at a line's
end is joined, an accented word also gives its bare form, and scripts without spaces give characters and pairs.

`terms` keeps what tells two sentences apart though it finds nothing ("not", "without", a variable named t).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from itertools import chain
from typing import Any

__all__ = ["STOP_WORDS", "TOKENIZER_VERSION", "is_unspaced", "joined_lines", "numbers", "terms", "tokenize"]

TOKENIZER_VERSION = "1"
"""Increased when the same text gives other terms: an index of another version is rebuilt."""

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can cannot could did do does doing don done down during each either etc few for from
    further had has have having he her here hers herself him himself his how however i if in into is it its
    itself just ll let may me might more most must my myself neither no nor not now of off on once only or
    other our ours ourselves out over own re s same shall she should so some such t than that the their theirs
    them themselves then there therefore these they this those through thus to too under until up upon us ve
    very was we were what when where whether which while who whom whose why will with within without would yet
    you your yours yourself yourselves
    """.split()  # noqa: SIM905  # a list of 160 strings reads worse
)

_COMPARISON_STOP_WORDS = (
    STOP_WORDS
    - frozenset(
        """
        cannot neither no not without within yet now etc done don let ll re s t ve therefore
        herself himself myself ourselves themselves yourself yourselves
        """.split()  # noqa: SIM905  # as above
    )
) | {"else", "much", "per"}

_WORD_OR_NUMBER = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[’'][^\W\d_]+)?|[^\W_]+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:-[^\W_]++)++")
_BROKEN_WORD = re.compile(r"(\w)[-\u2010\u00ad][ \t]*[\r\n]+[ \t]*(\w)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS_COMMA = re.compile(r"(?<=\d),\s?(?=\d{3}(?!\d))")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_SPELLED = {
    word: str(value)
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}

# Vowel signs and points that \w leaves out, so that it would cut Hindi, Thai or vocalized Arabic words to pieces.
_POINTS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
_SIGNS = (
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b4d\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83"
    "\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    "\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
_WORD = rf"[\w{_POINTS}{_SIGNS}]+"
_PART = rf"{_WORD}(?:(?<=[0-9])[.,][0-9]+)*"
_PLAIN = r"[a-z]++(?=[ .,;:()\n])"  # what the next alternative would give as well, for most words in half the time
_UNIT = re.compile(rf"{_PLAIN}|{_PART}(?:[-\u2010\u2013]{_PART})*|(?<![\w.])\.[0-9]+")
_JOINT = re.compile("[-_\u2010\u2013]+")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")

_LINE_END = re.compile("([^\\W\\d_])[-\u00ad\u2010][ \t]*\r?\n[ \t]*(\\w)")

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_POINT = re.compile(f"[{_POINTS}]")


def tokenize(text: str) -> list[str]:
    """The terms of `text` in its order, repeated as they are; empty where it has no words."""
    if "\n" in text:
        text = _LINE_END.sub(_mend, text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.replace("\u00ad", ""))
    units = _UNIT.findall(text.casefold())
    return list(chain.from_iterable(map(_terms, units)))


def is_unspaced(text: str) -> bool:
    """Whether any of it is in a script that puts no spaces between words, as Chinese, Japanese, Korean and Thai."""
    return not text.isascii() and bool(_UNSPACED.search(text))


def joined_lines(text: str) -> str:
    r"""`text` on one line: words that were hyphenated at a line's end are joined, blanks collapsed.

    The hyphen stays where the word before it has a digit or a capital at its end ("GPT-\n3"): it belongs to the name.
    """

    def join(broken: re.Match[str]) -> str:
        before, after = broken.groups()
        return before + ("" if before.islower() and after.islower() else "-") + after

    return " ".join(_BROKEN_WORD.sub(join, text).split())


def terms(text: str) -> list[str]:
    """The content words and numbers of `text`, in order, repeated as they are: case-folded (NFKC) Snowball stems.

    A compound gives its parts and itself without the hyphen ("pre-training": pre, train, pretrain), so that it is the
    same whether a line broke inside it or not.
    """
    folded = _folded(text)
    words = [w for w in _WORD_OR_NUMBER.findall(folded) if w not in _COMPARISON_STOP_WORDS]
    words += [compound.replace("-", "") for compound in _COMPOUND.findall(folded)]
    return [stem for word in words if (stem := _stem(word.replace("’", "'")))]


def numbers(text: str, *, spelled: bool = False) -> frozenset[str]:
    """The numbers of `text`, thousands without commas ("200,000": 200000); with `spelled`, also zero to twelve."""
    folded = _THOUSANDS_COMMA.sub("", _folded(text))
    found = set(_NUMBER.findall(folded))
    if spelled:
        found.update(_SPELLED[word] for word in re.findall(r"[a-z]+", folded) if word in _SPELLED)
    return frozenset(found)


def _folded(text: str) -> str:
    return joined_lines(unicodedata.normalize("NFKC", text).translate(_DASHES)).casefold()


def _mend(match: re.Match[str]) -> str:
    """Undo a break at a line's end: "atten-" and "tion" are one word, the hyphen of "GPT-" and "3" is its own."""
    before, after = match.groups()
    return f"{before}{after}" if after.islower() else f"{before}-{after}"


@lru_cache(maxsize=1 << 17)
def _terms(unit: str) -> tuple[str, ...]:
    """The terms of one run of letters, digits, marks and hyphens, case-folded."""
    if unit.isalpha() and unit.isascii():
        return () if unit in STOP_WORDS else (_stem(unit),)
    parts = [part for part in _JOINT.split(unit) if part]
    terms = [term for part in parts for term in _part_terms(part)]
    if len(parts) > 1 and any(character.isalpha() for character in unit):
        whole = "".join(parts)
        if not _UNSPACED.search(whole):
            terms[:0] = _spellings(whole)
    return tuple(terms)


def _part_terms(part: str) -> list[str]:
    if part in STOP_WORDS:
        return []
    if _THOUSANDS.fullmatch(part):
        part = part.replace(",", "")
    if part.startswith("."):
        part = f"0{part}"
    if is_unspaced(part):
        return _unspaced_terms(part)
    return _spellings(part)


def _spellings(word: str) -> list[str]:
    """The word's stem, and the stem without accents and points where that is another."""
    stems = [_stem(word)]
    if not word.isascii():
        bare = unicodedata.normalize("NFC", _POINT.sub("", unicodedata.normalize("NFD", word)))
        if bare and bare != word:
            stems.append(_stem(bare))
    return [stem for stem in dict.fromkeys(stems) if stem]


def _unspaced_terms(part: str) -> list[str]:
    """Each character and each pair of neighbours of the unspaced runs; what is between them as words."""
    terms: list[str] = []
    position = 0
    for match in _UNSPACED.finditer(part):
        if match.start() > position:
            terms += _spellings(part[position : match.start()])
        run = match.group()
        terms += list(run)
        terms += [run[index : index + 2] for index in range(len(run) - 1)]
        position = match.end()
    if position < len(part):
        terms += _spellings(part[position:])
    return terms


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


_stemming = threading.Lock()


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    with _stemming:  # PyStemmer's objects serve one thread at a time
        return str(_stemmer().stemWord(word))
