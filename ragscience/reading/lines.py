"""A page becomes its text and its lines: each with the box in which it stands on the page as it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragscience.reading.cleaning import clean_text
from ragscience.records import Box, Line

__all__ = ["read_lines"]

_MOST_CHARACTERS = 200_000
"""Of a page whose lines are placed. Printed pages stay below 20,000; drawings and tricks may have millions, and their
lines would cost more memory than their text."""


def read_lines(page: Any, failures: tuple[type[Exception], ...]) -> tuple[str, tuple[Line, ...]]:
    """The clean text of a `pymupdf.Page`, in the order in which the file draws it, and where its lines stand in both.

    Offsets count from the beginning of that text, which has no newlines at its end. Raises what PyMuPDF raises for the
    text; where only the lines fail, with one of `failures`, there are none.
    """
    import pymupdf

    textpage = page.get_textpage(flags=pymupdf.TEXTFLAGS_TEXT)
    text = clean_text(textpage.extractText()).rstrip("\n")
    if not text.strip() or len(text) > _MOST_CHARACTERS:
        return text, ()
    try:
        drawn = _drawn_lines(page, textpage.extractDICT())
    except failures:
        return text, ()
    return text, tuple(_placed(text, drawn))


def _drawn_lines(page: Any, content: dict[str, Any]) -> list[tuple[str, Box]]:
    """The clean text of each line with its box, in the order of the text; a line off the page has a box of no area.

    A text page is always unrotated: its coordinates are turned as the page is.
    """
    width, height = page.rect.width, page.rect.height
    turn = tuple(page.rotation_matrix) if page.rotation else None
    drawn = []
    for block in content["blocks"]:
        for line in block["lines"]:
            spans = line["spans"]
            text = spans[0]["text"] if len(spans) == 1 else "".join([span["text"] for span in spans])
            if not text.isprintable():
                text = clean_text(text).strip("\n")
            left, top, right, bottom = _turned(line["bbox"], turn) if turn else line["bbox"]
            # A tenth of a point, 0.04 mm, is as exact as a box can be seen.
            low = round(left if left > 0 else 0.0, 1), round(top if top > 0 else 0.0, 1)
            high = round(right if right < width else width, 1), round(bottom if bottom < height else height, 1)
            drawn.append((text, (*low, *high)))
    return drawn


def _turned(box: Box, matrix: tuple[float, ...]) -> Box:
    """The box after a turn by a multiple of 90 degrees, as a PDF's matrix a, b, c, d, e, f."""
    left, top, right, bottom = box
    a, b, c, d, e, f = matrix
    x0, x1 = sorted((left * a + top * c + e, right * a + bottom * c + e))
    y0, y1 = sorted((left * b + top * d + f, right * b + bottom * d + f))
    return x0, y0, x1, y1


def _placed(text: str, drawn: list[tuple[str, Box]]) -> Iterator[Line]:
    """The lines in which `text` is drawn, found one behind the other, as far as they are the text."""
    at = 0
    for line, box in drawn:
        while text.startswith("\n", at):
            at += 1
        if not text.startswith(line, at):
            return
        left, top, right, bottom = box
        if left < right and top < bottom and line.strip():
            yield Line(at, at + len(line), box)
        at += len(line)
