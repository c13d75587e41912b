"""The words of a PDF's pages by PDFium, which shares no code with the reader: what marks are held against."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Box = tuple[float, float, float, float]

__all__ = ["PageWords", "Word", "letters_of", "page_words"]


@dataclass(frozen=True, slots=True)
class Word:
    """A run of characters without a blank, on one line."""

    text: str
    box: Box
    """Left, top, right, bottom in points from the top left corner of the page as it is shown."""
    line: int


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of a page, and their letters in one row with the number of each letter's word."""

    words: list[Word]
    letters: str
    owners: list[int]


def letters_of(text: str) -> str:
    """Letters and digits alone, without accents and case: what two programs that read a page agree on."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def page_words(path: Path, number: int) -> PageWords:
    """The words of page `number`, from 1."""
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        page = document[number - 1]
        words = list(_words(page))
    owners = [index for index, word in enumerate(words) for _ in letters_of(word.text)]
    return PageWords(words, "".join(letters_of(word.text) for word in words), owners)


def _words(page: object) -> Iterator[Word]:
    import pypdfium2.raw as raw

    text = page.get_textpage()  # type: ignore[attr-defined]
    run: list[tuple[str, Box]] = []
    line = 0
    for at in range(text.count_chars()):
        character = chr(raw.FPDFText_GetUnicode(text.raw, at))
        ends_line = character in "\r\n\x02\ufffe\uffff"  # the last three are hyphens at the end of a line
        if not (ends_line or character.isspace()):
            run.append((character, _shown(page, text.get_charbox(at))))
            continue
        if run:
            yield _word(run, line)
            run = []
        line += ends_line
    if run:
        yield _word(run, line)


def _word(run: list[tuple[str, Box]], line: int) -> Word:
    boxes = [box for _, box in run]
    sides = [[box[side] for box in boxes] for side in range(4)]
    return Word("".join(each for each, _ in run), (min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])), line)


def _shown(page: object, box: Box) -> Box:
    """A box of the file's axes on the page as it is shown: cut to its crop box and turned."""
    crop, media = page.get_cropbox(), page.get_mediabox()  # type: ignore[attr-defined]
    x0, y0 = max(crop[0], media[0]), max(crop[1], media[1])
    x1, y1 = min(crop[2], media[2]), min(crop[3], media[3])
    left, bottom, right, top = box
    turned: dict[int, Box] = {
        0: (left - x0, y1 - top, right - x0, y1 - bottom),
        90: (bottom - y0, left - x0, top - y0, right - x0),
        180: (x1 - right, bottom - y0, x1 - left, top - y0),
        270: (y1 - top, x1 - right, y1 - bottom, x1 - left),
    }
    return turned[page.get_rotation()]  # type: ignore[attr-defined]
