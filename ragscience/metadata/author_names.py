"""Names of people: in a line of words, as the authors on a first page, and in plain letters."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from ragscience.metadata.first_page import MARKS, Segment, plain_text

__all__ = ["find_authors", "last_name", "names_in", "plain_letters"]

_SEPARATOR = re.compile(rf"\s*(?:[,;&|·•{re.escape(MARKS)}]|\band\b|\bAND\b|\s{{3,}})\s*")
_PARTICLES = frozenset(
    "al bin da de del della den der des di dos du el ibn la las le los st ten ter van vom von y zu zum zur".split()  # noqa: SIM905 - a list of so many would fill the page
)
_SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv", "phd", "md", "msc", "bsc", "frs", "ieee", "acm", "esq"])
_NO_NAMES = frozenset(
    """
    abstract academy accepted ai algorithms all an analysis and applied article articles artificial as at author
    authors available avenue biology brain by care center centre chemistry city clinic cloud college company computer
    computing conference copyright corp corporation data department dept division draft engineering equal faculty figure
    for foundation from general group hospital in inc informatics information infrastructure innovation institut
    institute institutes institution integrative intelligence international introduction journal keywords lab labs
    laboratories laboratory language learning library limited ltd machine mathematics medical medicine member ministry
    national network networks of on open original page paper physics preprint proceedings program project published
    received report research review road school science sciences services society software speech state statistics
    street studies student submitted systems team technical technische technology the to universidad universite
    universitat university université universität version vision volume with work working
    """.split()  # noqa: SIM905 - as above
)
"""Words of affiliations, banners and titles, none of which is part of a name."""
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h"}
)
"""Letters that Unicode does not decompose into an ASCII letter and a mark."""
_TEXT_BEGINS = re.compile(
    r"(?:\d+\.?\s+)?(?:abstract|a b s t r a c t|summary|introduction|keywords|contents)\b.*", re.I
)
_SENTENCE_WORDS = 9
"""Lower-case words of a line of running text, at least; no line of names has so many."""
_LAST_PART = 0.75
"""Share of the page's height: no author is named below it."""


def find_authors(
    segments: Sequence[Segment], title_at: int, height: float, file_author: str
) -> tuple[tuple[str, ...], float]:
    """The authors below the title, which ends at segment `title_at` (-1: no title), and a confidence from 0 to 1.

    The first line of names decides the type of the others. Without names on the page, `file_author` is parsed.
    """
    printed = _printed(segments[title_at + 1 :], height) if title_at >= 0 else []
    own = names_of_file(file_author)
    if not printed:
        return tuple(own), 0.6 if own else 0.0
    agree = {last_name(name).casefold() for name in own} & {last_name(name).casefold() for name in printed}
    return tuple(printed), 0.95 if agree else 0.85 if len(printed) < 40 else 0.6


def _printed(segments: Sequence[Segment], height: float) -> list[str]:
    names: list[str] = []
    model: Segment | None = None
    others: list[Segment] = []
    carried = ""
    for segment in segments:
        if segment.box[1] > _LAST_PART * height or _begins_text(segment):
            break
        is_candidate = (model is None or segment.looks_like(model)) and not _hangs_below(segment, others)
        found, rest = names_in(segment.parts, carried) if is_candidate else ([], "")
        if found:
            model = model or segment
            names.extend(found)
            carried = rest
        else:
            others.append(segment)
            carried = ""
    # One affiliation may be printed below several names; no author is named twice.
    times = Counter(names)
    return [name for name in names if times[name] == 1]


def _begins_text(segment: Segment) -> bool:
    if _TEXT_BEGINS.fullmatch(segment.text):
        return True
    return sum(word.islower() for word in segment.text.split()) >= _SENTENCE_WORDS


def _hangs_below(segment: Segment, others: Sequence[Segment]) -> bool:
    """Whether the segment continues a line without names, as a city continues a university."""
    return any(
        other.looks_like(segment)
        and 0 < segment.box[1] - other.box[1] < 1.3 * segment.size
        and min(segment.box[2], other.box[2]) > max(segment.box[0], other.box[0])
        for other in others[-8:]
    )


def is_name(text: str) -> bool:
    """Whether a text reads like the name of one person: "Jan van der Berg", "D. E. Knuth", "李明"."""
    tokens = text.replace(".", ". ").split()
    words = [token.strip(".'’-") for token in tokens]
    if len(tokens) == 1 and 2 <= len(text) <= 4 and all(map(str.isalpha, text)):
        return not any(char.islower() or char.isupper() for char in text)
    if not 2 <= len(tokens) <= 6 or any(word.casefold() in _NO_NAMES for word in words):
        return False
    if not all(_is_name_word(token) for token in tokens):
        return False
    return any(len(word) > 1 and word.casefold() not in _PARTICLES for word in words)


def _is_name_word(token: str) -> bool:
    letters = token.strip(".").replace("-", "").replace("'", "").replace("’", "")
    if not letters or not all(map(str.isalpha, letters)):
        return False
    return letters.casefold() in _PARTICLES or not letters[0].islower()


def pieces_of(text: str) -> list[str]:
    """The parts between commas, footnote marks and "and", without degrees."""
    pieces = (piece.strip(" .:()") if len(piece) < 3 else piece.strip(" :()") for piece in _SEPARATOR.split(text))
    return [piece for piece in pieces if piece and piece.strip(".").replace(".", "").casefold() not in _SUFFIXES]


def names_in(parts: tuple[str, ...], carried: str) -> tuple[list[str], str]:
    """The names at the beginning of a line, and the first half of a name that continues in the next line.

    `parts` is the line split at raised marks, `carried` the half name at the end of the line above.
    """
    pieces = [piece for part in parts for piece in pieces_of(part)]
    if carried and pieces:
        pieces[0] = f"{carried} {pieces[0]}"
    names: list[str] = []
    for place, piece in enumerate(pieces):
        if not is_name(piece):
            is_half = (
                place == len(pieces) - 1 and place > 0 and _is_name_word(piece) and piece.casefold() not in _NO_NAMES
            )
            return names, piece if is_half else ""
        names.append(_in_small_letters(piece))
    return names, ""


def names_of_file(author: str) -> list[str]:
    """The names in the file's property "author", which has many forms; maybe none."""
    author = plain_text(author)
    by_semicolon = [piece.strip() for piece in author.split(";") if piece.strip()]
    if by_semicolon and all(re.fullmatch(r"[^,\s]+(?:[ -][^,\s]+)?,\s*[^,]+", piece) for piece in by_semicolon):
        swapped = (piece.partition(",") for piece in by_semicolon)
        return [name for last, _, first in swapped if is_name(name := f"{first.strip()} {last.strip()}")]
    return [_in_small_letters(piece) for piece in pieces_of(author) if is_name(piece)]


def last_name(name: str) -> str:
    """The family name without particles: "Driessche" of "George van den Driessche"."""
    words = [word for word in name.split() if word.strip(".").casefold() not in _SUFFIXES]
    return words[-1] if words else ""


def _in_small_letters(name: str) -> str:
    """JANE DOE as Jane Doe; initials stay."""
    words = name.split()
    if not name.isupper() or all(len(word.strip(".")) < 3 for word in words):
        return name
    return " ".join(word.title() if len(word.strip(".")) > 2 else word for word in words)


def plain_letters(text: str) -> str:
    """The text in lower case without accents: "lukasz uber" of "Łukasz Über"; other characters are kept."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char))
