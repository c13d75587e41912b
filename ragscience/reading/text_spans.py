"""The pieces of text on a page with their fonts and places, and the boxes of rules and drawings.

A piece is a line of PyMuPDF: text without a wide gap. Its coordinates are those of a frame in which it reads from left
to right; `TextPiece.turn` says how that frame is rotated on the page.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ragscience.core.records import Box
from ragscience.reading.text_cleaning import clean_span

ASCENT, DESCENT = 0.78, 0.22
"""How far letters reach above and below their base line, in font sizes, whatever the font declares."""
AXIS = 0.25
"""How far above their base line letters have the middle of brackets, sums and fractions, in font sizes."""
LARGE = frozenset("∑∏∐∫∮⋃⋂⨁⨂⨀⋁⋀⨆")
"""Signs that TeX has in two sizes."""
_HANGS = re.compile(r"(?:cm|lm|tx|px|mt|eu)ex|zplm\w*ex|mathext|extension|mnsymbole", re.IGNORECASE)
"""Fonts of large symbols, which hang down from their origin as in TeX's font cmex10."""
_HEIGHTS = {"(": (0.458, 0.139), "[": (0.417, 0.055), "{": (0.583, 0.083), "⟨": (0.472, 0.069), "⌊": (0.472, 0.056)}
"""(width of a bracket 1.2 times as high as the font size, how much wider each .6 of height makes it), in cmex10."""
_TWINS = {")": "(", "]": "[", "}": "{", "⟩": "⟨", "⌋": "⌊", "⌈": "⌊", "⌉": "⌊"}
_BRACKETS = frozenset("()[]{}⟨⟩⌊⌋⌈⌉|‖∥∣")

_MOST_PIECES = 4000
"""On a page with a layout. Printed pages have fewer than 1,500; drawings with a label per point may have millions."""
_BLANK = 0.13
"""In font sizes: on a page with a table every word is a piece, as columns may be as near as words."""
_LEAST_SIZE = 2.0
"""Points: readable text is not smaller."""
_SHORTEST_RULE = 12.0
"""Points: shorter lines belong to figures and letters, unless several make one rule."""
_FARTHEST = 20_000.0
"""Points from the page's corner: text farther away is not on the page, or its place is not a number."""
_BOLD = re.compile(r"bold|black|heavy|demi|medi(?!ev)|cmb(x|sy|csc)|cmssbx|[-,]bd", re.IGNORECASE)
_ITALIC = re.compile(r"ital|obli|slant|cmti|cmsl|-it$", re.IGNORECASE)
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_ITALIC_FLAG, _BOLD_FLAG = 2, 16


@dataclass(frozen=True, slots=True)
class Span:
    """Text in one font."""

    text: str
    x0: float
    x1: float
    base: float
    size: float
    font: str
    bold: bool
    italic: bool


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text on one base line without a wide gap."""

    spans: tuple[Span, ...]
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    """Of most of its characters, in points."""
    turn: int
    """Quarter turns clockwise of the frame on the page: 0 for upright text."""
    number: int
    """Its index in the file's order."""
    is_rtl: bool = False

    @property
    def text(self) -> str:
        """Its spans' texts, end to end."""
        spans = self.spans
        return spans[0].text if len(spans) == 1 else "".join([span.text for span in spans])


@dataclass(frozen=True, slots=True)
class PageSpans:
    """The text of a page as the file has it."""

    width: float
    height: float
    pieces: tuple[TextPiece, ...]
    plain: str
    """The clean text in the file's order, a line for each piece."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """How a page is shown: the matrix of its rotation, if any, and its size as shown."""

    matrix: tuple[float, ...] | None
    width: float
    height: float

    def turn_of(self, direction: tuple[float, float]) -> int:
        """The quarter turns clockwise of text in that direction of the unrotated page."""
        x, y = direction
        if not (math.isfinite(x) and math.isfinite(y)):
            return 0
        if self.matrix:
            a, b, c, d, *_ = self.matrix
            x, y = x * a + y * c, x * b + y * d
        if abs(x) >= abs(y):
            return 0 if x >= 0 else 2
        return 1 if y > 0 else 3

    def upright(self, box: Box, turn: int) -> Box:
        """A box of the unrotated page in the frame in which text of that turn reads from left to right."""
        x0, y0, x1, y1 = box
        if self.matrix:
            a, b, c, d, e, f = self.matrix
            x0, y0, x1, y1 = x0 * a + y0 * c + e, x0 * b + y0 * d + f, x1 * a + y1 * c + e, x1 * b + y1 * d + f
        if turn == 1:
            x0, y0, x1, y1 = y0, self.width - x0, y1, self.width - x1
        elif turn == 2:
            x0, y0, x1, y1 = self.width - x0, self.height - y0, self.width - x1, self.height - y1
        elif turn == 3:
            x0, y0, x1, y1 = self.height - y0, x0, self.height - y1, x1
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def read_spans(page: Any, lines: Sequence[dict[str, Any]], plain: str, *, has_tables: bool) -> PageSpans:
    """The pieces of the lines of a `pymupdf.Page`; none where there are too many, or where places are not numbers.

    A line of PyMuPDF may span two cells of a table: with `has_tables` lines are split at each blank, which needs the
    box of every character: the lines of `extractRAWDICT`, which take about twice the time of `extractDICT`.
    """
    width, height = float(page.rect.width), float(page.rect.height)
    frame = _Frame(tuple(page.rotation_matrix) if page.rotation else None, width, height)
    if has_tables:
        lines = [part for line in lines for part in _split_at_blanks(line)]
    if len(lines) > _MOST_PIECES:
        return PageSpans(width, height, (), plain)
    sizes = _lost_sizes(lines)
    pieces: list[TextPiece] = []
    for line in lines:
        piece = _piece(line, frame, sizes, len(pieces))
        if piece is not None:
            pieces.append(piece)
    return PageSpans(width, height, _without_shadows(pieces), plain)


def _split_at_blanks(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A raw line, which has characters with boxes, as lines of spans without a wide blank."""
    along = _axis(line)
    sign = 1 if line["dir"][along] >= 0 else -1
    parts: list[list[dict[str, Any]]] = [[]]
    end: float | None = None
    for span in line["spans"]:
        chars: list[Any] = []
        for char in span["chars"]:
            if char["c"].isspace():
                chars.append(char)
                continue
            box = char["bbox"]
            start, stop = (box[along], box[along + 2]) if sign > 0 else (-box[along + 2], -box[along])
            if end is not None and start - end > _BLANK * span["size"]:
                if chars:
                    parts[-1].append(_span_of(span, chars))
                parts.append([])
                chars = []
            chars.append(char)
            end = stop
        if chars:
            parts[-1].append(_span_of(span, chars))
    for spans in parts:
        yield {"dir": line["dir"], "spans": spans}


def _axis(line: dict[str, Any]) -> int:
    """0 for a line along x, 1 along y."""
    x, y = line["dir"]
    return 0 if abs(x) >= abs(y) else 1


def _span_of(span: dict[str, Any], chars: list[Any]) -> dict[str, Any]:
    box = box_around([char["bbox"] for char in chars if not char["c"].isspace()] or [chars[0]["bbox"]])
    return {**span, "text": "".join([char["c"] for char in chars]), "bbox": box, "origin": chars[0]["origin"]}


def _without_shadows(pieces: Iterable[TextPiece]) -> tuple[TextPiece, ...]:
    """The pieces, each once if it is drawn again at the same place, as some programs do for bold type."""
    first: dict[tuple[str, int, int], TextPiece] = {}
    for piece in pieces:
        first.setdefault((piece.text, round(piece.x0), round(piece.base)), piece)
    return tuple(first.values())


def _lost_sizes(lines: Sequence[dict[str, Any]]) -> dict[str, float]:
    """A size in points, twice the mean width of a letter, for each font whose glyphs have no height."""
    widths: dict[str, tuple[float, int]] = {}
    for line in lines:
        along = _axis(line)
        for span in line["spans"]:
            box = span["bbox"]
            width, height = box[2 + along] - box[along], box[3 - along] - box[1 - along]
            if span["size"] < _LEAST_SIZE and height < _LEAST_SIZE and abs(width) < _FARTHEST:
                total, count = widths.get(span["font"], (0.0, 0))
                widths[span["font"]] = total + width, count + len(span["text"])
    return {font: round(4 * total / count) / 2 for font, (total, count) in widths.items() if count}


def _piece(line: dict[str, Any], frame: _Frame, sizes: dict[str, float], number: int) -> TextPiece | None:
    turn = frame.turn_of(line["dir"])
    is_plain = turn == 0 and frame.matrix is None
    spans: list[Span] = []
    weights: dict[tuple[float, float], int] = {}
    for raw in line["spans"]:
        text = clean_span(raw["text"])
        if not text:
            continue
        box, (origin_x, base) = raw["bbox"], raw["origin"]
        if not is_plain:
            base = frame.upright((origin_x, base, origin_x, base), turn)[1]
            box = frame.upright(box, turn)
        x0, y0, x1, y1 = box
        if not (-_FARTHEST < x0 <= x1 < _FARTHEST and -_FARTHEST < y0 <= y1 < _FARTHEST and abs(base) < _FARTHEST):
            return None
        hangs = hanging_height(text.strip()[:1], (x1 - x0) / len(text), raw["size"], raw["font"])
        size = type_size(raw, y1 - y0, sizes)
        base += hangs / 2 + AXIS * size if hangs else 0.0
        is_blank = text.isspace()
        if not is_blank:
            weights[size, base] = weights.get((size, base), 0) + len(text)
        font, bold, italic = _font_of(raw["font"], raw["flags"] & (_BOLD_FLAG | _ITALIC_FLAG))
        last = spans[-1] if spans else None
        if last and last.font == font and abs(last.size - size) < 0.3 and abs(last.base - base) < 0.2:
            end = last.x1 if is_blank else x1
            spans[-1] = Span(last.text + text, last.x0, end, last.base, last.size, font, last.bold, last.italic)
        else:
            spans.append(Span(text, x0, x1, base, size, font, bold, italic))
    if not weights:
        return None
    size, base = max(weights, key=weights.__getitem__)
    inked = [span for span in spans if not span.text.isspace()]
    x0, x1 = min([span.x0 for span in inked]), max([span.x1 for span in inked])
    whole = "".join([span.text for span in inked])
    is_rtl = not whole.isascii() and sum(map(_is_rtl, whole)) > 0.5 * len(whole)
    return TextPiece(
        tuple(spans), x0, base - ASCENT * size, x1, base + DESCENT * size, base, size, turn, number, is_rtl
    )


def hanging_height(text: str, width: float, size: float, font: str) -> float:
    """The height of a large sign or bracket that hangs down from its origin, by its width in points; 0 for others."""
    if not (text in LARGE or text in _BRACKETS or text == "√") or not _HANGS.search(font):
        return 0.0
    width /= size
    if text in "∫∮":
        return size * (2.2 if width > 0.52 else 1.1)
    if text in LARGE:
        return size * (1.4 if width > 1.2 else 1.0)
    least, step = _HEIGHTS.get(_TWINS.get(text, text), (9.0, 1.0))
    return size * (1.2 + 0.6 * max(0, round((width - least) / step)))


def type_size(raw: dict[str, Any], drawn: float, sizes: dict[str, float]) -> float:
    """The type size of a span in points; `drawn` is the height of its box."""
    size = float(raw["size"])
    if drawn > 0 and not 0.4 * size <= drawn <= 3 * size and not _HANGS.search(raw["font"]):
        # The size of a bitmap font (Type 3) is the scale of its glyphs, not their height.
        size = drawn
    if size < _LEAST_SIZE:
        size = sizes.get(raw["font"], size)
    return max(round(size, 1), 1.0)


@lru_cache(maxsize=1024)
def _font_of(name: str, flags: int) -> tuple[str, bool, bool]:
    """A font's name without its subset tag, and whether it is bold and italic."""
    font = _SUBSET.sub("", name)
    return font, bool(flags & _BOLD_FLAG or _BOLD.search(font)), bool(flags & _ITALIC_FLAG or _ITALIC.search(font))


def _is_rtl(character: str) -> bool:
    return "\u0590" <= character <= "\u08ff" or "\ufb1d" <= character <= "\ufdff" or "\ufe70" <= character <= "\ufefc"


def box_around(boxes: Iterable[Box]) -> Box:
    """The smallest box that contains at least one box."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def box_on_page(box: Box, turn: int, width: float, height: float) -> Box:
    """A box of that frame on the page as it is shown, clipped to the page, in tenths of a point."""
    x0, y0, x1, y1 = box
    if turn == 1:
        x0, y0, x1, y1 = width - y0, x0, width - y1, x1
    elif turn == 2:
        x0, y0, x1, y1 = width - x0, height - y0, width - x1, height - y1
    elif turn == 3:
        x0, y0, x1, y1 = y0, height - x0, y1, height - x1
    left, right = sorted(min(max(x, 0.0), width) for x in (x0, x1))
    top, bottom = sorted(min(max(y, 0.0), height) for y in (y0, y1))
    return round(left, 1), round(top, 1), round(right, 1), round(bottom, 1)


def rule_boxes(page: Any, log: Sequence[tuple[str, Box]]) -> tuple[list[Box], list[Box]]:
    """The boxes of rules (thin lines), and of drawings and pictures, on a `pymupdf.Page` as it is shown.

    `log` is what `page.get_bboxlog()` gives.
    """
    width, height = float(page.rect.width), float(page.rect.height)
    frame = _Frame(tuple(page.rotation_matrix) if page.rotation else None, width, height)
    rules: list[Box] = []
    drawings: list[Box] = []
    parts: list[Box] = []
    for kind, box in log:
        if "text" in kind or "clip" in kind:
            continue
        x0, y0, x1, y1 = frame.upright(box, 0)
        if not all(abs(value) < _FARTHEST for value in (x0, y0, x1, y1)):
            continue
        if min(x1 - x0, y1 - y0) <= 3.5:
            if max(x1 - x0, y1 - y0) >= _SHORTEST_RULE:
                rules.append((x0, y0, x1, y1))
            elif y1 - y0 >= 5 and x1 - x0 <= 1.5:
                parts.append((x0, y0, x1, y1))
        elif (x1 - x0) * (y1 - y0) < 0.8 * width * height:
            drawings.append((x0, y0, x1, y1))
    return [*rules, *_joined_uprights(parts)], drawings


def _joined_uprights(parts: Sequence[Box]) -> list[Box]:
    """The vertical rules that short lines make, each drawn next to one row of a table, end to end."""
    joined: list[Box] = []
    for x0, y0, x1, y1 in sorted(parts, key=lambda box: (round(box[0]), box[1])):
        last = joined[-1] if joined else None
        if last and abs(x0 - last[0]) < 0.5 and abs(y0 - last[3]) < 1.5:
            joined[-1] = (last[0], last[1], last[2], max(last[3], y1))
        else:
            joined.append((x0, y0, x1, y1))
    return [box for box in joined if box[3] - box[1] >= _SHORTEST_RULE]
