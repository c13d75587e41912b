"""How a word of another European language may read in English, by the endings that answer to each other."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

__all__ = ["cognates"]

_ENDINGS = (
    ("isierung", ("ization",)),
    ("isation", ("ization",)),
    ("ización", ("ization",)),
    ("izzazione", ("ization",)),
    ("ização", ("ization",)),
    ("ierung", ("ation",)),
    ("ierer", ("izer",)),
    ("iseur", ("izer",)),
    ("eur", ("er", "or")),
    ("ieren", ("e", "ize")),
    ("iert", ("e", "ize")),
    ("ique", ("ic", "ical")),
    ("isch", ("ic", "ical")),
    ("ität", ("ity",)),
    ("ité", ("ity",)),
    ("idad", ("ity",)),
    ("ità", ("ity",)),
    ("ción", ("tion",)),
    ("ção", ("tion",)),
    ("zione", ("tion",)),
    ("enz", ("ence",)),
    ("anz", ("ance",)),
    ("encia", ("ence",)),
    ("ència", ("ence",)),
    ("uel", ("ual",)),
    ("iel", ("ial",)),
    ("ell", ("al",)),
    ("el", ("al",)),
    ("iv", ("ive",)),
    ("if", ("ive",)),
    ("ivo", ("ive",)),
    ("ico", ("ic", "ical")),
    ("ie", ("y",)),
    ("ia", ("y",)),
    ("", ("",)),
)
"""Endings of words that came from Latin or Greek, and the English ones that they answer to."""
_INFLECTIONS = ("", "e", "en", "er", "es", "em", "n", "s", "a", "o", "os", "as")


def cognates(word: str) -> Iterator[str]:
    """Spellings that an English word of the same origin may have, the likeliest first: "normalization".

    Of "Normalisierung"; the word itself without accents is one of them, and each also has c for k and z, ch for sch.
    """
    word = word.casefold()
    for inflection in _INFLECTIONS:
        if inflection and not word.endswith(inflection):
            continue
        stem = word.removesuffix(inflection) if inflection else word
        for ending, english in _ENDINGS:
            if len(stem) - len(ending) >= 3 and stem.endswith(ending):
                for other in english:
                    bare = _bare(stem.removesuffix(ending) if ending else stem) + other
                    latin = bare.replace("sch", "ch").replace("k", "c")
                    yield from dict.fromkeys((bare, latin, latin.replace("z", "c")))


def _bare(word: str) -> str:
    return "".join(one for one in unicodedata.normalize("NFKD", word) if not unicodedata.combining(one))
