"""What an extractive answer may quote of a passage: sentences, rows of a table, equations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragscience.core.paper_records import has_pages, page_parts
from ragscience.core.records import Hit
from ragscience.core.sentences import SentenceSpan, split_sentences
from ragscience.core.tokenizing import joined_lines

_LEAD_CHARS = 200
"""A longer caption or header stays out of the quote: it is never cut in a word."""
_CAPTION_CHARS = 300
"""As much of a caption, in whole sentences, goes before the rows of its table."""
_FOOTNOTE_MARK = re.compile(r"\^?\d{1,2}(?=[A-Z][a-z])")
_HEADING = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z](?:\.\d{1,2})+\.?)\s+[A-Z][^=≤≥<>]{2,80}$")
CAPTION = re.compile(r"(?i:table|figure|fig\.) ?\d++[a-z]?+\s*+(?:[.:|]|(?<=\s)[A-Z(])")
"""How a caption begins; "Table 6 shows that" is a sentence."""
_BEGINS_ANEW = re.compile(rf"(?:\d{{1,2}}(?:\.\d{{1,2}})*+\.?|[A-Z](?:\.\d{{1,2}})++\.?)\s++[A-Z]|{CAPTION.pattern}")


@dataclass(frozen=True, slots=True)
class Unit:
    """One quote: `hit.chunk.text[start:end]`, with the words around it that say what it is about."""

    hit: Hit
    start: int
    end: int
    lead: str
    """Of a row: the table's caption and header, on one line; otherwise empty."""

    @property
    def text(self) -> str:
        """The words as they are on the page."""
        return self.hit.chunk.text[self.start : self.end]

    @property
    def shown(self) -> str:
        """Lead and words, on one line."""
        return f"{self.lead} {joined_lines(self.text)}".strip()

    @property
    def is_row(self) -> bool:
        """Whether it is of a table in Markdown."""
        return self.hit.chunk.text[self.start] == "|"

    @property
    def place(self) -> tuple[str, int, int]:
        """Path and character span in the document; passages that overlap give the same sentence the same place."""
        return self.hit.chunk.path, self.hit.chunk.start + self.start, self.hit.chunk.start + self.end


def units_of(hit: Hit) -> list[Unit]:
    """What may be quoted of a hit, in the order of its text: sentences, rows of tables, equations.

    A sentence has the heading before it. Of a file without pages nothing goes beyond its paragraph: that is its place.
    """
    text = hit.chunk.text
    is_paged = has_pages(hit.chunk.file)
    parts = [(0, len(text))] if is_paged else [part[1:] for part in page_parts(hit.chunk, 0, len(text))]
    spans = [
        replace(span, start=start + span.start, end=start + span.end)
        for start, end in parts
        for span in split_sentences(text[start:end])
    ]
    units: list[Unit] = []
    for i, span in enumerate(spans):
        if (is_paged and _heads(text, spans, i)) or _is_table_head(text, spans, i):
            continue
        start = spans[i - (is_paged and _heads(text, spans, i - 1))].start
        if (mark := _FOOTNOTE_MARK.match(text, start)) is not None:
            start = mark.end()
        if not units or span.end > units[-1].end:
            units.append(Unit(hit, start, span.end, _lead(text, spans, i) if span.kind == "row" else ""))
    return units


def follows(unit: Unit, other: Unit) -> bool:
    """Whether `other`, the unit after `unit` of a passage, may be in one quote with it.

    Rows of one table may; of the rest what has no caption or header of its own, and begins neither a section nor a
    caption.
    """
    if other.hit is not unit.hit or other.start < unit.end:
        return False
    if unit.is_row or other.is_row:
        return unit.is_row and other.is_row and unit.lead == other.lead
    return not (unit.lead or other.lead or _BEGINS_ANEW.match(other.text))


def joined(first: Unit, last: Unit) -> Unit:
    """What stands from `first` to `last`, which is the same or follows it."""
    return replace(first, end=last.end)


def table_head_end(text: str) -> int:
    """Where the rows of a table's passage begin, behind its caption and header."""
    line = text.find("|-")
    return max(0, text.find("\n", line) if line >= 0 else text.find("|"))


def _heads(text: str, spans: Sequence[SentenceSpan], i: int) -> bool:
    """Whether span `i` is a numbered heading over the sentence behind it."""
    if i < 0 or i + 1 == len(spans) or spans[i].kind != "row" or spans[i + 1].kind != "sentence":
        return False
    return bool(_HEADING.match(joined_lines(text[spans[i].start : spans[i].end])))


def _is_table_head(text: str, spans: Sequence[SentenceSpan], i: int) -> bool:
    """Whether row `i` is the head of a Markdown table, which its rows bring along."""
    span = spans[i]
    return text[span.start] == "|" and "|-" in text[span.start : span.end] and i + 1 < len(spans)


def _lead(text: str, spans: Sequence[SentenceSpan], i: int) -> str:
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
