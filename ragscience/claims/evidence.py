"""The passages that an answer was made from, laid out by page, read once and asked many times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from ragscience.claims.facts import FOLDS, LOOSE_POINT, Said, squeezed
from ragscience.core.records import Hit
from ragscience.core.sentences import split_sentences

_NEAR_CHARS = 300
"""How far a table's caption may be from a row, or one short sentence from another, that are read together."""

Place = tuple[str, int]
"""File and page."""


class PageUnit(Said):
    """A sentence or row of a page, `span.text[start:end]`, with the lines around it."""

    def __init__(self, text: str, start: int, end: int) -> None:
        super().__init__(text[start:end])
        self.start = start
        self.end = end
        self.around: Said = self
        """It and its neighbours."""
        self.is_row = self.text.startswith("|")


class PageSpan(Said):
    """What one passage holds of one page."""

    def __init__(self, place: Place, passage: MergedPassage, at: int, text: str) -> None:
        super().__init__(text)
        self.place = place
        self.path = passage.path
        self.at = at
        """Where it begins in the passage."""
        self.start = passage.start + at
        """Where it begins in `Document.text`."""

    @cached_property
    def units(self) -> list[PageUnit]:
        """Its sentences and rows, in order."""
        units = [PageUnit(self.text, span.start, span.end) for span in split_sentences(self.text)]
        for i, unit in enumerate(units):
            first, last = max(0, i - 1), min(len(units) - 1, i + 1)
            while first > 0 and unit.start - units[first - 1].start <= _NEAR_CHARS:
                first -= 1
            while last + 1 < len(units) and units[last + 1].end - unit.end <= _NEAR_CHARS:
                last += 1
            unit.around = Said(self.text[units[first].start : units[last].end])
        return units

    def unit_at(self, offset: int) -> PageUnit:
        """The unit that `text[offset]` is in."""
        return self.units[max(0, bisect_right(self.units, offset, key=lambda unit: unit.start) - 1)]


class MergedPassage:
    """Text of a document without a gap: a passage, or several that overlap."""

    def __init__(self, file: str, path: str, start: int, text: str, breaks: Sequence[tuple[int, int]]) -> None:
        self.file = file
        self.path = path
        self.start = start
        """Where `text` begins in `Document.text`."""
        self.text = text
        self.breaks = tuple(breaks)
        self.squeezed = squeezed(text)
        edges = pairwise([*self.breaks, (len(text), 0)])
        self.spans = [
            PageSpan((file, page), self, begin, text[begin:end])
            for (begin, page), (end, _) in edges
            if text[begin:end].strip()
        ]

    @cached_property
    def origins(self) -> list[int]:
        """For each character of `squeezed`, the offset in `text` that it is of."""
        kept = [(c, i) for i, character in enumerate(self.text) for c in FOLDS[character]]
        loose = {match.start() for match in LOOSE_POINT.finditer("".join(c for c, _ in kept))}
        return [i for at, (_, i) in enumerate(kept) if at not in loose]

    def find(self, needle: str) -> Iterator[tuple[int, int]]:
        """(start, end) in `text` of each place where squeezed words occur whole: "8" is not found in "28.4"."""
        at = self.squeezed.find(needle) if needle else -1
        while at >= 0:
            start, end = self.origins[at], self.origins[at + len(needle) - 1] + 1
            before, after = self.text[max(0, start - 2) : start], self.text[end : end + 2]
            if not (_cuts(needle[0], before[::-1]) or _cuts(needle[-1], after)):
                yield start, end
            at = self.squeezed.find(needle, at + 1)


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
        self.passages = list(_merged(hits))
        self.by_place: dict[Place, list[PageSpan]] = {}
        for passage in self.passages:
            for span in passage.spans:
                self.by_place.setdefault(span.place, []).append(span)

    def spans(self, places: Sequence[Place]) -> list[PageSpan]:
        """What was given of these pages."""
        return [span for place in places for span in self.by_place.get(place, [])]

    def places_of(self, file: str) -> list[Place]:
        """The pages given of a file."""
        return [place for place in self.by_place if place[0] == file]


def _merged(hits: Sequence[Hit]) -> Iterator[MergedPassage]:
    """The passages, those that overlap or touch put together where their common text is the same."""
    different = {(hit.chunk.path, hit.chunk.start, hit.chunk.text): hit.chunk for hit in hits}
    now: MergedPassage | None = None
    for chunk in sorted(different.values(), key=lambda chunk: (chunk.path, chunk.start, chunk.end)):
        file, start, text, breaks = chunk.file, chunk.start, chunk.text, dict(chunk.page_breaks)
        if now is not None and now.path == chunk.path:
            shift = chunk.start - now.start
            common = len(now.text) - shift
            if common >= 0 and now.text[shift:][: len(text)] == text[:common]:
                known = {page for _, page in now.breaks}
                new = {offset + shift: page for offset, page in breaks.items() if page not in known}
                start, text, breaks = now.start, now.text + text[common:], dict(now.breaks) | new
                now = None
        if now is not None:
            yield now
        now = MergedPassage(file, chunk.path, start, text, sorted(breaks.items()))
    if now is not None:
        yield now
