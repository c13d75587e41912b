"""What an extractive answer may quote of a passage: sentences, rows of a table, equations with their lead-in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragscience.records import Hit, StoredChunk
from ragscience.text.sentences import Span, split_sentences
from ragscience.text.tokenizing import joined_lines

__all__ = ["Unit", "continued", "units_of"]

_QUOTE_CHARS = 400
"""A quote gathers neighbouring rows or two sentences, and goes on with what follows, up to this length;"""
_EQUATION_CHARS = 500
"""an equation and the sentence that leads to it up to this one."""
_LEAD_CHARS = 200
"""A longer caption or header stays out of the quote: it is never cut in a word."""
_CAPTION_CHARS = 300
"""As much of a caption, in whole sentences, goes before the rows of its table."""
_EQUATION_ROWS = 3
"""More rows than this in a run are a table, whatever signs they contain."""
_LEADS_ON = re.compile(r"(?:[:,=]|[^\W\d_])$")
_RELATION = re.compile(r"[=≤≥≈≠∝≪≫∈≜≡<>]")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_HEADING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z](?:\.\d{1,2})+\.?)\s+[A-Z][^=≤≥<>]{2,80}$")


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
        """The words as they are on the page."""
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
    """What may be quoted of a hit, in the order of its text; a sentence may be in two of them, with either neighbour.

    A sentence is offered together with the next one: what a question asks for is often next to the words that it
    asks in. The rows of a table are offered in blocks, and an equation with the sentence before it.
    """
    text = hit.chunk.text
    spans = split_sentences(text)
    units: list[Unit] = []
    caption = _caption_of_table(hit.chunk, spans)
    covered = 0
    for i, span in enumerate(spans):
        if i < caption:
            continue
        if span.kind == "row":
            if i < covered or _heads(text, spans, i) or _is_table_head(text, spans, i):
                continue
            first, covered = _block(text, spans, i)
            lead = "" if first < i else _lead(text, spans, i)
        else:
            first, covered = i - _heads(text, spans, i - 1), _pair_end(spans, i)
            lead = ""
        start, end = spans[first].start, spans[covered - 1].end
        if not units or end > units[-1].end:
            units.append(Unit(hit, start, end, lead, _is_whole(hit.chunk, start, end)))
    return units


def continued(units: Sequence[Unit]) -> list[Unit]:
    """The same units, each with as much of what follows it as makes a quote, and none of it in two of them."""
    longer: list[Unit] = []
    for n, unit in enumerate(units):
        chunk = unit.hit.chunk
        others = [*longer, *units[n + 1 :]]
        taken = [place[1] - chunk.start for place in (other.place for other in others) if place[0] == chunk.path]
        limit = min([unit.start + _QUOTE_CHARS, *(start for start in taken if start >= unit.end)])
        spans = split_sentences(chunk.text)
        end = unit.end
        for i, span in enumerate(spans):
            if span.start < unit.end:
                continue
            begins_table = _is_table_head(chunk.text, spans, i) and chunk.text[unit.start] != "|"
            if span.end > limit or span.kind == "caption" or begins_table or _heads(chunk.text, spans, i):
                break
            end = max(end, span.end)
        longer.append(replace(unit, end=end, whole=_is_whole(chunk, unit.start, end)))
    return longer


def _heads(text: str, spans: Sequence[Span], i: int) -> bool:
    """Whether span `i` is a numbered heading over the sentence behind it."""
    if i < 0 or i + 1 == len(spans) or spans[i].kind != "row" or spans[i + 1].kind != "sentence":
        return False
    return bool(_HEADING.match(joined_lines(text[spans[i].start : spans[i].end])))


def _pair_end(spans: Sequence[Span], i: int) -> int:
    """Index behind the last span that is quoted together with sentence `i`."""
    if i + 1 < len(spans) and spans[i + 1].kind == "sentence" and spans[i + 1].end - spans[i].start <= _QUOTE_CHARS:
        return i + 2
    return i + 1


def _caption_of_table(chunk: StoredChunk, spans: Sequence[Span]) -> int:
    """How many spans at the beginning of a table's passage are its caption, which its rows bring along."""
    rows = (i for i in range(len(spans)) if _is_table_head(chunk.text, spans, i))
    return next(rows, 0) if chunk.kind == "table" else 0


def _is_table_head(text: str, spans: Sequence[Span], i: int) -> bool:
    """Whether row `i` is the head of a Markdown table, which its rows bring along."""
    span = spans[i]
    return text[span.start] == "|" and "|-" in text[span.start : span.end] and i + 1 < len(spans)


def _block(text: str, spans: Sequence[Span], i: int) -> tuple[int, int]:
    """First span, and the one behind the last, of the block that row `i` begins; a row of Markdown is one alone."""
    if text[spans[i].start] == "|":
        return i, i + 1
    run = i
    while run < len(spans) and spans[run].kind == "row":
        run += 1
    if i and spans[i - 1].kind == "sentence" and _is_led_to(text, spans, i, run):
        end = run
        while end > i + 1 and spans[end - 1].end - spans[i - 1].start > _EQUATION_CHARS:
            end -= 1
        if spans[end - 1].end - spans[i - 1].start <= _EQUATION_CHARS:
            return i - 1, end
    end = i + 1
    while end < run and spans[end].end - spans[i].start <= _QUOTE_CHARS:
        end += 1
    return i, end


def _is_led_to(text: str, spans: Sequence[Span], i: int, run: int) -> bool:
    """Whether rows `i` to `run` are an equation, or go on with what the sentence before them begins."""
    if run - i > _EQUATION_ROWS:
        return False
    rows = text[spans[i].start : spans[run - 1].end]
    is_equation = bool(_RELATION.search(rows)) and 2 * len(_LONG_WORD.findall(rows)) <= len(rows.split())
    return is_equation or bool(_LEADS_ON.search(text[: spans[i - 1].end]))


def _lead(text: str, spans: Sequence[Span], i: int) -> str:
    """How the caption of the table that row `i` is in begins, and its header: the last caption above, or one below.

    Where they don't follow each other on the page, "…" goes between them.
    """
    first = i
    while first > 0 and spans[first - 1].kind == "row":
        first -= 1
    captions = [span for span in spans if span.kind == "caption"]
    near = [span for span in captions if span.start < spans[i].start][-1:] or captions[:1]
    if text[spans[i].start] == "|" and near:
        near = [
            span for span in spans[:first] if near[0].start <= span.start and span.end <= near[0].start + _CAPTION_CHARS
        ]
    leads = [*near, *(spans[first : first + 1] if first < i else [])]
    said, end = "", None
    for span in (span for span in leads if span.end - span.start <= _LEAD_CHARS):
        is_next = end is None or (end <= span.start and not text[end : span.start].strip())
        said += f"{' ' if is_next else ' … '}{text[span.start : span.end]}"
        end = span.end
    return joined_lines(said).strip()


def _is_whole(chunk: StoredChunk, start: int, end: int) -> bool:
    text = chunk.text
    if chunk.start > 0 and not text[:start].strip() and not (text[start].isupper() or text[start].isdigit()):
        return False
    return bool(text[end:].strip()) or text[end - 1] in ".!?。！？”\"')]"
