"""A view as a PNG: the same places, shapes and colours as on the page, drawn by PyMuPDF, which is here anyway."""

from __future__ import annotations

import math
import struct
import zlib
from typing import TYPE_CHECKING

from ragscience.graph.graph_records import CO_OCCURS
from ragscience.graph.map_data import View
from ragscience.graph.map_html import MADE_HERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pymupdf

__all__ = ["picture"]

WIDTH, HEIGHT, MARGIN, HEAD = 1600.0, 1150.0, 90.0, 54.0
MOST_LABELS = 140
_LINE_CHARS = 30
_INK, _DIM, _EDGE, _BACK = (0.11, 0.12, 0.13), (0.36, 0.39, 0.44), (0.49, 0.53, 0.59), (0.984, 0.984, 0.976)
_LOOKS = {
    "PAPER": ("page", "0072b2"),
    "CONCEPT": ("circle", "0072b2"),
    "METHOD": ("square", "e69f00"),
    "ALGORITHM": ("triangle", "009e73"),
    "DATASET": ("diamond", "b6568c"),
    "METRIC": ("hexagon", "d55e00"),
    "PERSON": ("star", "3a8fc4"),
    "ORGANISATION": ("pentagon", "8c6d1f"),
    "TASK": ("wedge", "5d6470"),
}
"""As in map_page/map.js."""
_CORNERS = {
    "triangle": (3, 0.0, 1.25),
    "diamond": (4, 0.0, 1.2),
    "hexagon": (6, 0.0, 1.05),
    "pentagon": (5, 0.0, 1.1),
    "wedge": (3, math.pi, 1.25),
    "star": (10, 0.0, 1.3),
}
Box = tuple[float, float, float, float]


def picture(view: View) -> bytes:
    """PNG, 1600 by 1150 pixels, with a legend; the texts of a paper are drawn, never read as anything else."""
    import pymupdf

    with pymupdf.open() as document:
        page = document.new_page(width=WIDTH, height=HEIGHT)
        page.draw_rect(page.rect, color=None, fill=_BACK)
        spots = _spots(view)
        _draw_edges(page, view, spots)
        shape = page.new_shape()
        for node, spot in sorted(zip(view.nodes, spots, strict=True), key=lambda pair: pair[0].degree):
            _draw_sign(shape, node.kind, *spot)
        shape.commit()
        writer = _Writer(page)
        _draw_labels(writer, view, spots)
        _draw_legend(page, writer, view)
        png: bytes = page.get_pixmap(alpha=False).tobytes("png")
    return _signed(png)


def _spots(view: View) -> list[tuple[float, float, float]]:
    """(x, y, radius) of each node, in points of the page."""
    if not view.nodes:
        return []
    left, right = _span([node.x for node in view.nodes])
    top, bottom = _span([node.y for node in view.nodes])
    scale = min((WIDTH - 2 * MARGIN) / max(right - left, 40), (HEIGHT - HEAD - 2 * MARGIN) / max(bottom - top, 40), 3)
    x, y = (left + right) / 2, (top + bottom) / 2
    return [
        (
            WIDTH / 2 + (node.x - x) * scale,
            HEAD + (HEIGHT - HEAD) / 2 + (node.y - y) * scale,
            max(2.0, node.radius * scale),
        )
        for node in view.nodes
    ]


def _span(values: list[float]) -> tuple[float, float]:
    """First and last, but for a few far ones of a large drawing."""
    ordered = sorted(values)
    cut = int(len(ordered) * 0.005)
    return ordered[cut], ordered[-1 - cut]


def _draw_edges(page: pymupdf.Page, view: View, spots: list[tuple[float, float, float]]) -> None:
    crowd = min(1.0, math.sqrt(400 / max(400, len(view.edges))))
    for weak, opacity, width in ((True, 0.12 + 0.28 * crowd, 0.8), (False, 0.25 + 0.45 * crowd, 1.2)):
        edges = [edge for edge in view.edges if (edge.kind == CO_OCCURS) is weak]
        if edges:
            shape = page.new_shape()
            for edge in edges:
                shape.draw_line(spots[edge.source][:2], spots[edge.target][:2])
            shape.finish(color=_EDGE, width=width, stroke_opacity=opacity)
            shape.commit()


def _draw_sign(shape: pymupdf.Shape, kind: str, x: float, y: float, r: float) -> None:
    import pymupdf

    form, colour = _LOOKS.get(kind, ("circle", "777777"))
    if form == "circle":
        shape.draw_circle((x, y), r)
    elif form in ("square", "page"):
        wide, high = (0.88, 0.88) if form == "square" else (0.8, 1.0)
        shape.draw_rect(pymupdf.Rect(x - r * wide, y - r * high, x + r * wide, y + r * high))
    else:
        shape.draw_polyline(list(_corners(form, x, y, r)))
    fill = tuple(int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4))
    shape.finish(color=_BACK, fill=fill, width=0.8, closePath=True)


def _corners(form: str, x: float, y: float, r: float) -> Iterator[tuple[float, float]]:
    count, turn, size = _CORNERS[form]
    for index in range(count):
        angle = turn - math.pi / 2 + index * 2 * math.pi / count
        reach = r * size * (0.5 if form == "star" and index % 2 else 1.0)
        yield x + reach * math.cos(angle), y + reach * math.sin(angle)


class _Writer:
    """Writes lines of text, in a font that has their characters."""

    def __init__(self, page: pymupdf.Page) -> None:
        import pymupdf

        self._page = page
        self._fonts = pymupdf.Font("helv"), pymupdf.Font("cjk")

    def _font(self, text: str) -> pymupdf.Font:
        return next((font for font in self._fonts if all(font.has_glyph(ord(char)) for char in text)), self._fonts[-1])

    def width(self, text: str, size: float) -> float:
        """In points."""
        return float(self._font(text).text_length(text, fontsize=size))

    def write(self, text: str, x: float, y: float, size: float, colour: tuple[float, float, float]) -> None:
        """One line, its baseline beginning at (x, y)."""
        import pymupdf

        writer = pymupdf.TextWriter(self._page.rect)
        writer.append((x, y), text, font=self._font(text), fontsize=size)
        writer.write_text(self._page, color=colour)

    def behind(self, box: Box) -> None:
        """The ground under a label, so that it can be read over lines."""
        self._page.draw_rect(box, color=None, fill=_BACK, fill_opacity=0.72)


def _draw_labels(writer: _Writer, view: View, spots: list[tuple[float, float, float]]) -> None:
    """Of the best connected nodes first; one that would cover another is left out."""
    taken: list[Box] = []
    order = sorted(range(len(view.nodes)), key=lambda index: (-view.nodes[index].degree, index))
    for index in order:
        x, y, r = spots[index]
        size = min(15.0, max(11.0, 9 + r * 0.3))
        lines = _lines(view.nodes[index].label)
        wide = max(writer.width(line, size) for line in lines) / 2
        box = (x - wide - 3, y + r * 1.25, x + wide + 3, y + r * 1.25 + len(lines) * (size + 2) + 2)
        inside = box[0] > 0 and box[2] < WIDTH and box[1] > HEAD and box[3] < HEIGHT
        if not inside or any(_overlap(box, other) for other in taken):
            continue
        taken.append(box)
        writer.behind(box)
        for row, line in enumerate(lines):
            left = x - writer.width(line, size) / 2
            writer.write(line, left, box[1] + size + row * (size + 2), size, _INK)
        if len(taken) == MOST_LABELS:
            return


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _lines(label: str) -> list[str]:
    """The label on at most two lines."""
    import textwrap

    shown = "".join(char if char.isprintable() else " " for char in label)
    lines = textwrap.wrap(shown, _LINE_CHARS, max_lines=2, placeholder=" …")
    return lines or ["?"]


def _draw_legend(page: pymupdf.Page, writer: _Writer, view: View) -> None:
    writer.write(view.name, 24, 36, 22, _INK)
    x = 24 + writer.width(view.name, 22) + 30
    for kind in sorted({node.kind for node in view.nodes}):
        count = sum(node.kind == kind for node in view.nodes)
        text = f"{kind.lower()} {count:,}"
        shape = page.new_shape()
        _draw_sign(shape, kind, x + 7, 29, 7)
        shape.commit()
        writer.write(text, x + 20, 34, 15, _INK)
        x += writer.width(text, 15) + 46
    if view.left_out:
        writer.write(view.left_out, 24, HEIGHT - 16, 13, _DIM)


def _signed(png: bytes) -> bytes:
    """The picture with a text of ours behind its head (PNG specification, 11.3.4.3 tEXt), which viewers do not show."""
    head = 8 + 25
    body = b"tEXtSoftware\0" + MADE_HERE
    told = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:head] + told + png[head:]
