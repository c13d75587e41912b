"""The words and numbers by which sentences are compared: folded, stemmed, without stop words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Protocol

__all__ = ["joined_lines", "numbers", "terms"]

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:[’'][^\W\d_]+)?|[^\W_]+")
_COMPOUND = re.compile(r"[^\W_]+(?:-[^\W_]+)+")
_BROKEN_WORD = re.compile(r"(\w)[-\u2010\u00ad][ \t]*[\r\n]+[ \t]*(\w)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d),\s?(?=\d{3}(?!\d))")
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_SPELLED = {
    word: str(value)
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
}
_ENGLISH = """
a about above after again against all also am an and any are as at be because been before being below between both but
by can could did do does doing down during each either else few for from further had has have having he her here hers
him his how however i if in into is it its itself just may me might more most much must my nor of off on once only or
other our ours out over own per same shall she should so some such than that the their theirs them then there these
they this those through thus to too under until up upon us very was we were what when where whether which while who
whom whose why will with would you your yours
"""
_STOP_WORDS = frozenset(_ENGLISH.split())


class _Stems(Protocol):
    def stemWords(self, words: list[str]) -> list[str]: ...  # noqa: N802  # PyStemmer's name for it


@cache
def _stemmer() -> _Stems:
    import Stemmer

    stems: _Stems = Stemmer.Stemmer("english")
    return stems


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
    words = [w for w in _TOKEN.findall(folded) if w not in _STOP_WORDS]
    words += [compound.replace("-", "") for compound in _COMPOUND.findall(folded)]
    return [stem for stem in _stemmer().stemWords([w.replace("’", "'") for w in words]) if stem]


def numbers(text: str, *, spelled: bool = False) -> frozenset[str]:
    """The numbers of `text`, thousands without commas ("200,000": 200000); with `spelled`, also zero to twelve."""
    folded = _THOUSANDS.sub("", _folded(text))
    found = set(_NUMBER.findall(folded))
    if spelled:
        found.update(_SPELLED[word] for word in re.findall(r"[a-z]+", folded) if word in _SPELLED)
    return frozenset(found)


def _folded(text: str) -> str:
    return joined_lines(unicodedata.normalize("NFKC", text).translate(_DASHES)).casefold()
