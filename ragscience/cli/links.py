"""What a terminal can show: links to pages, and characters beyond ASCII."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from rich.style import Style

__all__ = ["can_encode", "can_link", "link_style", "page_uri"]


def page_uri(path: str, page: int) -> str:
    """`file:///papers/a%20b.pdf#page=3`; empty for a path that is not absolute.

    Every byte of the path that is no plain letter is percent-encoded, so that no name can end the link, or give the
    terminal a command. `#page` is Adobe's "Parameters for Opening PDF Files", which browsers and most viewers know.
    """
    place = Path(path)
    return f"{place.as_uri()}#page={page}" if place.is_absolute() else ""


def can_link(stream: IO[str]) -> bool:
    """Whether links may be written: to a terminal that is not dumb, without a request for plain text."""
    terminal = os.environ.get("TERM", "dumb")
    return stream.isatty() and terminal not in ("dumb", "unknown") and not os.environ.get("NO_COLOR")


def link_style(path: str, page: int, stream: IO[str]) -> Style:
    """A style that makes text on `stream` a link to a page of a file of this machine; else one that does nothing."""
    uri = page_uri(path, page) if can_link(stream) and os.path.lexists(path) else ""
    return Style(link=uri) if uri else Style.null()


def can_encode(text: str, stream: IO[str]) -> bool:
    """Whether the stream's encoding has all characters of `text`."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
