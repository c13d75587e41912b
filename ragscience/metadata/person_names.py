"""Names of people, told from other words with a capital."""

from __future__ import annotations

import re

from ragscience.metadata.first_page import MARKS, plain_text

__all__ = ["is_name", "last_name", "names_in", "names_of_file", "pieces_of"]

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
    """What stands between commas, footnote marks and "and", without degrees and the like."""
    pieces = (piece.strip(" .:()") if len(piece) < 3 else piece.strip(" :()") for piece in _SEPARATOR.split(text))
    return [piece for piece in pieces if piece and piece.strip(".").replace(".", "").casefold() not in _SUFFIXES]


def names_in(parts: tuple[str, ...], carried: str) -> tuple[list[str], str]:
    """The names that a line begins with, and the first half of one that goes on in the next line.

    `parts` is the line taken apart at raised marks, `carried` the half name that the line above ended with.
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
    """The names in a file's field "author", which knows many forms; empty where there are none."""
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
