"""Makes the table of ragscience/reading/text_cleaning.py: how rare each pair of letters is in Latin script.

    python tools/make_letter_pairs.py FOLDER

FOLDER holds the profiles of langdetect 1.0.9 (Apache License 2.0): counts of n-grams, a JSON file for each language.
Prints 27 lines of 27 digits: a row for each first letter, a column for each second one, in the order of "a" to "z" and
the word's end. A digit is the least -log2 of P(second | first) over the languages, rounded, 9 for all above.
"""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections import Counter
from pathlib import Path

LATIN = "af ca cs cy da de en es et fi fr hr hu id it lt lv nl no pl pt ro sk sl so sq sv sw tl tr vi"  # as the files
SYMBOLS = "abcdefghijklmnopqrstuvwxyz "
_LETTERS = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "ß": "ss"})


def folded(text: str) -> str:
    """The text in small letters without marks."""
    text = unicodedata.normalize("NFKD", text.lower().translate(_LETTERS))
    return "".join(character for character in text if not unicodedata.combining(character))


def bits(profile: Path) -> dict[str, float]:
    """-log2 P(second | first) of each pair of a language."""
    counts: Counter[str] = Counter()
    for gram, count in json.loads(profile.read_text(encoding="utf-8"))["freq"].items():
        pair = folded(gram)
        if len(gram) == len(pair) == 2 and pair.strip() and all(letter in SYMBOLS for letter in pair):
            counts[pair] += count
    firsts: Counter[str] = Counter()
    for pair, count in counts.items():
        firsts[pair[0]] += count
    return {pair: -math.log2(count / firsts[pair[0]]) for pair, count in counts.items()}


def main(folder: Path) -> None:
    """Print the table."""
    languages = [bits(folder / name) for name in LATIN.split()]
    for first in SYMBOLS:
        row = [min(language.get(first + second, 99.0) for language in languages) for second in SYMBOLS]
        print("".join(str(min(9, round(value))) for value in row))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
