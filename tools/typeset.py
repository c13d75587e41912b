"""A small typesetter on PyMuPDF: justified paragraphs, formulas and two columns, for the sample paper.

Units are points throughout; y grows downwards, and a text's position is its baseline's left end, as PyMuPDF has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import pymupdf

FACES = {"roman": "tiro", "italic": "tiit", "bold": "tibo", "sans": "helv", "sans-bold": "hebo"}
PAGE_WIDTH, PAGE_HEIGHT = pymupdf.paper_size("a4")
MARGIN, GUTTER = 60.0, 21.0
TOP, BOTTOM = 72.0, 774.0
COLUMN_WIDTH = (PAGE_WIDTH - 2 * MARGIN - GUTTER) / 2
BODY_SIZE, LEADING = 10.8, 14.2
FORMULA_SIZE = 10.2

_MARKUP = re.compile(r"\*\*(?P<bold>.+?)\*\*|\*(?P<italic>.+?)\*|_\{(?P<sub>.+?)\}")


@lru_cache
def font(face: str) -> pymupdf.Font:
    """A built-in font, by our name for it."""
    return pymupdf.Font(FACES[face])


def width_of(text: str, face: str, size: float) -> float:
    """How wide the text is when set."""
    return float(font(face).text_length(text, fontsize=size))


@dataclass(frozen=True)
class Run:
    """A piece of text of one face and size; `drop` lowers its baseline."""

    text: str
    face: str = "roman"
    size: float = BODY_SIZE
    drop: float = 0.0

    @property
    def width(self) -> float:
        """In points."""
        return width_of(self.text, self.face, self.size)


Word = tuple[Run, ...]


def runs_of(text: str, face: str = "roman", size: float = BODY_SIZE) -> list[Run]:
    """Runs of a line of markup: `*italic*`, `**bold**`, `_{subscript}`."""
    runs, at = [], 0
    for match in _MARKUP.finditer(text):
        runs.append(Run(text[at : match.start()], face, size))
        if match["sub"]:
            runs.append(Run(match["sub"], face, size * 0.7, drop=size * 0.2))
        else:
            runs.append(Run(match["bold"] or match["italic"], "bold" if match["bold"] else "italic", size))
        at = match.end()
    runs.append(Run(text[at:], face, size))
    return [run for run in runs if run.text]


def words_of(text: str, face: str = "roman", size: float = BODY_SIZE) -> list[Word]:
    """Words of a line of markup, to be spread over lines."""
    words: list[list[Run]] = [[]]
    for run in runs_of(text, face, size):
        for position, part in enumerate(run.text.split(" ")):
            if position:
                words.append([])
            if part:
                words[-1].append(replace(run, text=part))
    return [tuple(word) for word in words if word]


def word_width(word: Word) -> float:
    """How wide a word is when set."""
    return sum(run.width for run in word)


def break_lines(words: Sequence[Word], width: float, indent: float = 0.0) -> list[list[Word]]:
    """Lines whose spaces are as even as can be over the whole paragraph (Knuth and Plass 1981, without hyphens)."""
    widths = [word_width(word) for word in words]
    space = width_of(" ", words[0][0].face, words[0][0].size)
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(words) + 1):
        choices = []
        natural = -space
        for start in range(end - 1, -1, -1):
            natural += widths[start] + space
            room = width - (indent if start == 0 else 0.0)
            gaps = end - start - 1
            stretch = (room - natural) / (gaps * space) if gaps else (room - natural) / space
            if stretch < -0.25 and gaps:
                break
            badness = 0.0 if end == len(words) and stretch >= 0 else abs(stretch) ** 3 + 1
            choices.append((best[start][0] + badness, start))
        best.append(min(choices))
    lines, end = [], len(words)
    while end:
        start = best[end][1]
        lines.append(list(words[start:end]))
        end = start
    return lines[::-1]


Glyph = tuple[float, float, Run]
Rule = tuple[float, float, float]


@dataclass(frozen=True)
class Box:
    """Part of a formula: its extent around the baseline, and what it draws relative to its left end."""

    width: float
    up: float
    down: float
    glyphs: tuple[Glyph, ...] = ()
    rules: tuple[Rule, ...] = ()

    def moved(self, dx: float, dy: float) -> Box:
        """The same drawing somewhere else."""
        glyphs = tuple((x + dx, y + dy, run) for x, y, run in self.glyphs)
        rules = tuple((x + dx, y + dy, length) for x, y, length in self.rules)
        return replace(self, glyphs=glyphs, rules=rules)


def math(text: str, size: float = FORMULA_SIZE) -> Box:
    """A box of marked-up text on one baseline."""
    x, glyphs = 0.0, []
    for run in runs_of(text, size=size):
        glyphs.append((x, 0.0, run))
        x += run.width
    return Box(x, size * 0.7, size * 0.22, tuple(glyphs))


def row(*parts: Box) -> Box:
    """Boxes side by side on one baseline."""
    x, glyphs, rules = 0.0, [], []
    for part in parts:
        placed = part.moved(x, 0.0)
        glyphs += placed.glyphs
        rules += placed.rules
        x += part.width
    return Box(x, max(p.up for p in parts), max(p.down for p in parts), tuple(glyphs), tuple(rules))


def fraction(above: Box, below: Box) -> Box:
    """One box over another, with a rule between them."""
    width, axis, gap = max(above.width, below.width) + 4, 3.2, 2.4
    top = above.moved((width - above.width) / 2, -axis - gap - above.down)
    bottom = below.moved((width - below.width) / 2, -axis + gap + below.up)
    return Box(
        width + 3,
        axis + gap + above.down + above.up,
        below.up + below.down + gap - axis,
        top.glyphs + bottom.glyphs,
        (*top.rules, *bottom.rules, (0.0, -axis, width)),
    )


def operator(name: Box, below: Box) -> Box:
    """A large operator with its range underneath."""
    width = max(name.width, below.width) + 3
    placed = below.moved((width - 3 - below.width) / 2, name.down + below.up + 1)
    centred = name.moved((width - 3 - name.width) / 2, 0.0)
    return Box(width, name.up, name.down + below.up + below.down + 1, centred.glyphs + placed.glyphs)


@dataclass
class Paper:
    """A document in the making: a cursor that fills the left column, then the right one, then the next page."""

    running_head: str
    document: Any = field(default_factory=pymupdf.open)
    page: Any = None
    writer: Any = None
    column: int = 0
    column_top: float = TOP
    y: float = TOP
    floats: list[tuple[float, Callable[[float, float], None]]] = field(default_factory=list)

    @property
    def x(self) -> float:
        """The left edge of the present column."""
        return MARGIN + self.column * (COLUMN_WIDTH + GUTTER)

    def new_page(self) -> None:
        """Begins a page, with its running head when it is not the first."""
        self._finish_page()
        self.page = self.document.new_page(width=PAGE_WIDTH, height=PAGE_HEIGHT)
        self.writer = pymupdf.TextWriter(self.page.rect)
        self.column, self.column_top, self.y = 0, TOP, TOP
        if len(self.document) > 1:
            self.centred(Run(self.running_head, "italic", 9), PAGE_WIDTH / 2, 44)
            self.line(MARGIN, 50, PAGE_WIDTH - MARGIN, 50, 0.4)

    def _finish_page(self) -> None:
        if self.page is not None:
            self.centred(Run(str(len(self.document)), "roman", 9), PAGE_WIDTH / 2, 810)
            self.writer.write_text(self.page)

    def close(self) -> Any:
        """The finished document, with what floated to the end."""
        while self.floats:
            self.next_column()
        self._finish_page()
        return self.document

    def next_column(self) -> None:
        """Goes to the top of the next column, and sets there what was waiting for room."""
        if self.column == 0:
            self.column, self.y = 1, self.column_top
        else:
            self.new_page()
        waiting, self.floats = self.floats, []
        for height, draw in waiting:
            self.block(height, draw)

    def block(self, height: float, draw: Callable[[float, float], None]) -> None:
        """Sets something that must not be cut, here or at the top of the next column."""
        if self.y + height > BOTTOM:
            self.floats.append((height, draw))
            return
        draw(self.x, self.y)
        self.y += height

    def need(self, height: float) -> None:
        """Goes on to the next column when less room than this is left."""
        if self.y + height > BOTTOM:
            self.next_column()

    def text(self, x: float, y: float, run: Run) -> None:
        """Sets a run with its baseline's left end at (x, y)."""
        self.writer.append((x, y + run.drop), run.text, font=font(run.face), fontsize=run.size)

    def centred(self, run: Run, x: float, y: float) -> None:
        """Sets a run with its middle at x."""
        self.text(x - run.width / 2, y, run)

    def line(self, x0: float, y0: float, x1: float, y1: float, thickness: float) -> None:
        """Draws a straight line."""
        self.page.draw_line((x0, y0), (x1, y1), width=thickness)

    def set_line(self, words: Sequence[Word], x: float, y: float, width: float | None) -> None:
        """Sets words on one line, stretched to `width`, or with plain spaces where that is None."""
        space = width_of(" ", words[0][0].face, words[0][0].size)
        if width is not None and len(words) > 1:
            space = (width - sum(word_width(word) for word in words)) / (len(words) - 1)
        for position, word in enumerate(words):
            for run in word:
                self.text(x, y, run)
                x += run.width
            if position + 1 < len(words):
                self.text(x, y, Run(" ", words[0][0].face, words[0][0].size))
            x += space

    def paragraph(self, text: str, *, indent: float = 0.0, hang: float = 0.0, size: float = BODY_SIZE) -> None:
        """Sets a justified paragraph across columns; `hang` indents every line but the first."""
        leading = LEADING * size / BODY_SIZE
        lines = break_lines(words_of(text, size=size), COLUMN_WIDTH - hang, indent - hang)
        for number, words in enumerate(lines):
            # Neither the first line alone at the foot of a column nor the last one alone at the head of the next.
            alone = number == 0 or number == len(lines) - 2
            self.need(leading * (2 if alone and len(lines) > 1 else 1))
            left = indent if number == 0 else hang
            last = number == len(lines) - 1
            self.set_line(words, self.x + left, self.y + size, None if last else COLUMN_WIDTH - left)
            self.y += leading

    def formula(self, box: Box, number: int) -> None:
        """Sets a centred formula with its number at the right."""
        height = box.up + box.down + 12
        self.need(height)
        baseline = self.y + 5 + box.up
        left = self.x + max(0.0, (COLUMN_WIDTH - 20 - box.width) / 2)
        for dx, dy, run in box.glyphs:
            self.text(left + dx, baseline + dy, run)
        for dx, dy, length in box.rules:
            self.line(left + dx, baseline + dy, left + dx + length, baseline + dy, 0.5)
        label = Run(f"({number})")
        self.text(self.x + COLUMN_WIDTH - label.width, baseline, label)
        self.y += height
