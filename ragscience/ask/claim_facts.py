"""The checkable facts of a sentence: its numbers, names, negations, and the direction of its comparisons.

Other words may be said in other words; these may not. A sentence is read strictly and a page generously, so that a
number or name that is missing is really missing.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from ragscience.core.tokenizing import joined_lines, terms

__all__ = ["antonyms_of", "claim_names", "claim_numbers", "negated_terms", "page_names", "page_numbers", "words_of"]

_NUMBER = re.compile(
    r"(?<![^\W\d_])(?<!\d)"  # not the 100 of P100
    r"(?:(?<!\d[.,])\d+(?:\.\d+)?[eE][-+]?\d+(?![^\W_])|(?<!\d[.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|(?<![\w.])\.\d+)"
    r"(?:\s?(?P<times>[KMBk](?![^\W_])|thousand\b|million\b|billion\b|trillion\b))?"
)
_POWER = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?+)\s*+[×x*·]\s*+10\s*+(?:\^\s*+)?+\{?+\(?+([-+]?\d++)")
_OF_A_NAME = re.compile(r"(?<!\S)[^\sA-Z]*+[A-Z]\S*+(?<=[-_])$")
_WIDE_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\s\d{3})+(?![\d])")
_TIMES = {"k": 3, "m": 6, "b": 9, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_SPELLED_OUT = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
_SPELLED = {word: str(value) for value, word in enumerate(_SPELLED_OUT.split())}
_WORD_OR_NUMBER = re.compile(
    r"(?<![\w.])\.\d+|\d+(?:\.\d+)?e[-+]?\d+(?![^\W_])|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\W_]+"
)
_NAME = re.compile(r"(?<![\w\\])[^\W\d_]\w*(?:[-'’]\w+)*")
_OPENS = re.compile(r"^\W*+$|(?<=\w)(?=\W*+$)\W*?(?:[.:!?…]\s|\n)")
_PARTS_OF_PAPERS = """
i a the table tables figure figures fig section sections equation eq appendix algorithm chapter theorem lemma page pages
passage passages source note yes no
"""
_NO_NAMES = frozenset(_PARTS_OF_PAPERS.split())
_NEGATORS = frozenset({"not", "no", "never", "neither", "nor", "without", "cannot", "none", "nothing", "hardly", "n't"})
_SOFTLY = """
unlike instead rather fail fails failed lack lacks lacking avoid avoids avoiding only few little remove removes removed
dispense dispensing eliminate eliminates absence absent impossible unable free
"""
_SOFT_NEGATORS = frozenset(_SOFTLY.split())
_CLAUSE = re.compile(r"[.;:,!?]|\bbut\b")

_OPPOSITES = """
more less|more fewer|higher lower|high low|larger smaller|large small|bigger smaller|greater less|greater smaller
better worse|best worst|faster slower|fast slow|longer shorter|long short|stronger weaker|deeper shallower|above below
before after|earlier later|increase decrease|increase reduce|increases decreases|rise fall|grow shrink|improve degrade
improves hurts|improve worsen|outperform underperform|most least|maximum minimum|maximize minimize|maximise minimise
positive negative|always never|encoder decoder|upper lower|gain loss
supervised unsupervised|forward backward|easier harder|cheaper costlier|true false|exceed trail
success failure|accept reject|include exclude|superior inferior|wider narrower
"""


def claim_numbers(text: str) -> list[frozenset[str]]:
    """Each number of a sentence, as the forms of which a page must have one: "1.5 million" as 1.5 or 1500000.

    Digits that belong to a word (P100, GPT-3) are part of a name and are not counted here.
    """
    plain = _plain(text)
    return [
        frozenset(_readings(match))
        for match in _NUMBER.finditer(plain)
        if not _OF_A_NAME.search(plain[max(0, match.start() - 40) : match.start()])
    ]


def page_numbers(text: str) -> frozenset[str]:
    """All that may be read as a number on a page: each with and without its multiplier, and spelled from 0 to 20."""
    plain = _plain(text)
    found = {reading for match in _NUMBER.finditer(plain) for reading in _readings(match)}
    found.update(_canonical(re.sub(r",\s", "", wide.group())) for wide in _WIDE_THOUSANDS.finditer(plain))
    found.update(f"{_canonical(power[1])}e{int(power[2])}" for power in _POWER.finditer(plain))
    found.update(_SPELLED[word] for word in re.findall(r"[a-z]+", plain.casefold()) if word in _SPELLED)
    return frozenset(found)


def spelled_numbers(text: str) -> frozenset[str]:
    """The values of number words from two to twenty, in digits; "one" is too often no number."""
    words = re.findall(r"[a-z]+", text.casefold())
    return frozenset(_SPELLED[word] for word in words if word in _SPELLED and word not in ("zero", "one"))


def _plain(text: str) -> str:
    return joined_lines(unicodedata.normalize("NFKC", text).translate(_DASHES))


def _readings(match: re.Match[str]) -> Iterator[str]:
    times = match["times"]
    mantissa, e, exponent = match.group().casefold().partition("e")
    if e and not times:
        yield f"{_canonical(mantissa)}e{int(exponent)}"
        return
    value = _canonical(match.group()[: match.start("times") - match.start()] if times else match.group())
    yield value
    if times:
        whole, _, part = value.partition(".")
        shift = _TIMES[times.casefold()]
        yield _canonical(whole + part.ljust(shift, "0")[:shift] + ("." + part[shift:] if part[shift:] else ""))


@lru_cache(maxsize=4096)
def _canonical(number: str) -> str:
    """Without thousands commas and without zeros that say nothing: "0.60" is 0.6, ".5" is 0.5, "007" is 7."""
    whole, _, part = number.strip().replace(",", "").partition(".")
    part = part.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{part}" if part else "")


def claim_names(text: str) -> dict[str, bool]:
    """The names of a sentence, case-folded: acronyms, names of systems, capitalised words; whether each is certain.

    A capitalised word that opens the sentence may be a name or any word: it is listed as not certain.
    """
    plain = _plain(text)
    names: dict[str, bool] = {}
    for match in _NAME.finditer(plain):
        word = match.group().removesuffix("'s").removesuffix("’s")
        key = word.casefold()
        if len(word) < 2 or key in _NO_NAMES or not word[0].isalpha():
            continue
        capitals = sum(character.isupper() for character in word)
        digits = any(character.isdigit() for character in word)
        if capitals >= 2 or (capitals and digits):
            names[key] = True
        elif word[0].isupper() and terms(word):
            names[key] = names.get(key, False) or not _OPENS.search(plain[max(0, match.start() - 200) : match.start()])
    return names


def page_names(text: str) -> frozenset[str]:
    """Every word of a page under which a name may be found there, case-folded: whole, in parts, without a plural s."""
    found: set[str] = set()
    for match in _NAME.finditer(_plain(text).replace("_", " ")):
        word = match.group().casefold()
        found.add(word)
        if "-" in word or "'" in word or "’" in word:
            found.update(part for part in re.split(r"[-'’]", word) if part)
            found.add(re.sub(r"[-'’]", "", word))
    found.update([word[:-1] for word in found if word.endswith("s") and len(word) > 2])
    return frozenset(found)


def holds_name(name: str, held: frozenset[str], initials: str, squeezed: str) -> bool:
    """Whether a page with these words, initials of words in a row, and squeezed text, has a name of `claim_names`."""
    bare = re.sub(r"[-'’]", "", name)
    if {name, bare, bare.removesuffix("s")} & held or (len(bare) >= 6 and bare.removesuffix("s") in squeezed):
        return True
    parts = [part for part in re.split(r"[-'’]", name) if part]
    if len(parts) > 1:
        return bare in squeezed if any(map(str.isdigit, parts)) else all(part in held for part in parts)
    return 3 <= len(bare) <= 6 and bare.isalpha() and bare.removesuffix("s") in initials


def words_of(text: str) -> list[str]:
    """All words and numbers of `text` in order, case-folded, number words in digits, "didn't" as did and n't."""
    found: list[str] = []
    plain = _POWER.sub(lambda power: f"{power[1]}e{int(power[2])}", _plain(text).casefold())
    joined = _WIDE_THOUSANDS.sub(lambda wide: wide.group().replace(", ", ""), plain)
    for word in _WORD_OR_NUMBER.findall(joined):
        if word.endswith(("n't", "n’t")):
            found += [word[:-3], "n't"]
        else:
            found.append(
                _canonical(word)
                if (word[0].isdigit() or word[0] == ".") and "e" not in word
                else _SPELLED.get(word, word)
            )
    return [word for word in found if word]


def counted(words: Sequence[str]) -> dict[str, set[str]]:
    """For each of `words_of` right after a number, these numbers; stop words and numbers aside."""
    found: dict[str, set[str]] = {}
    for number, word in pairwise(words):
        if number[0].isdigit() and not word[0].isdigit() and _terms_of_word(word):
            found.setdefault(word, set()).add(number)
    return found


def is_same_number(one: str, other: str) -> bool:
    """Whether two of `words_of` may be the same number, one of them in thousands, millions or billions."""
    try:
        a, b = float(one), float(other)
    except ValueError:
        return one == other
    return a == b or any(math.isclose(a, b * times) or math.isclose(b, a * times) for times in (1e3, 1e6, 1e9))


def denies(words: Collection[str]) -> bool:
    """Whether words of `words_of` deny anything, in however soft a way."""
    return any(word in _NEGATORS or word in _SOFT_NEGATORS for word in words)


def is_negator(word: str) -> bool:
    """Whether a word of `words_of` denies what follows."""
    return word in _NEGATORS


def negated_terms(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """(denied, said): the terms right behind a "not" or "without", and all others."""
    denied: set[str] = set()
    said: set[str] = set()
    for clause in _CLAUSE.split(_plain(text).casefold()):
        waiting = False
        for word in words_of(clause):
            if word in _NEGATORS:
                waiting = True
                continue
            for term in _terms_of_word(word):
                (denied if waiting else said).add(term)
                waiting = False
    return frozenset(denied), frozenset(said)


@lru_cache(maxsize=1 << 15)
def _terms_of_word(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms(word)))


def antonyms_of(word: str) -> frozenset[str]:
    """The words that would turn a comparison with `word` round; empty for most words. Both case-folded."""
    return _opposites().get(word, frozenset())


@cache
def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in _OPPOSITES.replace("\n", "|").split("|"):
        if pair.strip():
            one, other = pair.split()
            table.setdefault(one, set()).add(other)
            table.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in table.items()}
