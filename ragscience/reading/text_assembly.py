"""Blocks become a document's text: lines joined to paragraphs, with each line's place in text and on its page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragscience.reading.blocks import Block
from ragscience.reading.tables import markdown_row, table_rows
from ragscience.reading.text_rows import LaidPage, Placed
from ragscience.reading.text_spans import box_on_page
from ragscience.records import Box, Element, Line

__all__ = ["Assembled", "Vocabulary", "assemble"]

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)[-\u00ad\u2010]$")
_HYPHENATED = re.compile(r"\w[-\u2010]\w$")
_FIRST = re.compile(r"[^\W\d_]+")
_CLOSE = {("caption", "table"), ("caption", "figure"), ("list", "list"), ("reference", "reference")}
_SEPARATOR = " › "


@dataclass(slots=True)
class Assembled:
    """A document's text in the making."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    elements: list[Element] = field(default_factory=list)
    lines: dict[int, list[Line]] = field(default_factory=dict)
    """By page number."""
    bounds: dict[int, tuple[int, int]] = field(default_factory=dict)
    """(start, end) of each page that has text."""

    def add(self, text: str) -> None:
        """Append text."""
        self.parts.append(text)
        self.length += len(text)

    def cut(self, count: int) -> None:
        """Take the last characters away again; they are in the last part."""
        self.parts[-1] = self.parts[-1][:-count]
        self.length -= count


class Vocabulary:
    """The words of a document, to tell which of those broken at a line's end are one word."""

    def __init__(self, texts: Sequence[str]) -> None:
        """`texts` are the lines in their order; what a hyphen at a line's end parts is no word."""
        self._words: set[str] = set()
        self._compounds: set[str] = set()
        is_broken = False
        for text in texts:
            words = _WORD.findall(text.lower())
            words = words[1:] if is_broken else words
            is_broken = bool(_BROKEN.search(text))
            for word in words[:-1] if is_broken else words:
                (self._compounds if "-" in word else self._words).add(word)

    def joiner(self, before: str, after: str) -> tuple[int, str]:
        """How two lines are joined: how many characters of the first go, and what comes between them."""
        broken = _BROKEN.search(before)
        first = _FIRST.match(after)
        if not broken or not first:
            is_one_word = before.endswith("/") or _HYPHENATED.search(before + after[:1])
            return 0, "" if is_one_word else " "
        is_soft = before[-1] == "\u00ad"
        head, tail = broken[1].lower(), first[0].lower()
        last = head.rsplit("-", 1)[-1]
        if is_soft or last + tail in self._words:
            return 1, ""
        if f"{head}-{tail}" in self._compounds or f"{last}-{tail}" in self._compounds:
            return 0, ""
        is_name = not (broken[1][1:].islower() and first[0].islower())
        if is_name or "-" in head:
            return 0, ""
        return (0, "") if last in self._words and tail in self._words and len(last) > 3 else (1, "")


def assemble(blocks: Sequence[Block], pages: Mapping[int, LaidPage], vocabulary: Vocabulary) -> Assembled:
    """The text of the blocks in their order. Paragraphs are parted by an empty line, list items by a line's end."""
    _set_sections(blocks)
    done = Assembled()
    before: Block | None = None
    for block in blocks:
        joiner = _joiner(before, block)
        if before is not None and block.goes_on:
            count, joiner = vocabulary.joiner(before.rows[-1].row.text, block.rows[0].row.text)
            _shorten(done, count)
        done.add(joiner)
        _add_block(done, block, pages[block.page], vocabulary)
        before = block
    return done


def _joiner(before: Block | None, block: Block) -> str:
    if before is None:
        return ""
    if block.kind == "equation" and before.kind in ("text", "list", "equation"):
        return "\n"
    if before.kind == "equation" and block.kind == "text" and not block.rows[0].row.text[:1].isupper():
        return "\n"
    return "\n" if (before.kind, block.kind) in _CLOSE else "\n\n"


def _shorten(done: Assembled, count: int) -> None:
    """Take a hyphen from the end of the text, of its last line and of its last element."""
    if not count:
        return
    done.cut(count)
    last = done.elements[-1]
    done.elements[-1] = Element(last.start, last.end - count, last.kind, last.page, last.level, last.section, last.box)
    line = done.lines[last.page][-1]
    done.lines[last.page][-1] = Line(line.start, line.end - count, line.box)
    start, end = done.bounds[last.page]
    done.bounds[last.page] = start, end - count


def _set_sections(blocks: Sequence[Block]) -> None:
    path: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind == "heading":
            name = " ".join(one.row.text for one in block.rows)
            path = [(level, text) for level, text in path if level < block.level]
            path.append((block.level, name))
        block.sections = tuple(text for _, text in path)


def _add_block(done: Assembled, block: Block, page: LaidPage, vocabulary: Vocabulary) -> None:
    start = done.length
    lines = done.lines.setdefault(block.page, [])
    placed: list[tuple[int, int, Box]] = []
    if block.kind == "table":
        _add_table(done, block, page, vocabulary, placed)
    else:
        _add_rows(done, block, page, vocabulary, placed)
    lines += [Line(*one) for one in placed]
    boxes = [box for _, _, box in placed]
    around = (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )
    section = _SEPARATOR.join(block.sections)
    done.elements.append(Element(start, done.length, block.kind, block.page, block.level, section, around))
    first, _ = done.bounds.get(block.page, (start, start))
    done.bounds[block.page] = first, done.length


def _add_rows(
    done: Assembled,
    block: Block,
    page: LaidPage,
    vocabulary: Vocabulary,
    placed: list[tuple[int, int, Box]],
) -> None:
    before: Placed | None = None
    for one in block.rows:
        if before is not None:
            count, joiner = (0, " ") if block.kind == "figure" else vocabulary.joiner(before.row.text, one.row.text)
            if count:
                done.cut(count)
                start, end, box = placed[-1]
                placed[-1] = start, end - count, box
            done.add(joiner)
        start = done.length
        done.add(one.row.text)
        placed.append((start, done.length, box_on_page(one.row.box, one.row.turn, page.width, page.height)))
        before = one


def _add_table(
    done: Assembled,
    block: Block,
    page: LaidPage,
    vocabulary: Vocabulary,
    placed: list[tuple[int, int, Box]],
) -> None:
    for number, row in enumerate(table_rows(block.rows, page.rules, vocabulary.joiner)):
        if number:
            done.add("\n")
        start = done.length
        done.add(markdown_row(row.cells))
        if number == 0:
            done.add("\n|" + "---|" * len(row.cells))
        placed.append((start, done.length, box_on_page(row.box, row.turn, page.width, page.height)))
