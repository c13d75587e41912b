"""What `ingest.py show` prints: a paper with its outline, or one page part by part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from ragscience.cli.line_wrap import put
from ragscience.cli.screen import print_json
from ragscience.cli.views import paper_view
from ragscience.engine.library_output import outline_output, page_output
from ragscience.engine.printable import plain, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.paper_outline import PaperOutline
    from ragscience.engine.paper_views import PaperPage

__all__ = ["outline_view", "page_view", "show_page", "show_paper"]

_CAPTION_CHARS = 120
_MARGIN = 11
"""Columns for the kind of a part: "reference" and two blanks."""


def show_paper(outline: PaperOutline, console: Console | None, where: str) -> None:
    """A paper and its outline, as JSON on stdout without a console; `where` its file is, for a person."""
    if console is None:
        print_json(outline_output(outline))
        return
    names = ", ".join(f"{name.name} (p.{name.page})" if name.page else name.name for name in outline.names)
    more = {"BibTeX key": outline.bibtex_key, "called": names or "(not known)"}
    paper_view(replace(outline.paper, path=where), outline.pages, console, more=more)
    outline_view(outline, console)


def show_page(page: PaperPage, console: Console | None) -> None:
    """A page as it was read, as JSON on stdout without a console."""
    if console is None:
        print_json(page_output(page))
    else:
        page_view(page, console)


def outline_view(outline: PaperOutline, console: Console) -> None:
    """Headings with their pages, nested, then tables, figures and the number of references."""
    console.print(Text("outline" if outline.headings else "outline: no headings known", style="dim"))
    for entry in outline.headings:
        _line(console, "  " * entry.level, plain(entry.text), entry.page)
    for name, entries in (("tables", outline.tables), ("figures", outline.figures)):
        console.print(Text(f"{name}: {len(entries)}", style="dim"))
        for entry in entries:
            _line(console, "  ", shortened(entry.text, _CAPTION_CHARS), entry.page)
    console.print(Text(f"references: {outline.references}", style="dim"))


def _line(console: Console, margin: str, text: str, page: int) -> None:
    put(console, Text(text).append(f"  p.{page}", style="dim"), margin)


def page_view(shown: PaperPage, console: Console) -> None:
    """A page with the kind of each part; headers and footers, which are not in the text, are dimmed at the end."""
    page, text = shown.page, shown.text
    if not shown.elements:
        put(console, plain(text))
    for element in shown.elements:
        name = f"{element.kind} {element.level}" if element.kind == "heading" else element.kind
        _part(console, name, text[element.start - page.start : element.end - page.start])
    if page.furniture:
        _part(console, "left out", page.furniture, "dim")
    if page.warning:
        put(console, plain(page.warning), style="yellow")


def _part(console: Console, name: str, text: str, style: str = "") -> None:
    for line in plain(text).strip().split("\n"):
        put(console, Text(line, style), Text(f"{name:{_MARGIN}}", "dim"))
        name = ""
