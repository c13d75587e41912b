"""How legible a text is: whether its letters form words of a language that is written in Latin letters.

Other scripts, formulas, numbers and words in capitals are not judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

__all__ = ["PAIR_BITS", "mean_bits"]

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
