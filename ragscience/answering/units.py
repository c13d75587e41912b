"""What an extractive answer may quote of a passage: sentences, rows of a table, equations with their lead-in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragscience.answering.sentences import Span, split_sentences
from ragscience.answering.words import joined_lines
from ragscience.records import Hit, StoredChunk

__all__ = ["Unit", "page_parts", "units_of"]

_BLOCK_CHARS = 300
"""A quote gathers neighbouring rows, or a short sentence and its neighbour, up to this length."""
_SHORT_SENTENCE = 150
_LEAD_CHARS = 200
"""A longer caption or header stays out of the quote: it is never cut in a word."""
_LEADS_ON = re.compile(r"(?:[:,=]|[^\W\d_])$")


@dataclass(frozen=True, slots=True)
class Unit:
    """One quote: `hit.chunk.text[start:end]`, with the words around it that say what it is about."""

    hit: Hit
    start: int
    end: int
    lead: str
    """Of a row: the table's caption and header, on one line; otherwise empty."""
    whole: bool
    """False where the passage cuts it: its first or last words may be missing."""

    @property
    def text(self) -> str:
        """The words as they stand on the page."""
        return self.hit.chunk.text[self.start : self.end]

    @property
    def scored_text(self) -> str:
        """What it is compared by: lead and words, on one line."""
        return f"{self.lead} {joined_lines(self.text)}".strip()

    @property
    def place(self) -> tuple[str, int, int]:
        """Path and character span in the document; passages that overlap give the same sentence the same place."""
        return self.hit.chunk.path, self.hit.chunk.start + self.start, self.hit.chunk.start + self.end


def units_of(hit: Hit) -> list[Unit]:
    """What may be quoted of a hit, in the order of its text."""
    text = hit.chunk.text
    spans = split_sentences(text)
    units: list[Unit] = []
    i = 0
    while i < len(spans):
        j = _block_end(text, spans, i)
        lead = _lead(text, spans, i) if spans[i].kind == "row" else ""
        start, end = spans[i].start, spans[j - 1].end
        units.append(Unit(hit, start, end, lead, _is_whole(hit.chunk, start, end)))
        i = j
    return units


def _block_end(text: str, spans: Sequence[Span], i: int) -> int:
    """Index behind the last span that is quoted together with span `i`."""
    j = i + 1
    while j < len(spans) and spans[j].end - spans[i].start <= _BLOCK_CHARS and _belongs(text, spans, i, j):
        j += 1
    return j


def _belongs(text: str, spans: Sequence[Span], i: int, j: int) -> bool:
    before, after = spans[j - 1], spans[j]
    if after.kind == "row":
        # rows of one table; or an equation, and the sentence that leads to it
        return before.kind == "row" or (before.kind == "sentence" and bool(_LEADS_ON.search(text[: before.end])))
    return before.kind != "row" and after.kind == "sentence" and spans[i].end - spans[i].start < _SHORT_SENTENCE


def _lead(text: str, spans: Sequence[Span], i: int) -> str:
    """How the caption of the table that row `i` is in begins, and its header: the last caption above, or one below."""
    first = i
    while first > 0 and spans[first - 1].kind == "row":
        first -= 1
    captions = [span for span in spans if span.kind == "caption"]
    near = [span for span in captions if span.start < spans[i].start][-1:] or captions[:1]
    leads = [*near, *(spans[first : first + 1] if first < i else [])]
    return joined_lines(" ".join(text[s.start : s.end] for s in leads if s.end - s.start <= _LEAD_CHARS))


def _is_whole(chunk: StoredChunk, start: int, end: int) -> bool:
    text = chunk.text
    if chunk.start > 0 and not text[:start].strip() and not (text[start].isupper() or text[start].isdigit()):
        return False
    return bool(text[end:].strip()) or text[end - 1] in ".!?。！？”\"')]"


def page_parts(chunk: StoredChunk, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(page, start, end) for each page that `chunk.text[start:end]` has words on, in order."""
    breaks = [*chunk.page_breaks, (len(chunk.text), 0)]
    for (begin, page), (stop, _) in pairwise(breaks):
        left, right = max(start, begin), min(end, stop)
        if left < right and chunk.text[left:right].strip():
            yield page, left, right
