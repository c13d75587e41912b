"""Text in lines that end between words, on a terminal; in a pipe a line is as long as it is.

All that a person reads on stdout goes through `put`, a stream of words through `StreamedLines`.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import IO, TYPE_CHECKING

from ragscience.engine.asked_words import is_unspaced

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["FIXED_BLANK", "LONGEST_LINE", "StreamedLines", "put", "width_of", "wrapped", "wrapped_words"]

FIXED_BLANK = "\u00a0"
"""A blank that no line ends at."""
LONGEST_LINE = 100
"""Columns of a line of prose, however wide the terminal is."""
_USUAL_WIDTH = 80
_LEAST_WIDTH = 20
_TAB = 8
_NOT_FIRST = "。，、；：？！）》】」』”’…%.,;:?!)]}"
"""Characters that no line begins with."""
_NOT_LAST = "（《【「『“‘([{"
"""Characters that no line ends with."""


def width_of(stream: IO[str]) -> int:
    """Columns of the terminal behind `stream`: as COLUMNS says, else as wide as it is, 80 where nothing tells."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return max(int(wanted), _LEAST_WIDTH)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH, _LEAST_WIDTH)
    except (OSError, ValueError):
        return _USUAL_WIDTH


def put(
    console: Console, text: str | Text, sign: str | Text = "", *, style: str = "", width: int | None = None
) -> None:
    """Print `text` behind `sign`: on a terminal in lines of at most `width` columns (else the console's).

    Lines after the first begin below the end of the sign, and a wrapped line as far in as its first part. In a pipe
    only line breaks of the text end a line.
    """
    from rich.text import Text

    shown = Text(text, style) if isinstance(text, str) else text.copy()
    before = Text(sign) if isinstance(sign, str) else sign
    if not console.is_terminal:
        shown.plain = shown.plain.replace(FIXED_BLANK, " ")
        shown.rstrip()
        console.print(before + shown if before else shown, soft_wrap=True)
        return
    shown.expand_tabs(_TAB)
    room = min(width or console.width, console.width) - before.cell_len
    for paragraph in shown.split("\n"):
        inside = len(paragraph.plain) - len(paragraph.plain.lstrip(" "))
        inside = inside if inside < room // 2 else 0
        for number, line in enumerate(wrapped(paragraph[inside:], room - inside)):
            margin = Text(" " * inside)
            console.print(before + margin + line, soft_wrap=True)
            if not number:
                before = Text(" " * before.cell_len)


def wrapped(text: Text, width: int) -> list[Text]:
    """Lines of at most `width` columns, at least one; a word that is wider is cut. Fixed blanks become blanks."""
    lines = text.divide(_line_starts(text.plain, max(width, 2)))
    for line in lines:
        line.plain = line.plain.replace(FIXED_BLANK, " ")
        line.rstrip()
    return list(lines)


def wrapped_words(text: str, width: int) -> list[str]:
    """As `wrapped`, of a string; lines after the first begin as far in as the first."""
    words = text.lstrip(" ")
    margin = " " * (len(text) - len(words))
    if len(margin) > width // 2:
        margin, words = "", text
    starts = [0, *_line_starts(words, max(width - len(margin), 2)), len(words)]
    lines = (words[start:end] for start, end in pairwise(starts))
    return [(margin + line.replace(FIXED_BLANK, " ")).rstrip() for line in lines]


class StreamedLines:
    """Words that come piece by piece, in lines of at most `width` columns: the last word waits until it is whole."""

    def __init__(self, width: int) -> None:
        self._width = max(width, 2)
        self._line = ""
        """Of the last line of the screen, what came so far."""
        self._shown = 0
        """Characters of it that were given back."""

    def feed(self, piece: str) -> str:
        """What can be shown now: all but the word that may go on, with line breaks where lines are full."""
        *whole, rest = piece.split("\n")
        return "".join(self._add(part) + self.finish() + "\n" for part in whole) + self._add(rest)

    def finish(self) -> str:
        """The word that waited; what comes next begins a line."""
        last = self._line[self._shown :].rstrip()
        self._line, self._shown = "", 0
        return last

    def _add(self, text: str) -> str:
        self._line += text.expandtabs(_TAB)
        starts = [0, *_line_starts(self._line, self._width)]
        given = ""
        for end in starts[1:]:
            given += self._line[self._shown : end].rstrip() + "\n"
            self._shown = end
        self._line, self._shown = self._line[starts[-1] :], self._shown - starts[-1]
        whole = len(self._line)
        while whole and not self._line[:whole].endswith(" ") and not _can_break(self._line, whole):
            whole -= 1
        whole = len(self._line[:whole].rstrip())
        if whole > self._shown:
            given += self._line[self._shown : whole]
            self._shown = whole
        return given


def _line_starts(text: str, width: int) -> list[int]:
    """Where the second and later lines begin; blanks at a line's end go beyond its width."""
    from rich.cells import get_character_cell_size

    starts: list[int] = []
    used, best = 0, 0
    for at, character in enumerate(text):
        if at and _can_break(text, at):
            best = at
        size = get_character_cell_size(character)
        if used + size > width and character != " ":
            begin = best if best > (starts[-1] if starts else 0) else at
            starts.append(begin)
            used = sum(map(get_character_cell_size, text[begin:at]))
        used += size
    return starts


def _can_break(text: str, at: int) -> bool:
    """Whether a line may end before the character at `at`, in front of which another stands; not before the end."""
    if at == len(text):
        return False
    before, after = text[at - 1], text[at]
    if after == " ":
        return False
    if before == " ":
        return True
    if after in _NOT_FIRST or before in _NOT_LAST or FIXED_BLANK in (before, after):
        return False
    return is_unspaced(before) or is_unspaced(after) or before in _NOT_FIRST[:12]
