"""A first page as segments of lines, each with its size, weight and box."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragscience.core.records import Box
from ragscience.reading.name_words import plain_text

MARKS = "*∗⁎⋆★✩✶✻☆†‡§¶‖♯♮♭♦♣♠"
"""Signs that point to a footnote."""

_SUPERSCRIPT, _BOLD = 1, 16
_SMALLEST_PT = 3.0
"""Smaller sizes are replaced by the glyphs' size: Type 3 fonts of old TeX files have 0.1 pt and a scaling matrix."""
_STEP_PT = 3.0
"""Sizes measured by glyph widths are no better than this."""
_MOST_LINES = 4000
"""Lines read of a page; a map or a plot may have a hundred times as many."""
_FAR_PT = 1e6
"""Larger coordinates and sizes, and NaN, come from damaged files only."""
_NEAR = 8
"""Spans before a gap whose size decides whether the gap is wide."""
_RAISED = re.compile(rf"(?:[\s\d,;.{re.escape(MARKS)}]|[a-z](?![a-z])){{1,8}}")


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


@dataclass(frozen=True, slots=True)
class _Span:
    text: str
    size: float
    bold: bool
    raised: bool
    box: Box
    baseline: float
    """Where its letters stand, from the top of the page in points."""
    is_measured: bool = False
    """Whether the size is a guess from the width of the glyphs."""


def stamps_of(page: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines that run up or down the page."""
    return tuple(
        plain_text("".join(str(span.get("text", "")) for span in line.get("spans", ())))
        for line in _lines(page)
        if abs(_direction(line)) < 0.1
    )


def blocks_of(page: Mapping[str, Any]) -> tuple[str, ...]:
    """The text of each block: its lines joined, hyphenated words made whole."""
    texts = []
    for block in page.get("blocks", ()):
        lines = (
            "".join(str(span.get("text", "")) for span in line.get("spans", ())) for line in block.get("lines", ())
        )
        texts.append(re.sub(r"(?<=[a-z])- (?=[a-z])", "", plain_text(" ".join(lines))))
    return tuple(filter(None, texts))


def segments_of(page: Mapping[str, Any]) -> tuple[Segment, ...]:
    """The horizontal text of a page from top to bottom, and from left to right on one line."""
    lines = []
    for line in _lines(page):
        spans = [span for span in map(_span, line.get("spans", ())) if span is not None]
        if _direction(line) > 0.9 and any(span.text.strip() for span in spans):
            lines.append(spans)
    rows: list[list[list[_Span]]] = []
    for spans in sorted(lines, key=_middle):
        if rows and abs(_middle(spans) - _middle(rows[-1][0])) < 0.35 * max(_size(spans), _size(rows[-1][0])):
            rows[-1].append(spans)
        else:
            rows.append([spans])
    return tuple(segment for row in rows for segment in _joined(sorted(row, key=lambda spans: spans[0].box[0])))


def body_size(segments: Sequence[Segment]) -> float:
    """The most common type size, in points; 10 without letters."""
    letters: Counter[float] = Counter()
    for segment in segments:
        letters[round(segment.size * 2) / 2] += len(segment.text)
    return max(letters.items(), key=lambda item: (item[1], item[0]))[0] if letters else 10.0


def _lines(page: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    lines = (line for block in page.get("blocks", ()) for line in block.get("lines", ()))
    return itertools.islice(lines, _MOST_LINES)


def _direction(line: Mapping[str, Any]) -> float:
    """Cosine of a line's angle."""
    return float(line.get("dir", (1.0, 0.0))[0])


def _span(span: Mapping[str, Any]) -> _Span | None:
    """A span that has text and a place, or None."""
    text = str(span.get("text", ""))
    left, top, right, bottom = (float(edge) for edge in span.get("bbox", (math.nan,) * 4))
    size = float(span.get("size", 0.0))
    if not text or not all(abs(value) < _FAR_PT for value in (left, top, right, bottom, size)):
        return None
    is_measured = False
    if size < _SMALLEST_PT:
        # These fonts have no names for their glyphs: the digits come as the characters 0 to 9, a dash as a brace.
        text = "".join(chr(ord(char) + 48) if char < "\n" else "–" if char == "{" else char for char in text)
        size = bottom - top
        if size < _SMALLEST_PT:
            size, is_measured = _measured(right - left, len(text)), True
    flags = int(span.get("flags", 0))
    box = (left, top, right, bottom)
    baseline = float(span.get("origin", (left, bottom))[1])
    return _Span(text, size, bool(flags & _BOLD), bool(flags & _SUPERSCRIPT), box, baseline, is_measured)


def _measured(width: float, letters: int) -> float:
    """The size of letters that are on average half as wide as high."""
    return round(2 * width / max(letters, 1) / _STEP_PT) * _STEP_PT or _STEP_PT


def _size(spans: Sequence[_Span]) -> float:
    """The largest size that a tenth of the letters have; single signs come from larger fonts."""
    letters: Counter[float] = Counter()
    for span in spans:
        letters[span.size] += sum(map(str.isalpha, span.text))
    if not letters.total():
        return max((span.size for span in spans if any(map(str.isalnum, span.text))), default=spans[0].size)
    return max(size for size, count in letters.items() if count >= 0.08 * letters.total())


def _middle(spans: Sequence[_Span]) -> float:
    return min(span.box[1] for span in spans) / 2 + max(span.box[3] for span in spans) / 2


def _joined(lines: Sequence[Sequence[_Span]]) -> Iterator[Segment]:
    """The segments of lines next to each other, joined where no more than a blank is between them."""
    held: list[_Span] = []
    for spans in lines:
        gap = spans[0].box[0] - held[-1].box[2] if held else 0.0
        size = _size([*held[-_NEAR:], *spans])
        if held and gap >= 0.8 * size:
            yield from _segments(held)
            held = []
        elif held and gap > 0.12 * size:
            held.append(_Span(" ", size, False, False, held[-1].box, held[-1].baseline))
        held.extend(spans)
    yield from _segments(held)


def _segments(spans: list[_Span]) -> Iterator[Segment]:
    size = _size(spans)
    if all(span.is_measured for span in spans if span.text.strip()):
        size = _measured(spans[-1].box[2] - spans[0].box[0], sum(len(span.text) for span in spans))
    words = [span for span in spans if any(map(str.isalpha, span.text))] or spans
    small = _is_small_caps(spans, size)
    parts, text = [""], ""
    for place, span in enumerate(spans):
        piece = span.text.lower() if small and span.size < 0.95 * size else span.text
        is_small = span.size < 0.8 * size and not span.is_measured
        raised = (span.raised or is_small) and not _is_lowered(span, words, size)
        if raised and _RAISED.fullmatch(span.text) and piece.strip():
            parts.append("")
            is_power = (
                piece.strip().isdigit() and spans[place + 1 : place + 2] and spans[place + 1].text[0] not in " ,;"
            )
            text += piece if is_power else " " if piece != piece.strip() else ""
        else:
            parts[-1] += piece
            text += piece
    box = (
        min(span.box[0] for span in spans),
        min(span.box[1] for span in spans),
        max(span.box[2] for span in spans),
        max(span.box[3] for span in spans),
    )
    plain = plain_text(text).rstrip(MARKS + " ")
    if plain:
        filled = tuple(filter(None, map(plain_text, parts)))
        bold_letters = sum(len(span.text) for span in words if span.bold)
        yield Segment(plain, filled, size, 2 * bold_letters > sum(len(span.text) for span in words), box)


def _is_lowered(span: _Span, words: Sequence[_Span], size: float) -> bool:
    """Whether a small span is an index below the line, as the 0 of an L0 norm is; footnote marks never are."""
    line = [word.baseline for word in words if word.size > 0.9 * size]
    return span.size < 0.9 * size and bool(line) and span.baseline > max(line) + 0.05 * size


def _is_small_caps(spans: Sequence[_Span], size: float) -> bool:
    """Whether capitals of two sizes stand for capitals and small letters."""
    letters = [span for span in spans if not span.raised and any(map(str.isalpha, span.text))]
    small = [span for span in letters if 0.65 * size < span.size < 0.9 * size]
    return (
        bool(small) and len(small) < len(letters) and not any(char.islower() for span in letters for char in span.text)
    )
