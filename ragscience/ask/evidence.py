"""The passages that an answer was made from, laid out by page, read once and asked many times."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ragscience.ask.claim_facts import claim_names, counted, negated_terms, page_names, page_numbers, words_of
from ragscience.core.records import Hit
from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import terms

__all__ = ["EvidenceIndex", "MergedPassage", "PageSpan", "PageUnit", "Place", "squeezed"]

_NEAR_CHARS = 300
"""How far a table's caption may be from a row, or one short sentence from another, that are read together."""

Place = tuple[str, int]
"""File and page."""


class _Folds(dict[str, str]):
    """What is left of a character: its letters and digits, folded; a point stays for now."""

    def __missing__(self, character: str) -> str:
        folded = unicodedata.normalize("NFKC", character).casefold()
        self[character] = "".join(c for c in folded if c.isalnum() or c == ".")
        return self[character]


_FOLDS = _Folds()
_LOOSE_POINT = re.compile(r"(?<!\d)\.|\.(?!\d)")


def squeezed(text: str) -> str:
    """Letters and digits of `text`, NFKC and case-folded, and the points between digits: what line breaks leave."""
    return _LOOSE_POINT.sub("", "".join([_FOLDS[c] for c in text]))


@dataclass(frozen=True, slots=True)
class PageUnit:
    """A sentence or row of a page part: `part.text[start:end]`."""

    start: int
    end: int
    terms: frozenset[str]


class PageSpan:
    """What one passage holds of one page."""

    def __init__(self, place: Place, path: str, start: int, text: str) -> None:
        self.place = place
        self.path = path
        self.start = start
        """Where `text` begins in `Document.text`."""
        self.text = text

    @cached_property
    def units(self) -> list[PageUnit]:
        """Its sentences and rows, in order."""
        spans = split_sentences(self.text)
        pieces = [self.text[span.start : span.end] for span in spans]
        return [
            PageUnit(span.start, span.end, frozenset(terms(piece))) for span, piece in zip(spans, pieces, strict=True)
        ]

    @cached_property
    def numbers_by_unit(self) -> list[frozenset[str]]:
        """Every number that may be read in each of `units`."""
        return [page_numbers(self.text[unit.start : unit.end]) for unit in self.units]

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number that may be read on it."""
        return page_numbers(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every word of it, as `page_names` gives them."""
        return page_names(self.text)

    @cached_property
    def squeezed(self) -> str:
        """Its letters and digits."""
        return squeezed(self.text)

    @cached_property
    def initials(self) -> str:
        """The first letters of its words in a row."""
        return "".join(word[0] for word in self.words)

    def unit_at(self, offset: int) -> int:
        """The number of the unit that `text[offset]` is in."""
        return max(0, bisect_right([unit.start for unit in self.units], offset) - 1)

    def around(self, i: int) -> str:
        """Unit `i` with its surroundings, as they are."""
        first, last = self._surroundings(i)
        return self.text[self.units[first].start : self.units[last].end]

    def terms_around(self, i: int) -> frozenset[str]:
        """The terms of unit `i` and of its surroundings."""
        return self._terms_around[i]

    def polarity(self, i: int) -> tuple[frozenset[str], frozenset[str]]:
        """Which terms unit `i` and its surroundings deny, and which they say."""
        return negated_terms(self.around(i))

    @cached_property
    def words(self) -> list[str]:
        """All its words in order, as `words_of` gives them."""
        return words_of(self.text)

    @cached_property
    def counted(self) -> dict[str, set[str]]:
        """For each word right after a number, these numbers: "12 layers" gives layers: 12."""
        return counted(self.words)

    @cached_property
    def proper_names(self) -> frozenset[str]:
        """Its words that look like names."""
        return frozenset(claim_names(self.text))

    @cached_property
    def _terms_around(self) -> list[frozenset[str]]:
        found = []
        for i in range(len(self.units)):
            first, last = self._surroundings(i)
            found.append(frozenset().union(*[unit.terms for unit in self.units[first : last + 1]]))
        return found

    def _surroundings(self, i: int) -> tuple[int, int]:
        """First and last unit around unit `i`: its neighbours, and as many more as are within `_NEAR_CHARS`."""
        units = self.units
        first, last = max(0, i - 1), min(len(units) - 1, i + 1)
        while first > 0 and units[i].start - units[first - 1].start <= _NEAR_CHARS:
            first -= 1
        while last + 1 < len(units) and units[last + 1].end - units[i].end <= _NEAR_CHARS:
            last += 1
        return first, last


class MergedPassage:
    """Text of a document without a gap: a passage, or several that overlap."""

    def __init__(self, file: str, path: str, start: int, text: str, breaks: Sequence[tuple[int, int]]) -> None:
        self.file = file
        self.path = path
        self.start = start
        """Where `text` begins in `Document.text`."""
        self.text = text
        self.breaks = tuple(breaks)

    @cached_property
    def squeezed(self) -> str:
        """Its letters and digits."""
        return squeezed(self.text)

    @cached_property
    def _origins(self) -> list[int]:
        """For each character of `squeezed`, the offset in `text` that it is of."""
        kept = [(c, i) for i, character in enumerate(self.text) for c in _FOLDS[character]]
        loose = {match.start() for match in _LOOSE_POINT.finditer("".join(c for c, _ in kept))}
        return [i for at, (_, i) in enumerate(kept) if at not in loose]

    def find(self, needle: str) -> Iterator[tuple[int, int]]:
        """(start, end) in `text` of each place where squeezed words occur whole: "8" is not found in "28.4"."""
        at = self.squeezed.find(needle) if needle else -1
        while at >= 0:
            start, end = self._origins[at], self._origins[at + len(needle) - 1] + 1
            before, after = self.text[max(0, start - 2) : start], self.text[end : end + 2]
            cut = _cuts(needle[0], before[::-1]) or _cuts(needle[-1], after)
            if not cut:
                yield start, end
            at = self.squeezed.find(needle, at + 1)

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[tuple[Place, int, int]]:
        """(place, start, end) for each page that `text[start:end]` has words on."""
        stop_at = len(self.text) if end is None else end
        for (begin, page), (stop, _) in pairwise([*self.breaks, (len(self.text), 0)]):
            left, right = max(start, begin), min(stop_at, stop)
            if left < right and self.text[left:right].strip():
                yield (self.file, page), left, right


def _cuts(edge: str, beyond: str) -> bool:
    """Whether a number or word goes on past `edge`; `beyond` is read away from it."""
    if not beyond:
        return False
    if edge.isdigit():
        return beyond[0].isdigit() or (beyond[0] in ".," and beyond[1:].isdigit())
    return beyond[0].isalpha()


class EvidenceIndex:
    """All passages given, by page."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.passages = list(_merged_passages(hits))
        self.by_place: dict[Place, list[PageSpan]] = {}
        for passage in self.passages:
            for place, start, end in passage.parts():
                part = PageSpan(place, passage.path, passage.start + start, passage.text[start:end])
                self.by_place.setdefault(place, []).append(part)

    def parts(self, places: Sequence[Place]) -> list[PageSpan]:
        """What was given of these pages."""
        return [part for place in places for part in self.by_place.get(place, [])]

    def places_of(self, file: str) -> list[Place]:
        """The pages given of a file."""
        return [place for place in self.by_place if place[0] == file]


def _merged_passages(hits: Sequence[Hit]) -> Iterator[MergedPassage]:
    """The passages, those that overlap or touch put together where their common text is the same."""
    different = {(hit.chunk.path, hit.chunk.start, hit.chunk.text): hit.chunk for hit in hits}
    chunks = sorted(different.values(), key=lambda chunk: (chunk.path, chunk.start, chunk.end))
    now: MergedPassage | None = None
    for chunk in chunks:
        if now is not None and now.path == chunk.path:
            common = now.start + len(now.text) - chunk.start
            if common >= 0 and now.text[len(now.text) - common :][: len(chunk.text)] == chunk.text[:common]:
                breaks = dict(now.breaks)
                shift = chunk.start - now.start
                known = {page for _, page in now.breaks}
                breaks.update({offset + shift: page for offset, page in chunk.page_breaks if page not in known})
                text = now.text + chunk.text[common:]
                now = MergedPassage(now.file, now.path, now.start, text, sorted(breaks.items()))
                continue
        if now is not None:
            yield now
        now = MergedPassage(chunk.file, chunk.path, chunk.start, chunk.text, chunk.page_breaks)
    if now is not None:
        yield now
