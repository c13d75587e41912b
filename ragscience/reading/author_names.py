"""Names of people in a line of words: which words are a name, and how it is written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.reading.first_page import MARKS
from ragscience.reading.name_words import DEGREES, GENERATIONS, NO_NAMES, PARTICLES, PLACES, plain_letters, plain_text

__all__ = ["NameLine", "is_name", "is_rest_of_name", "last_name", "names_in", "names_of_file", "written_alike"]

_SEPARATOR = re.compile(
    rf" ?(?:[,;&|/·•+#$=°^<>\[\]{re.escape(MARKS)}⋄◦○●■□▲△◇]|\b(?:and|AND|And|und|et)\b|"
    r"(?<=[^\W\d_]{2})\d{1,2}(?!\w)) ?"
)
_ASIDE = re.compile(r"\([^()]{0,60}\)|\{[^{}]{0,60}\}|[\w.+-]{1,60}@[\w.-]{1,60}")
"""What stands in brackets, and e-mail addresses."""
_TITLES = re.compile(
    r"^(?:(?:Dr|Prof|Mr|Mrs|Ms|Sir|Professor|DR|PROF)\b[. ]*){0,3}(?:(?i:by|authors?:?|written by|presented by) )?"
)
_FOOTNOTE_ENDS = re.compile(r"(?:(?<=[^\W\d_])[\d'\"’”“]+| [a-z]| [1-9*]|[-–:]){1,6}$")
"""Footnote marks on the line itself: digits after a word, a single small letter, quotation marks of an OCR."""
_GLUED = re.compile(r"([A-Z][a-z]{2,})([A-Z][a-z]{2,})")
_NOT_GLUED = ("Mac", "Fitz", "Von", "Van", "Del", "Des", "Ter", "Ben", "Abu", "San")
_LONGEST_ABBREVIATION = 4
"""Letters before a point within a name: "Chr.", "Alex."."""
_SWAPPED = re.compile(r"[^,;\s]{2,40}(?: [^,;\s]{1,40}){0,2}, ?[^,;]{1,60}")
"""Lovelace, Ada"""
_INITIALS_LAST = re.compile(r"([^\W\d_][^\W\d_'’-]+(?:[ '’-][^\W\d_]+)?) ((?:[A-Z]\.[ -]?){1,4})$")
"""Hoare C.A.R."""
_JOINTS = str.maketrans("", "", "-'’‘`ʼ‐‑–·")


@dataclass(frozen=True, slots=True)
class NameLine:
    """The names in a line of a first page."""

    names: tuple[str, ...] = ()
    half: str = ""
    """The first half of a name that continues in the next line, or empty."""
    is_whole: bool = True
    """Whether every piece up to the affiliation could be read as a name."""
    goes_on: bool = False
    """Whether the line ends with a comma or "and": the list continues below."""


def is_name(text: str) -> bool:
    """Whether a text reads like the name of one person: "Jan van der Berg", "D. E. Knuth", "李明"."""
    tokens = text.replace(".", ". ").split()
    if any(len(token) > _LONGEST_ABBREVIATION + 1 and token.endswith(".") for token in tokens[:-1]):
        return False
    words = [token.strip(".'’-") for token in tokens]
    if len(tokens) == 1 and 2 <= len(text) <= 4 and all(map(str.isalpha, text)):
        return not any(char.islower() or char.isupper() for char in text)
    if not 2 <= len(tokens) <= 7 or any(plain_letters(word) in NO_NAMES for word in words):
        return False
    if not all(_is_name_word(token) for token in tokens) or not _is_name_word(tokens[0]):
        return False
    if " ".join(word.casefold() for word in words) in PLACES:
        return False
    whole = [word for word in words if len(word) > 1 and word.casefold() not in PARTICLES]
    return bool(whole) and not all(word.casefold() in DEGREES for word in whole)


def _is_name_word(token: str) -> bool:
    letters = token.strip(".").translate(_JOINTS)
    if not letters or not all(char.isalpha() or unicodedata.category(char) == "Mn" for char in letters):
        return False
    if letters.casefold() in PARTICLES:
        return True
    if letters[0].islower():
        # d'Alembert, al-Khwarizmi
        return bool(re.match(r"(?:[dlo]['’`‘]|al-|el-|bin-)[A-Z]", token))
    return True


def names_in(parts: Sequence[str], carried: str = "", *, in_list: bool = False) -> NameLine:
    """The names at the beginning of a line.

    `parts` is the line split at raised marks, `carried` the half name at the end of the line above, and `in_list` says
    that the line above ended with a comma or "and". A piece of the list that is no name is left out, and the
    names after it are read; with a word of an affiliation the list ends.
    """
    if swapped := _swapped("".join(parts)):
        return NameLine(tuple(swapped))
    pieces = [piece for part in parts for piece in _pieces(part)]
    if carried and pieces:
        pieces[0] = f"{carried} {pieces[0]}"
    goes_on = bool(parts) and bool(re.search(r"(?:[,;&]|\band)\s*$", parts[-1]))
    names: list[str] = []
    is_whole = True
    for place, piece in enumerate(pieces):
        if names and piece.strip(".").casefold() in GENERATIONS:
            names[-1] = f"{names[-1]} {piece}"
            continue
        if is_name(piece):
            names.append(piece)
            continue
        if (glued := _GLUED.fullmatch(piece)) and not piece.startswith(_NOT_GLUED):
            names.append(f"{glued[1]} {glued[2]}")
            is_whole = False
            continue
        is_word = _is_name_word(piece) and plain_letters(piece) not in NO_NAMES
        if place == len(pieces) - 1 and is_word and (place > 0 or in_list):
            return NameLine(tuple(names), piece, is_whole, goes_on)
        is_house = piece.isupper() and bool(names) and not names[-1].isupper()
        if not (names or in_list) or is_house or _ends_list(piece):
            return NameLine(tuple(names), "", is_whole, False)
        is_whole = False
    return NameLine(tuple(names), "", is_whole, goes_on)


def is_rest_of_name(above: Sequence[str], below: Sequence[str], *, is_hyphened: bool) -> bool:
    """Whether a list of names, split at raised marks, breaks within a name at the end of its line."""
    line = names_in(above, in_list=True)
    pieces = [piece for part in below for piece in _pieces(part)]
    if len(line.names) < 2 or line.half or line.goes_on or len(pieces) < 2:
        return False
    is_lone = _is_name_word(pieces[0]) and plain_letters(pieces[0]) not in NO_NAMES
    return (is_lone or is_hyphened) and is_name(pieces[1])


def _ends_list(piece: str) -> bool:
    """Whether a piece that is no name belongs to an affiliation or to a sentence."""
    words = [plain_letters(word.strip(".'’-:()")) for word in piece.split()]
    if any(word in NO_NAMES for word in words) or " ".join(words) in PLACES or "@" in piece:
        return True
    letters = sum(map(str.isalpha, piece))
    small = sum(word[:1].islower() for word in piece.split() if word.casefold() not in PARTICLES)
    return small * 2 > len(words) or letters < sum(map(str.isdigit, piece)) or len(words) > 6


def _pieces(text: str) -> list[str]:
    """The parts between commas, footnote marks and "and", without degrees, titles and marks at their ends."""
    pieces = []
    for raw in _SEPARATOR.split(_ASIDE.sub(" , ", text)):
        piece = raw.strip(' .:()_~%!?<>"“”') if len(raw) < 3 else raw.strip(' :()_~%!?<>"“”')
        piece = _FOOTNOTE_ENDS.sub("", _TITLES.sub("", piece)).strip(" ,")
        words = piece.split()
        while words and len(words) != 2 and words[-1].replace(".", "").casefold() in DEGREES:
            words.pop()
        if words:
            pieces.append(" ".join(words))
    return pieces


def names_of_file(author: str) -> list[str]:
    """The names in the file's property "author", which has many forms; maybe none."""
    author = plain_text(author)
    if swapped := _swapped(author):
        return swapped
    return written_alike([piece for piece in _pieces(author) if is_name(piece)])


def _swapped(text: str) -> list[str]:
    """The names of a list with semicolons and family names first: "Lovelace, Ada; van Berg, Jan"."""
    pieces = [piece.strip() for piece in text.split(";") if piece.strip()]
    if ";" not in text or not all(_SWAPPED.fullmatch(piece) for piece in pieces):
        return []
    halves = (piece.partition(",") for piece in pieces)
    return [name for last, _, first in halves if is_name(name := f"{first.strip()} {last.strip()}")]


def last_name(name: str) -> str:
    """The family name without particles: "Driessche" of "George van den Driessche"."""
    words = [word for word in name.split() if word.strip(".").casefold() not in GENERATIONS]
    return words[-1] if words else ""


def written_alike(names: Sequence[str]) -> list[str]:
    """The names with capitals and small letters: JANE DOE and Jane DOE as Jane Doe; initials stay.

    Where the family names stand first (DOE Jane, Hoare C.A.R.), they are put last.
    """
    shouted = [_shouted(name) for name in names]
    if sum(len(words) == 1 and words[0] == 0 for words in shouted) * 2 > len(names):
        names = [
            " ".join([*name.split()[1:], name.split()[0]]) if words == [0] else name
            for name, words in zip(names, shouted, strict=True)
        ]
    if sum(bool(_INITIALS_LAST.fullmatch(name)) for name in names) * 2 > len(names):
        names = [_INITIALS_LAST.sub(r"\2 \1", name) for name in names]
    return [_in_small_letters(name) for name in names]


def _shouted(name: str) -> list[int]:
    """The places of the words in capitals, of three letters and more, in a name that has others."""
    words = name.split()
    places = [place for place, word in enumerate(words) if word.isupper() and len(word.strip(".")) > 2]
    others = [word for word in words if len(word.strip(".")) > 1 and not word.isupper()]
    return places if others else []


def _in_small_letters(name: str) -> str:
    words = name.split()
    is_all = name.isupper() and any(len(word.strip(".")) > 2 for word in words)
    places = _shouted(name)
    return " ".join(
        _titled(word) if (is_all and len(word.strip(".")) > 1 + ("." in word)) or place in places else word
        for place, word in enumerate(words)
    )


def _titled(word: str) -> str:
    """LOVELACE as Lovelace, MCDONALD as McDonald, O'HARA as O'Hara, VAN as Van."""
    if word.count(".") or (len(word) < 3 and word.casefold() not in PARTICLES and not set(word) & set("AEIOUY")):
        return word
    return re.sub(r"^Mc([a-z])", lambda match: "Mc" + match[1].upper(), word.title().replace("’S", "’s"))
