"""A source of an answer in its context (`/show`)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ragscience.cli.line_wrap import FIXED_BLANK, LONGEST_LINE, put
from ragscience.cli.links import can_encode, link_style
from ragscience.core.errors import UsageError
from ragscience.engine.printable import plain
from ragscience.engine.source_list import Span, Surroundings

__all__ = ["source_number", "surroundings_view"]

QUOTED = "bold black on yellow"


def source_number(text: str, *, command: str) -> int:
    """The number that was typed behind a command; 1 for none. Raises UsageError."""
    try:
        return int(text or "1")
    except ValueError:
        raise UsageError(f"{text!r} is not a source number.", f"For example: {command} 1") from None


def surroundings_view(shown: Surroundings, console: Console) -> None:
    """The page of a source around what is quoted of it, with the quotes emphasised."""
    source, text = shown.source, shown.text
    style = link_style(source.path, source.page, console.file)
    label = f"{plain(source.file)},{FIXED_BLANK}p.{source.page}"
    put(console, Text(label, style), Text(f"[{source.number}] ", "dim"))
    for place, window in enumerate(shown.windows):
        if place or window[0] > 0:
            put(console, _gap(console), style="dim")
        put(console, _emphasised(text, window, shown.quotes, console), width=LONGEST_LINE)
    if shown.windows[-1][1] < len(text):
        put(console, _gap(console), style="dim")
    if not shown.quotes:
        put(console, "The quote was not found in the library's text of this page.", style="yellow")


def _emphasised(text: str, window: Span, quotes: tuple[Span, ...], console: Console) -> Text:
    """A part of the text with the quotes in colour, or between marks where there are no colours."""
    colours = console.color_system is not None and not console.no_color
    opens, closes = ("", "") if colours else ("»", "«") if can_encode("»«", console.file) else (">>", "<<")
    shown, at = Text(), window[0]
    for start, end in quotes:
        if window[0] <= start and end <= window[1]:
            shown.append(plain(text[at:start]))
            shown.append(f"{opens}{plain(text[start:end])}{closes}", QUOTED)
            at = end
    return shown.append(plain(text[at : window[1]]))


def _gap(console: Console) -> str:
    return "…" if can_encode("…", console.file) else "..."
