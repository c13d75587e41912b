"""A first page as segments of lines, each with its size, weight and box."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.core.records import Box
from ragscience.reading.text_cleaning import plain_text
from ragscience.reading.text_rows import TOUCHING, Row, make_segments, runs
from ragscience.reading.text_spans import PageSpans, Span

MARKS = "*∗⁎⋆★✩✶✻☆†‡§¶‖♯♮♭♦♣♠"
"""Signs that point to a footnote."""
_RAISED = re.compile(rf"(?:[\s\d,;.{re.escape(MARKS)}]|[a-z](?![a-z])){{1,8}}")

_DASH = re.compile(r"(?<=[^\W\d_])\{(?=\d)")
"""Old TeX fonts have the dash at the code of the brace: "TREC{3"."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Text of one line without a wide gap in it."""

    text: str
    parts: tuple[str, ...]
    """The text, split at raised marks."""
    size: float
    """Of its largest letters, in points."""
    bold: bool
    box: Box

    def looks_like(self, other: Segment) -> bool:
        """Whether both are set in the same size and weight."""
        return self.bold == other.bold and abs(self.size - other.size) <= 0.04 * max(self.size, other.size)


def stamps_of(page: PageSpans) -> tuple[str, ...]:
    """The lines that run up or down the page."""
    return tuple(plain_text(piece.text) for piece in page.pieces if piece.turn % 2)


def segments_of(page: PageSpans) -> tuple[Segment, ...]:
    """The horizontal text of a page from top to bottom, and from left to right on one line."""
    rows = make_segments([piece for piece in page.pieces if not piece.turn])
    lines = runs(rows, lambda line, row: row.base - line[0].base < 0.35 * max(row.size, line[0].size))
    ordered = (row for line in lines for row in sorted(line, key=lambda row: row.x0))
    return tuple(segment for row in ordered if (segment := _segment(row)).text)


def body_size(segments: Sequence[Segment]) -> float:
    """The most common type size, in points; 10 without letters."""
    letters: Counter[float] = Counter()
    for segment in segments:
        letters[round(segment.size * 2) / 2] += len(segment.text)
    return max(letters.items(), key=lambda item: (item[1], item[0]))[0] if letters else 10.0


def _segment(row: Row) -> Segment:
    spans = [span for piece in row.pieces for span in piece.spans]
    size = _size(spans)
    small = _is_small_caps(spans, size)
    parts, text, right = [""], "", row.x0
    for span in spans:
        blank = " " if span.x0 - right > TOUCHING * size else ""
        piece = blank + (span.text.lower() if small and span.size < 0.95 * size else span.text)
        right = span.x1
        if span.size < 0.8 * size and span.base < row.base + 0.05 * size and _RAISED.fullmatch(span.text):
            parts.append("")
            text += " " if piece != piece.strip() else ""
        else:
            parts[-1] += piece
            text += piece
    text = _DASH.sub("–", text)
    return Segment(
        plain_text(text).rstrip(MARKS + " "), tuple(filter(None, map(plain_text, parts))), size, row.bold, row.box
    )


def _size(spans: Sequence[Span]) -> float:
    """The largest size that a tenth of the letters have; single signs come from larger fonts."""
    letters: Counter[float] = Counter()
    for span in spans:
        letters[span.size] += sum(map(str.isalpha, span.text))
    return max(size for size, count in letters.items() if count >= 0.08 * letters.total())


def _is_small_caps(spans: Sequence[Span], size: float) -> bool:
    """Whether capitals of two sizes stand for capitals and small letters."""
    letters = [span for span in spans if any(map(str.isalpha, span.text))]
    is_small = any(0.65 * size < span.size < 0.9 * size for span in letters)
    return is_small and not any(map(str.islower, "".join(span.text for span in letters)))
