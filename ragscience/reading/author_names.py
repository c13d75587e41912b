"""The authors of a paper: names of people in a line of words, and the lines of names between its title and its text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragscience.reading.first_page import MARKS, Segment
from ragscience.reading.name_words import DEGREES, GENERATIONS, NO_NAMES, PARTICLES, PLACES, plain_letters, plain_text

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
            if place == len(pieces) - 1 and _breaks_off(piece, names):
                return NameLine(tuple(names), piece, is_whole, goes_on)
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


def _breaks_off(name: str, others: Sequence[str]) -> bool:
    """Whether a name at the end of a line goes on in the next: "Carl de", and "Eve M." among full names."""
    last = name.split()[-1]
    is_initial = len(last) == 2 and last[1] == "." and not any(other.endswith(".") for other in others)
    return bool(others) and (last in PARTICLES or is_initial)


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


_TEXT_BEGINS = re.compile(
    r"(?:\d+\.?\s+)?(?:abstract|a b s t r a c t|summary|introduction|keywords|key words|contents|index terms|"
    r"article info|background|objectives?|purpose)\b.*",
    re.IGNORECASE,
)
_SENTENCE_WORDS = 6
"""Lower-case words of a line of running text, at least; no line of names has so many."""
_SENTENCE_SHARE = 0.55
_LAST_PART = 0.75
"""Share of the page's height: no author is named below it."""
_MANY = 40
"""A list of more names is more often a misreading than a list."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
"""No line of names has one: a date, or the journal."""
UNSURE = 0.45
"""Confidence of a list from which a name may be missing."""


def find_authors(
    segments: Sequence[Segment], title_at: int, height: float, file_author: str
) -> tuple[tuple[str, ...], float]:
    """The authors below the title, which ends at segment `title_at` (-1: no title), and a confidence from 0 to 1.

    The first line of names decides the type of the others. Where the file's list of authors is longer and all of it is
    printed there, it is taken; without names on the page, `file_author` is parsed.
    """
    block = list(_block(segments, title_at, height)) if title_at >= 0 else []
    printed, is_whole = _printed(block)
    own = names_of_file(file_author)
    if not printed:
        return tuple(own), 0.6 if own else 0.0
    text = _squashed(" ".join(segment.text for segment in block))
    if len(own) > len(printed) and all(_squashed(name) in text for name in own):
        return tuple(own), 0.95
    agree = {last_name(name).casefold() for name in own} & {last_name(name).casefold() for name in printed}
    sure = 0.95 if agree else 0.85 if len(printed) < _MANY else 0.6
    return tuple(printed), sure if is_whole or len(own) == len(printed) else UNSURE


def _squashed(text: str) -> str:
    return "".join(char for char in plain_letters(text) if char.isalpha())


def _block(segments: Sequence[Segment], title_at: int, height: float) -> Iterator[Segment]:
    """The segments between the title and the text, without those of a column beside the title."""
    title = segments[title_at]
    same = [title, *(segment for segment in segments[:title_at] if segment.looks_like(title))]
    left, right = min(segment.box[0] for segment in same), max(segment.box[2] for segment in same)
    beside: list[Segment] = []
    for segment in segments[title_at + 1 :]:
        if segment.box[1] > _LAST_PART * height:
            return
        is_beside = segment.box[0] > right or segment.box[2] < left
        if _begins_text(segment.text):
            if not is_beside:
                return
            beside.append(segment)
        elif not (is_beside and any(one.box[0] - 3 < segment.box[0] < one.box[2] for one in beside)):
            yield segment


def _begins_text(text: str) -> bool:
    if _TEXT_BEGINS.fullmatch(text):
        return True
    words = [word.strip(".,;:()") for word in text.split()]
    small = sum(word.islower() and word.isalpha() for word in words)
    return "@" not in text and small >= _SENTENCE_WORDS and small >= _SENTENCE_SHARE * len(words)


def _printed(block: Sequence[Segment]) -> tuple[list[str], bool]:
    """The names in the block, and whether every name of it could be read."""
    found: list[tuple[Segment, NameLine]] = []
    others: list[Segment] = []
    last = NameLine()
    for segment in block:
        line = NameLine()
        if _is_candidate(segment, found, others):
            line = names_in(segment.parts, last.half, in_list=last.goes_on or bool(last.half))
        if line.names or line.half:
            found.append((segment, line))
            last = line
        elif found and segment.size < 0.8 * found[0][0].size and len(segment.text) < 4:
            continue
        else:
            others.append(segment)
            last = NameLine()
    # One affiliation may be printed below several names; no author is named twice.
    names = [name for _, line in found for name in line.names]
    times = Counter(names)
    return written_alike([name for name in names if times[name] == 1]), all(line.is_whole for _, line in found)


def _is_candidate(segment: Segment, found: Sequence[tuple[Segment, NameLine]], others: Sequence[Segment]) -> bool:
    """Whether a segment may be a line of names: set as the first one, or beside one."""
    if _hangs_below(segment, others) or _YEAR.search(segment.text):
        return False
    if not found or segment.looks_like(found[0][0]):
        return True
    beside = [one for one, _ in found if abs(one.box[3] - segment.box[3]) < 0.3 * segment.size]
    return any(abs(one.size - segment.size) < 0.2 * one.size and one.bold == segment.bold for one in beside)


def _hangs_below(segment: Segment, others: Sequence[Segment]) -> bool:
    """Whether the segment continues a line without names, as a city continues a university."""
    return any(
        other.looks_like(segment)
        and 0 < segment.box[1] - other.box[1] < 1.3 * segment.size
        and min(segment.box[2], other.box[2]) > max(segment.box[0], other.box[0])
        for other in others[-8:]
    )
