"""Where the papers have a phrase, word for word: found by the keyword index, verified in the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ragscience.ask.route_records import RouteContext
from ragscience.core.records import NOTE, StoredChunk
from ragscience.core.sentences import short_forms
from ragscience.core.tokenizing import joined_lines, tokenize

MOST_PASSAGES = 4_000
"""So many passages are read for a question, those with the most of its words first."""
_PIECE = re.compile(r"[^\W\d_]++|\d++(?:\.\d++)?+")
_BETWEEN = "[\\s\\-\u2010\u2011\u2013_]{0,3}+"
_MARKS = "[\\W_]{0,4}+"
"""Between words that the phrase has other marks between: a title with a colon."""
_HYPHEN = "(?:[-\u2010\u00ad](?:[ \\t]*+\n\\s*+)?+)?+"
_SURNAME = re.compile(r"\s(?:[A-Z]\.?\s){0,2}[A-Z][a-zà-ÿ]")
_ISE = re.compile(r"is(?=(?:e[sdr]?|ers|ing|ations?)$)")
_PLURAL = re.compile(r"(?<![^\W_])([A-Z]{2,}[0-9]*)s$")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LONGEST_ENDING = 9
_SAME_WORD = 3
"""Two words of one stem are forms of one another if their lengths differ by no more letters."""


class Phrase:
    """A phrase with its forms: plural and other endings of its last word, with and without hyphens, -ise as -ize."""

    def __init__(self, text: str) -> None:
        self.text = _PLURAL.sub(r"\1", " ".join(text.split()))
        self.pieces = _PIECE.findall(self.text)
        last = self.pieces[-1] if self.pieces else ""
        self._last = last.casefold()
        self._may_vary = last.isalpha() and len(last) > 2 and (last.islower() or not last[1:].islower())
        self._is_shaped = any(char.isupper() for piece in self.pieces for char in piece[1:])
        self.may_be_person = len(self.pieces) == 1 and last.istitle()
        """Whether it may be someone's first name."""
        self._is_acronym = self.text.isupper() and self.text.isalpha()
        stem = _stem_of(last) if self._may_vary else ""
        begin = self._last[: max(3, min(len(stem) - 1, len(self._last) - 1))] if stem else self._last
        words = [_spelled(piece.casefold()) for piece in self.pieces[:-1]]
        most = max(_LONGEST_ENDING, len(last) - len(begin) + _SAME_WORD)
        words.append(_spelled(begin) + (f"[^\\W\\d_]{{0,{most}}}+" if self._may_vary else ""))
        gaps = [self.text[one.end() : two.start()] for one, two in pairwise(_PIECE.finditer(self.text))]
        joints = [_BETWEEN if not gap.strip(" -_\u2010\u2011\u2013") else _MARKS for gap in gaps]
        whole = words[0] + "".join(map("".join, zip(joints, words[1:], strict=True))) if self.pieces else "(?!)"
        self.pattern = re.compile(rf"(?<![^\W_]){whole}(?![^\W_])", re.IGNORECASE)

    def in_text(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of each place that has the phrase."""
        return [found.span() for found in self.pattern.finditer(text) if self._is_form(found.group())]

    def _is_form(self, found: str) -> bool:
        if self._is_acronym and (found.islower() or found.istitle()):
            return False  # "GLUE" is not "glue"
        if self._is_shaped and found.islower():
            return False
        if not self._may_vary:
            return True
        word = "".join(_PIECE.findall(found)).casefold()[sum(map(len, self.pieces[:-1])) :]
        is_near = abs(len(word) - len(self._last)) <= _SAME_WORD
        return word.endswith(self._last) or (is_near and _stem_of(word) == _stem_of(self._last))


def _stem_of(word: str) -> str:
    """The stem, of "normalise" as of "normalize"."""
    return "".join(tokenize(_ISE.sub("iz", word))[:1])


def _spelled(word: str) -> str:
    """A pattern for the word: broken at a line's end or not, with s as z; a year also by its last two digits."""
    if _YEAR.fullmatch(word):
        return f"(?:{word[:2]}|['’])?{word[2:]}"
    if word[:1].isdigit():
        return rf"(?:v(?:ersion)?\.?\s?)?{re.escape(word)}"
    letters = ["[sz]" if char in "sz" and word[at - 1 : at] == "i" else re.escape(char) for at, char in enumerate(word)]
    return _HYPHEN.join(letters) if len(word) > 3 else "".join(letters)


@dataclass(frozen=True, slots=True)
class Place:
    """A phrase in a passage: `chunk.text[start:end]`."""

    chunk: StoredChunk
    start: int
    end: int


@dataclass
class PaperMentions:
    """Where one paper has a phrase; each place of the paper once, though passages overlap."""

    paper_id: int
    file: str
    text: dict[int, Place] = field(default_factory=dict)
    """By its offset in the paper."""
    references: dict[int, Place] = field(default_factory=dict)
    """Those in its list of references."""


def find_phrases(
    phrases: Sequence[Phrase], papers: Collection[int], context: RouteContext
) -> tuple[dict[int, PaperMentions], bool]:
    """(those of the papers, by id, that have one of the phrases; whether all passages with their words were read).

    Lists of references are read, too, unless the filters say which kinds of passages count.
    """
    found: dict[int, PaperMentions] = {}
    is_whole = True
    for phrase in phrases:
        chunks, is_all = _candidates(phrase, papers, context)
        is_whole = is_whole and is_all
        for chunk in chunks:
            spans = phrase.in_text(chunk.text) if chunk.kind != NOTE or NOTE in context.filters.kinds else []
            if chunk.kind == "reference" and phrase.may_be_person:
                spans = [span for span in spans if not _SURNAME.match(chunk.text, span[1])]
            if not spans:
                continue
            paper = found.setdefault(chunk.paper_id, PaperMentions(chunk.paper_id, chunk.file))
            places = paper.references if chunk.kind == "reference" else paper.text
            for start, end in spans:
                places.setdefault(chunk.start + start, Place(chunk, start, end))
    return found, is_whole


def _candidates(phrase: Phrase, papers: Iterable[int], context: RouteContext) -> tuple[list[StoredChunk], bool]:
    """The passages with all words of the phrase, at most MOST_PASSAGES; and whether these are all."""
    import numpy as np

    library = context.library
    kinds = context.filters.kinds or ("all",)
    ids = library.select(replace(context.filters, kinds=kinds, paper_ids=tuple(papers)))
    if ids is None or not _terms(phrase.text):
        return [], True
    having = [library.keywords.having(_terms(spelling), ids) for spelling in _spellings(phrase)]
    found = np.unique(np.concatenate(having))
    return library.chunks(found[:MOST_PASSAGES].tolist()), found.size <= MOST_PASSAGES


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


def aliases_of(phrase: Phrase, found: dict[int, PaperMentions]) -> tuple[str, ...]:
    """At most _MOST other names of the phrase: "(LSTM)" behind it, the words that "(LSTM)" stands behind."""
    names: dict[str, str] = {}
    own = _flat(phrase.text)
    for one in found.values():
        for place in (*one.text.values(), *one.references.values()):
            near = joined_lines(place.chunk.text[max(0, place.start - _AROUND) : place.end + _AROUND])
            for short, long in short_forms(near) if "(" in near else ():
                other = long if _flat(short) == own else short if _flat(long) == own else ""
                if len(short) > 2 and other:
                    names.setdefault(_flat(other), other)
    return tuple(names.values())[:_MOST]


def _flat(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum()).removesuffix("s")
