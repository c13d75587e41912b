"""Text that a page has and does not show: white on white, invisible, covered or of no size.

Nobody reads it, so it is not the author's word to a reader. The words that OCR put behind the picture of a page are
invisible, too, and are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ragscience.core.records import Box
from ragscience.reading.pymupdf_errors import failures, raise_if_out_of_memory

__all__ = ["hidden_places", "place_of"]

Log = Sequence[tuple[str, Box]]

_DRAWN = 16 | 32
"""The flags of a character that is filled or stroked (FZ_STEXT_FILLED, FZ_STEXT_STROKED)."""
_WHITE = 0xF0
"""The least value of each of red, green and blue."""
_LEAST_POINTS = 0.5
"""The width of a character and the height of its line that somebody can see."""
_FILLS = re.compile(rb"(?<![^\s\])>}])(?:f\*?|F|B\*?|b\*?|Do|sh)(?![^\s\[(</%])")
"""The operators that fill a path, paint a shading or draw a form or picture (PDF 1.7 reference, appendix A)."""
_DOTS_PER_INCH, _MOST_DOTS = 100, 10_000_000
_LEAST_COVER, _MOST_COVERS = 12.0, 300
"""Points of width of a drawing that may cover text, and how many on a page are looked at."""


def hidden_places(page: Any, lines: Sequence[dict[str, Any]], read_log: Callable[[], Log]) -> frozenset[Box]:
    """The boxes of the spans of a `pymupdf.Page` that nobody sees; `place_of` gives that of a span.

    `lines` are those of `extractDICT`. `read_log` gives what `page.get_bboxlog()` does: what was drawn, in its order.
    It is called where a span is faint or the page fills areas, as it takes as long as the page's text.
    """
    spans = [span for line in lines for span in line["spans"] if span["text"].strip()]
    faint = {place_of(span) for span in spans if _is_faint(span)}
    if not faint and not _may_fill(page):
        return frozenset()
    log = read_log()
    covers, pictures = _covers(log), [box for kind, box in log if "image" in kind]
    doubtful = faint | {place_of(span) for span in spans if _is_covered(span["bbox"], covers)}
    if not doubtful:
        return frozenset()
    shown = [span["bbox"] for span in spans if place_of(span) not in doubtful]
    drawn = _Drawn(page)
    return frozenset(
        place_of(span) for span in spans if place_of(span) in doubtful and _is_hidden(span, pictures, shown, drawn)
    )


def place_of(span: dict[str, Any]) -> Box:
    """The box of a span of `extractDICT` or `extractRAWDICT`."""
    return tuple(span["bbox"])


def _may_fill(page: Any) -> bool:
    """Whether a page may fill areas: by its own operators, or by what it refers to."""
    try:
        return bool(_FILLS.search(page.read_contents()) or page.first_widget)
    except failures() as error:
        # Its operators are damaged or missing: MuPDF draws what it can.
        raise_if_out_of_memory(error)
        return True


def _is_faint(span: dict[str, Any]) -> bool:
    color = span["color"]
    return bool(
        not span["char_flags"] & _DRAWN
        or span["alpha"] == 0
        or min(color >> 16 & 0xFF, color >> 8 & 0xFF, color & 0xFF) >= _WHITE
        or _is_tiny(span)
    )


def _is_tiny(span: dict[str, Any]) -> bool:
    x0, y0, x1, y1 = span["bbox"]
    return bool(max(x1 - x0, y1 - y0) < _LEAST_POINTS * len(span["text"]) and min(x1 - x0, y1 - y0) < _LEAST_POINTS)


def _is_hidden(span: dict[str, Any], pictures: Sequence[Box], shown: Sequence[Box], drawn: _Drawn) -> bool:
    box = span["bbox"]
    if not span["char_flags"] & _DRAWN or span["alpha"] == 0:
        if any(_share(box, picture) > 0.5 for picture in pictures):
            return False
        return any(_share(box, other) > 0.5 for other in shown) or not drawn.has_ink(box)
    return _is_tiny(span) or not drawn.has_ink(box)


def _covers(log: Sequence[tuple[str, Box]]) -> list[Box]:
    """The boxes of what was filled over text that was drawn before; pictures are left out: OCR has its words below."""
    texts: list[Box] = []
    found: list[Box] = []
    for kind, box in log:
        if kind in ("fill-text", "stroke-text"):
            if box[0] < box[2] and box[1] < box[3]:
                texts.append(box)
        elif kind == "fill-path" and len(found) < _MOST_COVERS:
            is_large = box[2] - box[0] > _LEAST_COVER and box[3] - box[1] > _LEAST_COVER / 2
            if is_large and _is_above_any(box, texts):
                found.append(box)
    return found


def _is_above_any(box: Box, texts: Sequence[Box]) -> bool:
    left, top, right, bottom = box
    return any(x0 < right and left < x1 and y0 < bottom and top < y1 for x0, y0, x1, y1 in texts)


def _is_covered(box: Box, covers: Sequence[Box]) -> bool:
    x0, y0, x1, y1 = box
    for left, top, right, bottom in covers:
        if x0 < right and left < x1 and y0 < bottom and top < y1 and _share(box, (left, top, right, bottom)) > 0.9:
            return True
    return False


def _share(box: Box, other: Box) -> float:
    """The share of a box that is in the other one."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return width * height / area if width > 0 and height > 0 and area > 0 else 0.0


class _Drawn:
    """The picture of a page, made when it is first asked for."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._picture: Any = None

    def has_ink(self, box: Box) -> bool:
        """Whether more than one colour is in a box of the unrotated page."""
        import pymupdf

        if self._picture is None:
            area = max(self._page.rect.width * self._page.rect.height / 72**2, 1e-3)
            dots = max(1, min(_DOTS_PER_INCH, int((_MOST_DOTS / area) ** 0.5)))
            self._picture = self._page.get_pixmap(dpi=dots, colorspace=pymupdf.csRGB, alpha=False)
            self._scale = dots / 72
        x0, y0, x1, y1 = pymupdf.Rect(box) * self._page.rotation_matrix
        inside = pymupdf.IRect(pymupdf.Rect(x0, y0, x1, y1) * self._scale) & self._picture.irect
        if inside.is_empty:
            return False
        part = pymupdf.Pixmap(pymupdf.csRGB, inside, False)
        part.copy(self._picture, inside)
        return not part.is_unicolor
