"""Text as a terminal gets it: what comes from a PDF or a model made safe, and numbers of things."""

from __future__ import annotations

import re

from ragscience.core.counts import counted

__all__ = ["counted", "one_line", "plain", "rounded_time", "shortened"]

_NEW_LINES = re.compile("[\v\f\x85\u2028\u2029]")
_ESCAPES = re.compile("[\x1b\x9b]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\r"  # controls that are neither a line's end nor an escape
    "\u00ad\u061c\u180e"  # soft hyphen, Arabic letter mark, Mongolian vowel separator
    "\u200b-\u200f"  # zero width space, joiners, direction marks
    "\u202a-\u202e\u2066-\u206f"  # direction embeddings, overrides and isolates; deprecated shapes
    "\u2060-\u2065\ufeff\ufff9-\ufffb"  # word joiner, invisible operators, byte order mark, annotations
    "\U000e0000-\U000e0fff"  # tags and variation selectors that no font shows
    "]"
)


def plain(text: str) -> str:
    r"""`text` without anything that moves the cursor, changes colours, hides or reorders what is read.

    The escape character becomes "␛", so that what followed it stays readable and powerless; other controls and
    invisible format characters go, new lines and tabs stay, a lone surrogate becomes "\ufffd". Right-to-left text and
    combining marks are kept as they are. Each character is treated by itself: `plain(a + b) == plain(a) + plain(b)`,
    so that a stream can be cleaned piece by piece.
    """
    text = _ESCAPES.sub("␛", _NEW_LINES.sub("\n", text))
    return _SURROGATES.sub("\ufffd", _UNSEEN.sub("", text))


def one_line(text: str) -> str:
    """`text` safe to show, in one line: a file's name with a line break in it cannot look like a line of ours."""
    return plain(text).replace("\n", " ")


def shortened(text: str, chars: int) -> str:
    """`text` on one line and safe to show, or what fits of it into `chars`, to a sentence's or a word's end, and " …".

    A script without spaces is cut between characters.
    """
    flat = " ".join(plain(text).split())
    if len(flat) <= chars:
        return flat
    part = flat[: chars - 2]
    sentence = max(part.rfind(stop) for stop in (". ", "? ", "! ", "。")) + 1
    if sentence * 2 > chars:
        return part[:sentence] + " …"
    words = part if flat[len(part)] == " " else part.rpartition(" ")[0]
    return (words if len(words) * 2 > chars else part).rstrip(" ,;:") + " …"


def rounded_time(seconds: float) -> str:
    """A time as exact as it can be known: to 10 s, to a minute from two minutes on, to 10 minutes from two hours on."""
    if seconds < 115:
        return f"{max(10, round(seconds / 10) * 10)} s"
    if seconds < 115 * 60:
        return f"{round(seconds / 60)} min"
    hours, tens = divmod(round(seconds / 600), 6)
    return f"{hours} h {tens}0 min" if tens else f"{hours} h"
