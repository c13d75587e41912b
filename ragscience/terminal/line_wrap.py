"""Text in lines of a terminal's width, also where it is in a script that has no spaces between words."""

from __future__ import annotations

from rich.cells import get_character_cell_size
from rich.text import Text

from ragscience.engine.asked_words import is_unspaced

__all__ = ["FIXED_BLANK", "wrapped"]

FIXED_BLANK = "\u00a0"
"""A blank that no line ends at."""
_NOT_FIRST = "。，、；：？！）》】」』”’…%.,;:?!)]}"
"""Characters that no line begins with."""
_NOT_LAST = "（《【「『“‘([{"
"""Characters that no line ends with."""


def wrapped(text: Text, width: int) -> list[Text]:
    """Lines of at most `width` columns, at least one; a word that is wider is cut. Fixed blanks become blanks."""
    lines = text.divide(_line_starts(text.plain, max(width, 2)))
    for line in lines:
        line.plain = line.plain.replace(FIXED_BLANK, " ")
        line.rstrip()
    return list(lines)


def _line_starts(text: str, width: int) -> list[int]:
    """Where the second and later lines begin; blanks at a line's end go beyond its width."""
    starts: list[int] = []
    used, best = 0, 0
    for at, character in enumerate(text):
        if at and character != " " and _can_break(text, at):
            best = at
        size = get_character_cell_size(character)
        if used + size > width and character != " ":
            begin = best if best > (starts[-1] if starts else 0) else at
            starts.append(begin)
            used = sum(map(get_character_cell_size, text[begin:at]))
        used += size
    return starts


def _can_break(text: str, at: int) -> bool:
    """Whether a line may end before the character at `at`, which is no blank."""
    before, after = text[at - 1], text[at]
    if before == " ":
        return True
    if after in _NOT_FIRST or before in _NOT_LAST or FIXED_BLANK in (before, after):
        return False
    return is_unspaced(before) or is_unspaced(after) or before in _NOT_FIRST[:12]
