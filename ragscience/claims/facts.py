"""What a text says that can be checked: its terms, its numbers with their units, its names, denials and opposites.

A sentence of an answer and the lines of a page are read alike. Other words may be said in other words; these may not.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from itertools import combinations

from ragscience.core.tokenizing import joined_lines, terms

_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_REFERENCE = re.compile(
    r"\[\s*+\d{1,3}+(?:\s*+[,;-]\s*+\d{1,3}+)*+\s*+\]|(?<=[^\W\d]{2})[.,;:!?)”]{0,2}\^\d{1,3}+(?![\w.])"
    r"|(?<=[a-z][a-z.],)\s(?:19|20)\d\d[a-z]?(?=[;)])|(?<=\bal\.)\s\(?(?:19|20)\d\d[a-z]?\b"
    r"|^\s*+[1-9](?:\.[1-9]\d?)++\.?(?=\s[A-Z][a-z])"
)
"""Numbers that count nothing: "[33]", "[2, 5-7]", a footnote's "^5", "(Zhu et al., 2015)", a heading's "6.1"."""
_PART_OF_PAPER = re.compile(
    r"(?:\b(table|fig|figure|sec|section|eq|equation|appendix|algorithm|chapter|theorem|lemma|page|p(?=\.))(s)?\.?|§§?)"
    r"\s*+\(?+(\d+(?:\.\d+)*+)(?(2)((?:(?:,|,? and|-)\s*+\(?\d+(?:\.\d+)*+)*+))",
    re.IGNORECASE,
)
"""What numbers a place in a paper, so that "Table 2" becomes a name."""
_EACH_PART = re.compile(r"\d+(?:\.\d+)*")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\s?\d{3})+(?!\d)")
_POWER = re.compile(r"(?<![\d.])(\d++(?:\.\d++)?+)\s*+[×x*·]\s*+10\s*+(?:\^\s*+)?+\{?+\(?+([-+]?\d++)")
_TIMES_MORE = re.compile(
    r"(?<![\w.])(?<!\w-)(\d++(?:\.\d++)?+)\s?(k|m|b|thousand|million|billion|trillion)\b", re.IGNORECASE
)
_NUMBERED_NAME = re.compile(r"(?<![^\s(\"“])([^\W\d_a-z][^\W\d_]*+)-(?=\d)")
_WORD = re.compile(
    r"(?<![\w.])\.\d+|\d+(?:\.\d+)?(?:[eE][-+]?\d+(?![^\W_]))?|n['’]t\b|[^\W\d_](?:(?!n['’]t\b)[^\W_])*+(?:['’](?!t\b)[^\W\d_]+)?|[^\W_]+"
)
_NAME = re.compile(r"(?<![\w\\])[^\W\d_]\w*(?:[-'’]\w+)*")
_OPENS = re.compile(r"^\W*+$|(?<=\w)(?=\W*+$)\W*?(?:[.:!?…]\s|\n)")
LOOSE_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")

_SPELLED_OUT = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty
"""
_SPELLED = {word: str(value) for value, word in enumerate(_SPELLED_OUT.split())}
_TIMES = {"k": 3, "m": 6, "b": 9, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}


def _by_first(lines: str) -> dict[str, str]:
    """For each word the first of its line."""
    return {word: line.split()[0] for line in lines.replace("|", "\n").splitlines() for word in line.split()}


_UNITS = _by_first(
    """ms msec millisecond milliseconds|s sec secs second seconds|min mins minute minutes|h hour hours|day days
    week weeks|month months|year years|kb kilobyte kilobytes|mb megabyte megabytes|gb gigabyte gigabytes
    tb terabyte terabytes|percent|nm|mm|cm|m|km|mg|g gram grams|kg|ml|l|hz|khz|mhz|ghz"""
)
_MORE = frozenset({"exceeding", "more than", "greater than", "larger than", "at least"})
_LESS = frozenset({"less than", "fewer than", "smaller than", "at most"})
"""Before a number; "over" and "up to" say other things as well."""
_NEGATORS = frozenset(
    {"not", "no", "never", "neither", "nor", "without", "cannot", "none", "nothing", "hardly", "n't", "n’t"}
)
UNIVERSAL = frozenset(
    {"always", "never", "all", "every", "everywhere", "any", "prove", "proves", "proved", "proven", "guarantee",
     "guarantees", "guaranteed", "exception", "entirely", "completely", "impossible", "universally"}
)  # fmt: skip
"""Words with which more is said than was found."""
_NO_NAMES = frozenset({"i", "a", "the", "passage", "passages", "source", "note", "yes", "no"})
_OPPOSITES = """
more less|more fewer|higher lower|high low|larger smaller|large small|bigger smaller|greater less|greater smaller
better worse|best worst|faster slower|fast slow|longer shorter|long short|stronger weaker|deeper shallower|above below
before after|earlier later|increase decrease|increase reduce|rise fall|rise drop|rose drop|grow shrink|improve degrade
improve hurt|improve worsen|outperform underperform|most least|maximum minimum|maximize minimize|maximise minimise
positive negative|always never|encoder decoder|upper lower|gain loss|same different|identical different|follow precede
supervised unsupervised|forward backward|easier harder|cheaper costlier|true false|exceed trail|incoming outgoing
success failure|accept reject|include exclude|superior inferior|wider narrower|majority minority|disjoint overlapping
"""
_FEWEST_INITIALS = 3
_LONGEST, _NEARLY_VERBATIM = 300, 0.6
"""Most words of a sentence; the share of them that must be on the page in the same order before differences count."""


class _Folds(dict[str, str]):
    """What is left of a character: its letters and digits, folded; a point stays for now."""

    def __missing__(self, character: str) -> str:
        folded = unicodedata.normalize("NFKC", character).casefold()
        self[character] = "".join(c for c in folded if c.isalnum() or c == ".")
        return self[character]


FOLDS = _Folds()


def squeezed(text: str) -> str:
    """Letters and digits of `text`, NFKC and case-folded, and the points between digits: what line breaks leave."""
    return LOOSE_POINT.sub("", "".join([FOLDS[c] for c in text]))


@dataclass(frozen=True, slots=True)
class Number:
    """A number with what it is a number of."""

    value: float
    mantissa: float
    """The same without a "million" or "× 10^6" behind it."""
    unit: str
    """By its shortest name; empty where none follows."""
    bound: str
    """ "<" or ">" for "up to" or "more than"."""
    spelled: bool
    question: str
    """The text with "how many" in the number's place."""

    @property
    def shown(self) -> str:
        """The number with its bound and unit."""
        return f"{self.bound}{self.value:,.12g} {self.unit}".rstrip()

    def equals(self, other: Number) -> bool:
        """Whether both may be the same, where a table gives one in thousands, millions or billions."""
        pairs = ((self.value, other.value), (self.mantissa, other.value), (self.value, other.mantissa))
        return any(math.isclose(*pair) for pair in pairs)

    def is_in(self, page: Said) -> bool:
        """Whether an equal number is there, of whatever."""
        return any(map(self.equals, page.numbers))

    def is_said_in(self, page: Said) -> bool:
        """Whether an equal number is there, of no other unit and with no other bound."""
        return any(self.equals(one) and self.fits(one) for one in page.numbers)

    def fits(self, page: Number) -> bool:
        """Whether a page's equal number has no other unit and no other bound."""
        is_other = self.unit and page.unit and self.unit != page.unit
        return not is_other and self.bound in ("", page.bound)


class Said:
    """A text, read for what can be checked."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its content words, as stems."""
        return frozenset(terms(self.text)) - _NEGATORS

    @cached_property
    def content(self) -> list[frozenset[str]]:
        """The stems of each word that has some, in their order."""
        return [stems for word in self.words if (stems := frozenset(terms(word)) - _NEGATORS)]

    @cached_property
    def _plain(self) -> str:
        """On one line, each number in one piece, and the numbers of references and of parts of a paper gone."""
        plain = joined_lines(unicodedata.normalize("NFKC", self.text).translate(_DASHES))
        plain = _PART_OF_PAPER.sub(_name_of_part, _REFERENCE.sub(" ", plain))
        plain = _THOUSANDS.sub(lambda wide: re.sub(r"\D", "", wide.group()), plain)
        plain = _POWER.sub(r"\1e\2", plain).replace("%", " percent")
        plain = _TIMES_MORE.sub(lambda number: f"{number[1]}e{_TIMES[number[2].casefold()]}", plain)
        return _NUMBERED_NAME.sub(r"\1", plain)

    @cached_property
    def words(self) -> list[str]:
        """All words and numbers in order, case-folded, number words in digits, "didn't" as did and n't."""
        return [_canonical(word) for word in _WORD.findall(self._plain.casefold())]

    @cached_property
    def numbers(self) -> list[Number]:
        """Its numbers, in order, those in words from two to twenty too."""
        found = [(match, _canonical(match.group().casefold())) for match in _WORD.finditer(self._plain)]
        words = [word for _, word in found]
        return [
            Number(
                float(word),
                float(_SPELLED.get(match.group().casefold(), match.group().casefold().partition("e")[0])),
                _UNITS.get(next(iter(words[i + 1 : i + 2]), ""), ""),
                _bound(words[max(0, i - 3) : i]),
                match.group().isalpha(),
                f"{self._plain[: match.start()]}how many{self._plain[match.end() :]}",
            )
            for i, (match, word) in enumerate(found)
            if _is_number(word)
        ]

    @cached_property
    def _name_places(self) -> dict[str, tuple[int, int]]:
        """Where in `_plain` each name stands last."""
        found: dict[str, tuple[int, int]] = {}
        for match in _NAME.finditer(self._plain):
            word = match.group().removesuffix("'s").removesuffix("’s")
            capitals = sum(character.isupper() for character in word)
            is_system = capitals >= 2 or (capitals and any(map(str.isdigit, word)))
            opens = _OPENS.search(self._plain[max(0, match.start() - 200) : match.start()])
            if len(word) > 1 and (is_system or (word[0].isupper() and terms(word) and not opens)):
                found[word.casefold()] = match.span()
        return {name: place for name, place in found.items() if name not in _NO_NAMES}

    @cached_property
    def names(self) -> frozenset[str]:
        """Acronyms, names of systems and capitalised words, case-folded, but for one that opens a sentence."""
        return frozenset(self._name_places)

    def name_questions(self) -> Iterator[tuple[str, str]]:
        """Each name with the text that has "which" in its place."""
        for name, (start, end) in self._name_places.items():
            yield name, f"{self._plain[:start]}which{self._plain[end:]}"

    @cached_property
    def squeezed(self) -> str:
        """Its letters and digits."""
        return squeezed(self.text)

    @cached_property
    def _initials(self) -> str:
        return "".join(word[0] for word in self.words)

    def holds_name(self, name: str) -> bool:
        """Whether a name of another text is here: with or without hyphens and a plural s, or as initials in a row."""
        bare = squeezed(name).removesuffix("s")
        return bare in self.squeezed or (len(bare) >= _FEWEST_INITIALS and bare in self._initials)

    @cached_property
    def negates(self) -> bool:
        """Whether it has a "not", "never" or "without"."""
        return not _NEGATORS.isdisjoint(self.words)


def _name_of_part(part: re.Match[str]) -> str:
    """The parts of a paper as names: "Sections 5.2 and 5.3" is se5x2 se5x3."""
    kind = (part[1] or "se")[:2]
    listed = _EACH_PART.findall(part[4] or "") if part[2] else []
    return " ".join(kind + number.replace(".", "x") for number in (part[3], *listed))


def _canonical(word: str) -> str:
    """A number in digits, without zeros that say nothing: "two" is 2, "0.60" is 0.6; another word as it is."""
    word = _SPELLED.get(word, word)
    return f"{float(word):.12g}" if _is_number(word) else word


def _is_number(word: str) -> bool:
    return (word[0].isdigit() or word[0] == ".") and word.isascii() and word[-1].isdigit() and len(word) < 40


def _bound(before: Sequence[str]) -> str:
    bounds, is_denied = {" ".join(before[-2:]), *before[-1:]}, before[:-2] in (["no"], ["not"])
    return "<>"[is_denied] if bounds & _LESS else "><"[is_denied] if bounds & _MORE else ""


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    return next(iter(terms(word)), word)


@cache
def _opposites() -> dict[str, frozenset[str]]:
    """For each stem those that would turn a comparison with it round."""
    table: dict[str, set[str]] = {}
    for pair in _OPPOSITES.replace("\n", "|").strip("|").split("|"):
        one, other = map(_stem, pair.split())
        table.setdefault(one, set()).add(other)
        table.setdefault(other, set()).add(one)
    return {stem: frozenset(others) for stem, others in table.items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """A way in which what is said differs from what is printed."""

    kind: str
    """Of a quote: "word", "number", "spelling", "missing" (in the quote), "added" (to it), "order", "hyphenation",
    "ligatures", "case" or "punctuation". Of a sentence: "number", "unit", "name", "opposite", "denial", "overclaim" or
    "order"."""
    quoted: str = ""
    printed: str = ""


def alteration(claim: Said, page: Said) -> Difference | None:
    """What matters where `claim` follows `page` word for word but for that.

    That is another number, unit or name in the same place, the opposite, a "not" more or less, two words exchanged, or
    a number moved. None for a sentence that says it in its own words.
    """
    here, there = claim.words, page.words
    if len(here) > _LONGEST or not here:
        return None
    steps = SequenceMatcher(None, there, here, autojunk=False).get_opcodes()
    same = [word for tag, _, _, j1, j2 in steps if tag == "equal" for word in here[j1:j2]]
    if len(same) < _NEARLY_VERBATIM * len(here):
        return None
    differ = [(there[i1:i2], here[j1:j2]) for tag, i1, i2, j1, j2 in steps if tag != "equal"]
    inside = differ[steps[0][0] != "equal" : len(differ) - (steps[-1][0] != "equal")]
    ends = [(gone[-1:], new[-1:]) for gone, new in differ[: steps[0][0] != "equal"]]
    ends += [(gone[:1], new[:1]) for gone, new in differ[len(differ) - (steps[-1][0] != "equal") :]]
    changes = [(frozenset(gone), frozenset(new)) for gone, new in (*inside, *ends)]
    for gone, new in (*inside, *ends):
        if kind := _replaced(frozenset(gone) - frozenset(new), frozenset(new) - frozenset(gone), claim, page):
            return Difference(kind, " ".join(new), " ".join(gone))
    for gone, new in inside:
        if bool(_NEGATORS.intersection(gone)) != bool(_NEGATORS.intersection(new)):
            return Difference("denial", " ".join(new), " ".join(gone))
    for (lost, won), (lost2, won2) in combinations(changes, 2):
        one, other = lost & won2, won & lost2
        if (one and other) or any(word[0].isdigit() for word in one | other):
            return Difference("order", " ".join(sorted(one | other)), "")
    return None


def _replaced(gone: frozenset[str], new: frozenset[str], claim: Said, page: Said) -> str:
    """What has come in the place of what is gone: another "number", "unit" or "name", or the "opposite"; else ""."""
    if any(word[0].isdigit() for word in gone) and any(word[0].isdigit() for word in new):
        return "number"
    before, now = ({_UNITS[word] for word in words if word in _UNITS} for words in (gone, new))
    if before and now and before != now:
        return "unit"
    if any(_opposites().get(_stem(word), frozenset()) & set(map(_stem, gone)) for word in new):
        return "opposite"
    names = claim.names | page.names
    return "name" if gone & names and new & names else ""
