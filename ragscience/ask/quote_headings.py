"""The headings that a quote begins with, apart from its sentences."""

from __future__ import annotations

import re

from ragscience.core.tokenizing import joined_lines

__all__ = ["without_headings"]

_LONGEST = 120
"""Characters of a heading; a longer paragraph is text."""
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*+\.?|[A-Z](?:\.\d{1,2})++\.?)\s++[A-Z][^=≤≥<>]*+(?<![.,;:])")


def without_headings(text: str, section: str) -> tuple[str, str]:
    """(the headings that `text` begins with, its words behind them), each on one line.

    `section` has the names of headings near the text, "3 Model › 3.2 Attention". A heading is a paragraph that is one
    of them, or that begins with a number of a section and ends without a stop. A text of headings alone stays whole.
    """
    names = {joined_lines(name).casefold() for name in section.split(" › ")}
    headings: list[str] = []
    rest = text.strip()
    while True:
        paragraph, _, behind = rest.partition("\n\n")
        heading = joined_lines(paragraph)
        is_named = heading.casefold() in names
        if len(heading) > _LONGEST or not behind.strip() or not (is_named or _NUMBERED.fullmatch(heading)):
            return " › ".join(headings), joined_lines(rest)
        headings.append(heading)
        rest = behind.strip()
