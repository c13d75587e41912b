"""What a question asks for that the papers it is about do not have: names, numbers and other words.

A question whose words are borrowed from a paper finds that paper's passages whether they answer it or not. What tells
is whether the thing asked for is there: "the LC50 of fruits" where the paper speaks of roots. So each thing of the
question is looked for in the papers that it is about, and a number beside its word in the passages found of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.records import Hit
from ragscience.core.tokenizing import STOP_WORDS, tokenize

if TYPE_CHECKING:
    from ragscience.search.reranking import WordPresence


_WORD = re.compile(r"\d++(?:[.,]\d++)*+(?![^\W_])|[^\W_]++(?:[-'’.][^\W_]++)*+")
_NUMBER = re.compile(r"\d++(?:[.,]\d++)*+")
_GENERAL_WORDS = """
    able abstract accept according achieve add adopt allow already also answer anyone anything appear appendix apply
    ask author away base become begin behave behind beside besides best better big biggest bring build call certain
    change chapter choose come compare consider contain data dataset deal describe detail different do easy end
    enough ever every everyone everything exact exactly example exist explain far figure find follow gain general
    get give go good happen hard help high hold huge idea important include increase instead introduce issue job
    keep kind know large larger largest lead learn least less let like list little long look low main make many
    matter mean measure method most move much name need new nothing number obtain occur offer often one only order
    overall paper part people perform person piece place play point possible present produce propose provide purpose
    put question quite rather reach real reason receive recommend report require research respect result role run
    same say second section see separate set several show side simple single size small smaller smallest solve
    someone something somewhere sort speak stand start stay step stop study subject such table take task tell thing
    think time title together total try turn type use user value various view want way well whole wide word work
    worse worst write wrong year
"""
"""Words of any subject: a paper that lacks one of them may still have what was asked."""
_WRITTEN = {
    "millisecond": "ms", "second": "s sec", "minute": "min", "hour": "h hr", "gigabyte": "gb gib", "megabyte": "mb mib",
    "terabyte": "tb tib", "kilobyte": "kb kib", "byte": "kb mb gb tb", "kilogram": "kg", "gram": "g mg kg",
    "milligram": "mg", "microgram": "μg mcg", "watt": "kw", "joule": "kj", "dollar": "usd", "euro": "eur",
    "percent": "percentage", "percentage": "percent", "memory": "ram vram", "ram": "memory", "vram": "memory",
    "corpora": "corpus", "corpus": "corpora", "metre": "km", "meter": "km", "kilometer": "km",
}  # fmt: skip
_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
_SPELLINGS = (("is", "iz"), ("our", "or"), ("ys", "yz"), ("aem", "em"), ("tre", "ter"), ("ogue", "og"))
"""British and American, inside a word."""
_BESIDE = 6
"""Most terms between a number and its word."""
_SHORTEST_STEM = 3
"""Letters of a term that may be a part of another word."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A word of a question that its answer must be about."""

    text: str
    """As the question has it, a number with its word ("5,000 pages")."""
    word: str
    kind: str
    """ "name" (with a capital or a letter beside a digit), "number" or "word"."""
    terms: tuple[tuple[str, ...], ...]
    """Terms as `tokenize` gives them: one of each group must occur."""
    beside: tuple[str, ...] = ()
    """Of a number, the terms of the word it belongs to."""


@dataclass(frozen=True, slots=True)
class Sought:
    """A thing, and where it was found."""

    thing: Thing
    is_there: bool
    """Whether it occurs in the papers, a number beside its word in the passages found of them."""


def things_of(question: str, subject: Collection[tuple[int, int]] = ()) -> list[Thing]:
    """The names, numbers and other content words of the question, each once; none within the spans of `subject`."""
    things: dict[str, Thing] = {}
    words = [match for match in _WORD.finditer(question) if match.group().casefold() not in STOP_WORDS]
    for n, match in enumerate(words):
        if any(start <= match.start() and match.end() <= end for start, end in subject):
            continue
        word = match.group().removesuffix("'s").removesuffix("’s")
        groups = _groups(word)
        text, beside = word, tuple[str, ...]()
        if _NUMBER.fullmatch(word):
            kind = "number"
            text, beside = _with_its_word(question, words, n)
        elif _is_name(match.group(), begins=match.start() == 0):
            kind = "name"
        else:
            kind = "word"
            if len(word) < 3 or all(term in _GENERAL for group in groups for term in group[:1]):
                continue
        if groups:
            things.setdefault(word.casefold(), Thing(text, word, kind, groups, beside))
    return list(things.values())


def _is_name(word: str, *, begins: bool) -> bool:
    """Whether it has a capital, but for the first of a question, or letters and digits."""
    has_capital = any(map(str.isupper, word[begins:]))
    return has_capital or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))


def sought(
    things: Sequence[Thing], presence: WordPresence, paper_ids: Sequence[int], hits: Sequence[Hit]
) -> list[Sought]:
    """Each thing, looked for in the papers `paper_ids` and in `hits`, passages of them."""
    counts = presence.passages_with([term for thing in things for group in thing.terms for term in group], paper_ids)
    near = [tokenize(hit.chunk.searched) for hit in hits]
    everything = frozenset().union(*near)
    found = []
    for thing in things:
        if thing.beside:
            is_there = any(_are_close(text, thing.terms[0], thing.beside) for text in near)
        else:
            is_there = all(any(counts[term] or _has(everything, term) for term in group) for group in thing.terms)
        found.append(Sought(thing, is_there))
    return found


def missing_sentences(things: Sequence[Thing], files: Sequence[str]) -> tuple[str, ...]:
    """That `things` do not occur, for the user; `files` are the papers that were looked through."""
    words = [thing.text for thing in things if not thing.beside]
    numbers = [thing.text for thing in things if thing.beside]
    found = []
    if words:
        found.append(f"{_listed(words)} {_do(words)} not occur in {' or '.join(files)}.")
    if numbers:
        found.append(f"{_listed(numbers)} {_do(numbers)} not occur near this.")
    return tuple(found)


def _listed(texts: Sequence[str]) -> str:
    marked = [f"‘{text}’" for text in texts]
    return " and ".join([", ".join(marked[:-1]), marked[-1]]) if len(marked) > 1 else marked[0]


def _do(texts: Sequence[str]) -> str:
    return "do" if len(texts) > 1 else "does"


def _groups(word: str) -> tuple[tuple[str, ...], ...]:
    """Of a name with a digit, its whole term; of another compound each of its parts, or the whole instead of any."""
    terms = list(dict.fromkeys(tokenize(word)))
    if len(terms) < 2 or "-" not in word:
        return (_variants(terms[0], word),) if terms else ()
    whole, *parts = terms
    if any(map(str.isdigit, word)):
        return ((whole,),)
    parts = [part for part in parts if part not in _GENERAL and len(part) > 1] or parts
    return tuple((*_variants(part, part), whole) for part in parts)


def _variants(term: str, word: str) -> tuple[str, ...]:
    """The term, and how else it may be written: a number in words, the sign of a unit, British or American."""
    found = [term, *_WRITTEN_TERMS.get(term, ())]
    for before, after in (*_SPELLINGS, *((other, one) for one, other in _SPELLINGS)):
        if before in word[1:]:
            found += tokenize(word[:1] + word[1:].replace(before, after, 1))
    return tuple(dict.fromkeys(found))


_WITHIN = 8
"""A word stands beside a number within so many words of it."""


def _with_its_word(question: str, words: Sequence[re.Match[str]], n: int) -> tuple[str, tuple[str, ...]]:
    """A number and the word that it stands beside, and the terms of this.

    It is the next word ("48 layers"), or else the one before; that one first where it touches the number and the next
    one is neither a plural nor a unit ("stage 1 reduces").
    """
    after, before = words[n + 1 : n + 1 + _WITHIN], words[max(0, n - _WITHIN) : n][::-1]
    touches = bool(before) and question[before[0].end() : words[n].start()] in (" ", "@", "=")
    counts = bool(after) and (after[0].group().endswith("s") or tokenize(after[0].group())[:1] in _UNITS)
    for other in (*before, *after) if touches and not counts else (*after, *before):
        terms = tokenize(other.group())
        if terms and terms[0] not in _GENERAL and not _NUMBER.fullmatch(other.group()):
            start, end = min(words[n].start(), other.start()), max(words[n].end(), other.end())
            text = question[start:end] if end - start <= 40 else words[n].group()
            return text, tuple(dict.fromkeys(terms))
    return words[n].group(), ()


def _are_close(text: Sequence[str], numbers: Collection[str], beside: Collection[str]) -> bool:
    ours = [place for place, term in enumerate(text) if term in numbers]
    theirs = [place for place, term in enumerate(text) if term in beside]
    return any(abs(one - other) <= _BESIDE for one in ours for other in theirs)


def _has(text: Collection[str], term: str) -> bool:
    """Whether the text has the term, a compound with it ("CO2": "CO2eq"), or another form ("eradicated")."""
    if term in text:
        return True
    if len(term) < _SHORTEST_STEM:
        return False
    stem = term[: max(5, len(term) - 3)] if len(term) > 5 and term.isalpha() else term
    return any(other.startswith(stem) or other.endswith(term) for other in text)


_GENERAL = frozenset(tokenize(_GENERAL_WORDS))
_UNITS = [tokenize(unit) for unit in _WRITTEN]
_WRITTEN_TERMS = {tokenize(unit)[0]: tuple(signs.split()) for unit, signs in _WRITTEN.items()} | {
    term: (other,)
    for digits, spelled in enumerate(_NUMBER_WORDS.split())
    for term, other in ((str(digits), spelled), (spelled, str(digits)))
}
