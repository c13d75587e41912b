"""Draws papers/sample/ragscience.pdf from tools/sample_paper.txt, byte for byte the same each time.

python tools/make_sample.py [TARGET]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pymupdf
from typeset import (
    COLUMN_WIDTH,
    LEADING,
    MARGIN,
    PAGE_WIDTH,
    Box,
    Paper,
    Run,
    break_lines,
    fraction,
    math,
    operator,
    row,
    words_of,
)

SOURCE = Path(__file__).with_name("sample_paper.txt")
TARGET = Path(__file__).parents[1] / "papers" / "sample" / "ragscience.pdf"
WRITTEN = "D:20260101000000Z"
SMALL = 7.5
CAPTION_SIZE = 9.0
BOX_HEIGHT, BOX_STEP = 24.0, 44.0


def scaled(letter: str) -> Box:
    """A score brought to the range from 0 to 1."""
    return fraction(math(f"*{letter}*(*d*) − min *{letter}*"), math(f"max *{letter}* − min *{letter}*"))


def sum_over(members: str) -> Box:
    """A sum sign with its range."""
    return operator(math("∑", 16), math(members, SMALL))


def formulas() -> dict[str, Box]:
    """The numbered formulas of the paper, by their names in the source."""
    relative_length = fraction(math("|*d*|"), math("avgdl"))
    saturation = row(math("*f*(*t*, *d*) + *k*_{1} (1 − *b* + *b* "), relative_length, math(")"))
    occurrences = fraction(math("*f*(*t*, *d*) (*k*_{1} + 1)"), saturation)
    rarity = fraction(math("*N* − *n*(*t*) + 0.5"), math("*n*(*t*) + 0.5"))
    rank = math("60 + *r*_{i}(*d*)")
    best = operator(math("max"), math("*p* ∈ *P*", SMALL))
    return {
        "bm25": row(math("*s*(*q*, *d*) = "), sum_over("*t* ∈ *q*"), math("idf(*t*) "), occurrences),
        "idf": row(math("idf(*t*) = ln "), rarity),
        "fusion": row(math("*s*(*d*) = 0.7 "), scaled("x"), math(" + 0.3 "), scaled("y")),
        "rrf": row(math("*s*(*d*) = "), sum_over("*i*"), fraction(math("1"), rank)),
        "maxsim": row(
            math("*s*(*Q*, *P*) = "),
            fraction(math("1"), math("|*Q*|")),
            sum_over("*q* ∈ *Q*"),
            math("  "),
            best,
            math("  *q* · *p*"),
        ),
    }


def set_caption(paper: Paper, lines: Sequence[Any], x: float, y: float) -> None:
    """Sets a caption's lines below y."""
    for number, words in enumerate(lines):
        last = number == len(lines) - 1
        paper.set_line(words, x, y + number * 11.5, None if last else COLUMN_WIDTH)


def arrow(paper: Paper, *points: tuple[float, float]) -> None:
    """A line through the points, with a head at the last."""
    for start, end in pairwise(points):
        paper.line(*start, *end, 0.7)
    (x0, y0), (x, y) = points[-2:]
    dx, dy = (0.0, 1.0) if y > y0 else (1.0, 0.0)
    if x0 != x and y0 != y:
        raise ValueError("the last part of an arrow runs along an axis")
    wings = [(x, y), (x - 5 * dx - 2.4 * dy, y - 5 * dy - 2.4 * dx), (x - 5 * dx + 2.4 * dy, y - 5 * dy + 2.4 * dx)]
    paper.page.draw_polyline(wings, closePath=True, fill=(0, 0, 0), width=0.3)


def draw_flow(paper: Paper, caption: str) -> None:
    """The figure: a file's way down the left, a question's way down the right, the store between them."""
    sides = (
        (("PDF file", ""), ("reading", "Document"), ("chunking", "Chunks"), ("embedder", "vectors"), ("store", "")),
        (
            ("question", ""),
            ("retrieval", "Hits"),
            ("reranker", "Hits"),
            ("answering", "Answer"),
            ("terminal, JSON", ""),
        ),
    )
    lines = break_lines(words_of(caption, size=CAPTION_SIZE), COLUMN_WIDTH)
    box_width, drawing = 84.0, 4 * BOX_STEP + BOX_HEIGHT

    def draw(x: float, y: float) -> None:
        top = y + 10
        for side, boxes in enumerate(sides):
            left = x + side * (COLUMN_WIDTH - box_width)
            middle = left + box_width / 2
            for number, (name, passes) in enumerate(boxes):
                upper = top + number * BOX_STEP
                ends = number in (0, 4)
                frame = pymupdf.Rect(left, upper, left + box_width, upper + BOX_HEIGHT)
                shade = (1, 1, 1) if ends and name != "store" else (0.93, 0.94, 0.96)
                paper.page.draw_rect(frame, fill=shade, width=0.7, radius=0.15)
                paper.centred(Run(name, "sans-bold" if name == "store" else "sans", 8.5), middle, upper + 15)
                if number < len(boxes) - 1:
                    arrow(paper, (middle, upper + BOX_HEIGHT), (middle, upper + BOX_STEP))
                if passes:
                    paper.text(middle + 6, upper + BOX_HEIGHT + 12.5, Run(passes, "italic", 8))
        store_y, retrieval_y = (top + number * BOX_STEP + BOX_HEIGHT / 2 for number in (4, 1))
        gutter = x + COLUMN_WIDTH / 2
        right = x + COLUMN_WIDTH - box_width
        arrow(paper, (x + box_width, store_y), (gutter, store_y), (gutter, retrieval_y), (right, retrieval_y))
        set_caption(paper, lines, x, top + drawing + 18)

    paper.block(10 + drawing + 18 + 11.5 * len(lines) + 8, draw)


def draw_table(paper: Paper, widths: Sequence[float], caption: str, rows: Sequence[str]) -> None:
    """A table with a rule above, below and under its head; the last column takes the width that the others leave."""
    size, step, between = 9.0, 14.0, 5.0
    widths = [*widths, COLUMN_WIDTH - sum(widths) - between * len(widths)]
    starts = [sum(widths[:column]) + between * column for column in range(len(widths))]
    lines = break_lines(words_of(caption, size=CAPTION_SIZE), COLUMN_WIDTH)
    cells = [[cell.strip() for cell in row_.split("|")] for row_ in rows]
    wrapped = [[break_lines(words_of(c, size=size), w) for c, w in zip(r, widths, strict=True)] for r in cells]
    heights = [max(len(cell) for cell in row_) * 10.8 + (step - 10.8) for row_ in wrapped]

    def draw(x: float, y: float) -> None:
        set_caption(paper, lines, x, y + 18)
        line_y = y + 18 + 11.5 * len(lines) - 4
        paper.line(x, line_y, x + COLUMN_WIDTH, line_y, 0.9)
        for number, (row_, height) in enumerate(zip(wrapped, heights, strict=True)):
            for start, cell in zip(starts, row_, strict=True):
                for below, words in enumerate(cell):
                    bold = [tuple(Run(run.text, "bold", size) for run in word) for word in words]
                    paper.set_line(words if number else bold, x + start, line_y + 11 + below * 10.8, None)
            line_y += height
            if number == 0:
                paper.line(x, line_y, x + COLUMN_WIDTH, line_y, 0.4)
        paper.line(x, line_y + 2, x + COLUMN_WIDTH, line_y + 2, 0.9)

    paper.block(18 + 11.5 * len(lines) + sum(heights) + 14, draw)


def set_title(paper: Paper, head: dict[str, str], abstract: str) -> None:
    """The title across both columns; the columns begin under it, the abstract in the left one."""
    paper.new_page()
    middle = PAGE_WIDTH / 2
    paper.centred(Run(head["title"], "bold", 20), middle, 92)
    paper.centred(Run(head["subtitle"], "italic", 12.5), middle, 113)
    paper.centred(Run(head["authors"], "roman", 11), middle, 137)
    paper.line(MARGIN, 152, PAGE_WIDTH - MARGIN, 152, 0.4)
    paper.column_top = paper.y = 166.0
    set_heading(paper, "Abstract", 11)
    paper.paragraph(abstract, size=9.6)
    paper.y += 4


def set_heading(paper: Paper, text: str, size: float) -> None:
    """A heading, never without two lines of what follows it."""
    at_top = paper.y <= paper.column_top
    paper.need(size + 12 + 2 * LEADING)
    paper.y += 0 if at_top else 8
    lines = break_lines(words_of(text, "bold", size), COLUMN_WIDTH)
    for words in lines:
        paper.set_line(words, paper.x, paper.y + size, None)
        paper.y += size + 3
    paper.y += 3


def build(target: Path) -> None:
    """Writes the paper to `target`."""
    head_text, _, body = SOURCE.read_text(encoding="utf-8").partition("@abstract\n")
    head = dict(line.split(": ", 1) for line in head_text.strip().splitlines())
    abstract, *blocks = body.strip().split("\n\n")
    paper = Paper(head["running"])
    set_title(paper, head, abstract)
    equations, number, flush = formulas(), 0, True
    for block in blocks:
        first, *rest = block.split("\n")
        if first.startswith("#"):
            set_heading(paper, first.lstrip("# "), 11 if first.startswith("##") else 13)
        elif first == "@figure flow":
            draw_flow(paper, rest[0])
        elif first.startswith("@table "):
            draw_table(paper, [float(width) for width in first.split()[1:]], rest[0], rest[1:])
        elif first.startswith("@equation "):
            number += 1
            paper.formula(equations[first.removeprefix("@equation ")], number)
        elif re.match(r"\[\d+\]", first):
            paper.paragraph(first, hang=17, size=9.4)
            paper.y += 3
        else:
            paper.paragraph(first, indent=0 if flush else 11)
        # A paragraph after a heading or within a sentence that a formula ended begins at the margin.
        flush = first.startswith(("#", "@equation"))
    document = paper.close()
    dates = {"creationDate": WRITTEN, "modDate": WRITTEN}
    document.set_metadata({"title": head["title"], "author": head["authors"], "subject": head["subtitle"], **dates})
    target.parent.mkdir(parents=True, exist_ok=True)
    document.subset_fonts()
    document.save(target, garbage=4, deflate=True, deflate_fonts=True, no_new_id=True)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    build(target)
    print(f"wrote {target}")
