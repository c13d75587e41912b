"""The positions of a page's lines: packed in a few hundred bytes per page, looked up by character range."""

from __future__ import annotations

import sqlite3
import struct
import unicodedata
import zlib
from collections.abc import Sequence
from typing import Literal

from ragscience.core.records import Box, Line, Page
from ragscience.library.row_checksums import CHECKED_COLUMNS, is_intact

__all__ = ["boxes_between", "pack_lines", "read_page", "unpack_lines"]

_STEPS = 10
"""Units per point: boxes are stored to a tenth of a point, 0.04 mm."""
_COLUMNS = 6
_LIMIT = 2**31 - 1
_RIGHT_TO_LEFT = {"R", "AL"}
_USUAL, _WIDE = 0.5, 0.7
"""Widths of a letter and of a capital, in font sizes."""
_WIDTHS = dict.fromkeys(" .,;:!'|()[]/-ijltfrI’‘`", 0.3) | dict.fromkeys("mwMW—%@", 0.85)
"""Widths of letters that are much narrower or wider, as in the common text fonts."""


def pack_lines(lines: Sequence[Line], page_start: int) -> bytes:
    """The lines as zlib over little-endian int32, all starts, then all ends, lefts, tops, rights and bottoms.

    Each start is relative to the end of the line before it, each end to its start, so that most numbers are small.
    Empty for no lines.
    """
    if not lines:
        return b""
    before = [page_start, *(line.end for line in lines[:-1])]
    columns = [
        [line.start - end for line, end in zip(lines, before, strict=True)],
        [line.end - line.start for line in lines],
        *([round(line.box[side] * _STEPS) for line in lines] for side in range(4)),
    ]
    numbers = [max(-_LIMIT, min(_LIMIT, number)) for column in columns for number in column]
    return zlib.compress(struct.pack(f"<{len(numbers)}i", *numbers))


def unpack_lines(packed: bytes, page_start: int) -> tuple[Line, ...]:
    """The inverse of `pack_lines`, boxes to a tenth of a point; empty for invalid bytes."""
    if not packed:
        return ()
    try:
        raw = zlib.decompress(packed)
        numbers = struct.unpack(f"<{len(raw) // 4}i", raw)
    except (zlib.error, struct.error):
        return ()
    count = len(numbers) // _COLUMNS
    starts, lengths, *sides = (numbers[column * count : (column + 1) * count] for column in range(_COLUMNS))
    lines, end = [], page_start
    for start, length, left, top, right, bottom in zip(starts, lengths, *sides, strict=True):
        start, end = end + start, end + start + length
        lines.append(Line(start, end, (left / _STEPS, top / _STEPS, right / _STEPS, bottom / _STEPS)))
    return tuple(lines)


def read_page(db: sqlite3.Connection, paper_id: int, number: int) -> tuple[Page, str] | Literal["damaged"] | None:
    """A page with its lines, headers and footers, and text; None if there is no such page.

    "damaged" if its row is not what was written, or is lost.
    """
    columns = ", ".join(f'"{name}"' for name in CHECKED_COLUMNS["pages"]["checksum"])
    query = f"SELECT {columns}, checksum FROM pages WHERE paper_id = ? AND number = ?"  # noqa: S608  # ours
    row = db.execute(query, (paper_id, number)).fetchone()
    if row is None:
        last = db.execute("SELECT pages FROM papers WHERE paper_id = ?", (paper_id,)).fetchone()
        return "damaged" if last and not (isinstance(last[0], int) and not 1 <= number <= last[0]) else None
    if not is_intact(row):
        return "damaged"
    _, _, start, end, warning, text, packed, furniture, _ = row
    return Page(number, start, end, warning, unpack_lines(packed, start), furniture), str(text)


def boxes_between(page: Page, text: str, start: int, end: int) -> tuple[Box, ...]:
    """The boxes of characters `start` to `end` of the document on `page`, whose text is `text`: one per line.

    The box of a partly covered line is cut by the usual widths of its letters, a letter wider on both sides since fonts
    differ; a vertical or right-to-left line is kept whole.
    """
    boxes = []
    for line in page.lines:
        first, last = max(start, line.start), min(end, line.end)
        if first < last and text[first - page.start : last - page.start].strip():
            words = text[line.start - page.start : line.end - page.start]
            boxes.append(_part(line.box, words, first - line.start, last - line.start))
    return tuple(boxes)


def _part(box: Box, words: str, first: int, last: int) -> Box:
    """The box of `words[first:last]` in the box of `words`, in points."""
    left, top, right, bottom = box
    wide = right - left
    if wide < bottom - top or any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in words):
        return box
    widths = [_WIDTHS.get(letter, _WIDE if letter.isupper() else _USUAL) for letter in words]
    each = wide / sum(widths)
    low = left if first == 0 else max(left, left + (sum(widths[:first]) - _USUAL) * each)
    high = right if last == len(words) else min(right, left + (sum(widths[:last]) + _USUAL) * each)
    return round(low, 1), top, round(high, 1), bottom
