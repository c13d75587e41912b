"""Where the papers have a phrase, word for word: found by the keyword index, verified in the text."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ragscience.ask.route_records import RouteContext
from ragscience.core.records import StoredChunk
from ragscience.core.sentences import short_forms
from ragscience.core.tokenizing import joined_lines, tokenize

MOST_PASSAGES = 4_000
"""So many passages are read for a question, those with the most of its words first."""
_PIECE = re.compile(r"[^\W\d_]++[+#]*+|\d++(?:\.\d++)?+")
_MANY = re.compile(r"(?<=[A-Z\d])s$")
"""Of several: "TPUs", "V100s"."""
_BETWEEN = "[\\s\\-\u2010\u2011\u2013_]{0,3}+"
_MARKS = "[\\W_]{0,4}+"
"""Between words that the phrase has other marks between: a title with a colon."""
_HYPHEN = "(?:[-\u2010\u00ad](?:[ \\t]*+\n\\s*+)?+)?+"
_YEAR = re.compile(r"(?:19|20)\d\d")
_SAME_WORD = 3
"""Two words of one stem are forms of one another if their lengths differ by no more letters."""


class Phrase:
    """A phrase with its forms: plural and other endings of its last word, with and without hyphens."""

    def __init__(self, text: str) -> None:
        self.text = _MANY.sub("", " ".join(text.split()))
        self.pieces = _PIECE.findall(self.text)
        last = self.pieces[-1] if self.pieces else ""
        self._last = last.casefold()
        self._may_vary = last.isalpha() and len(last) > 2 and (last.islower() or not last[1:].islower())
        self._is_shaped = any(char.isupper() for piece in self.pieces for char in piece[1:])
        words = [_spelled(piece.casefold()) for piece in self.pieces]
        if self._may_vary:
            words[-1] = f"{_spelled(self._last[: max(3, len(_stem_of(last)) - 1)])}[^\\W\\d_]*+"
        gaps = [self.text[one.end() : two.start()] for one, two in pairwise(_PIECE.finditer(self.text))]
        joints = [_BETWEEN if not gap.strip(" -_\u2010\u2011\u2013") else _MARKS for gap in gaps]
        whole = words[0] + "".join(map("".join, zip(joints, words[1:], strict=True))) if words else "(?!)"
        self.pattern = re.compile(rf"(?<![^\W_]){whole}(?![^\W_])", re.IGNORECASE)

    def in_text(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of each place that has the phrase."""
        return [found.span() for found in self.pattern.finditer(text) if self._is_form(found.group())]

    def _is_form(self, found: str) -> bool:
        if self._is_shaped and (found.islower() or (self.text.isupper() and found.istitle())):
            return False  # "GLUE" is not "glue"
        word = "".join(_PIECE.findall(found)).casefold()[sum(map(len, self.pieces[:-1])) :]
        is_near = abs(len(word) - len(self._last)) <= _SAME_WORD and _stem_of(word) == _stem_of(self._last)
        return not self._may_vary or is_near


def _stem_of(word: str) -> str:
    return "".join(tokenize(word)[:1])


def _spelled(word: str) -> str:
    """A pattern for the word, broken at a line's end or not; a year also by its last two digits."""
    if _YEAR.fullmatch(word):
        return f"(?:{word[:2]}|['’])?{word[2:]}"
    if word[:1].isdigit():
        return rf"(?:v(?:ersion)?\.?\s?)?{re.escape(word)}"
    return (_HYPHEN if len(word) > 3 else "").join(map(re.escape, word))


@dataclass(frozen=True, slots=True)
class Place:
    """A phrase in a passage: `chunk.text[start:end]`."""

    chunk: StoredChunk
    start: int
    end: int


Found = dict[int, dict[int, Place]]
"""By the id of each paper its places, each once though passages overlap, by their offset in the paper."""


def find_phrases(texts: Sequence[str], papers: Collection[int], context: RouteContext) -> tuple[Found, bool]:
    """(where those of the papers, by id, have one of the phrases; whether all passages with their words were read).

    The passages with most of the words are read first.
    """
    import numpy as np

    found, is_whole, library = Found(), True, context.library
    kept = replace(context.filters, paper_ids=tuple(papers))
    ids = library.select(kept) if papers else None
    for phrase in map(Phrase, texts) if ids is not None else ():
        having = [library.keywords.having(_terms(text), ids) for text in _spellings(phrase) if _terms(text)]
        numbers = np.unique(np.concatenate(having)) if having else np.empty(0, np.int64)
        is_whole = is_whole and numbers.size <= MOST_PASSAGES
        for chunk in library.chunks(numbers[:MOST_PASSAGES].tolist()):
            for start, end in phrase.in_text(chunk.text):
                places = found.setdefault(chunk.paper_id, {})
                places.setdefault(chunk.start + start, Place(chunk, start, end))
    return found, is_whole


def _spellings(phrase: Phrase) -> list[str]:
    """The phrase apart and together: the keyword index has "batchnorm" and "batch norm" as other terms."""
    together = "".join(phrase.pieces)
    return list(dict.fromkeys([phrase.text, " ".join(phrase.pieces), together]))


def _terms(text: str) -> list[str]:
    """Those that are looked up: without numbers where there are words, for "WMT-14" is "WMT 2014"."""
    found = list(dict.fromkeys(tokenize(text)))
    return [term for term in found if any(map(str.isalpha, term))] or found


_AROUND = 120
"""Characters beside a phrase in which it is defined."""
_MOST = 2


def aliases_of(phrase: str, found: Found) -> tuple[str, ...]:
    """At most _MOST other names of the phrase: "(LSTM)" behind it, the words that "(LSTM)" stands behind."""
    names: dict[str, str] = {}
    own = _flat(phrase)
    for place in (place for places in found.values() for place in places.values()):
        near = joined_lines(place.chunk.text[max(0, place.start - _AROUND) : place.end + _AROUND])
        for short, long in short_forms(near) if "(" in near else ():
            other = long if _flat(short) == own else short if _flat(long) == own else ""
            if len(short) > 2 and other:
                names.setdefault(_flat(other), other)
    return tuple(names.values())[:_MOST]


def _flat(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum()).removesuffix("s")
