"""A paper as the machine saw it: its headings, tables, figures and references, and each page part by part."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ragscience.bibliography import citation_keys
from ragscience.engine.printable import plain
from ragscience.json_output import ElementOutput, OutlineOutput, PageTextOutput, print_json, select
from ragscience.records import Element, Page, Paper, title_of
from ragscience.terminal.views import paper_view, shortened

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = [
    "Entry",
    "Outline",
    "outline_of",
    "outline_view",
    "page_view",
    "show_page",
    "show_paper",
]

_TABLE = re.compile(r"tab(?:le|\.)", re.IGNORECASE)
_NUMBERED = re.compile(r"\[\w+\]|\d{1,3}[.)]\s")
_CAPTION_CHARS = 120
_MARGIN = 11
"""Columns for the kind of what stands beside it: "reference" and two blanks."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A heading, or a table or figure by the first line of its caption."""

    text: str
    page: int
    level: int = 0
    """Of a heading, from 1; 0 for all else."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a paper consists of, each in the order of the paper."""

    headings: tuple[Entry, ...]
    tables: tuple[Entry, ...]
    """One without a caption has the first line of its own text."""
    figures: tuple[Entry, ...]
    """By their captions; whatever else has a caption and is no table is among them."""
    references: int


def show_paper(library: Library, paper: Paper, console: Console | None) -> None:
    """All that is known of a paper, as JSON on stdout where there is no console."""
    outline, pages = outline_of(library, paper.paper_id), library.pages(paper.paper_id)
    key = citation_keys(library.papers())[paper.paper_id]
    if console is None:
        print_json(outline_output(paper, outline, pages, key))
        return
    paper_view(paper, pages, console)
    console.print(Text("BibTeX key  ", style="dim").append(key, "not dim"), soft_wrap=True)
    outline_view(outline, console)


def show_page(library: Library, paper: Paper, number: int, console: Console | None) -> None:
    """A page as it was read, as JSON on stdout where there is no console. Raises NothingFound for no such page."""
    if console is None:
        print_json(page_output(library, paper, number))
        return
    page_view(library, paper.paper_id, number, console)


def outline_of(library: Library, paper_id: int) -> Outline:
    """The outline of a paper; empty where its structure is not known, as with one that an older version has read."""
    elements = library.elements(paper_id)
    text_of = _texts(library, paper_id)
    headings: list[Entry] = []
    tables: list[Entry] = []
    figures: list[Entry] = []
    references: list[str] = []
    for index, element in enumerate(elements):
        if element.kind == "heading":
            headings.append(Entry(" ".join(text_of(element).split()), element.page, element.level))
        elif element.kind == "caption":
            entry = Entry(_first_line(text_of(element)), element.page)
            (tables if _TABLE.match(entry.text) else figures).append(entry)
        elif element.kind == "table" and not _has_caption(elements, index):
            tables.append(Entry(_first_line(text_of(element)), element.page))
        elif element.kind == "reference":
            references.append(text_of(element))
    return Outline(tuple(headings), tuple(tables), tuple(figures), _entries(references))


def _texts(library: Library, paper_id: int) -> Callable[[Element], str]:
    starts = {page.number: page.start for page in library.pages(paper_id)}
    known: dict[int, str] = {}

    def text_of(element: Element) -> str:
        if element.page not in known:
            known[element.page] = library.page_text(paper_id, element.page)
        start = starts[element.page]
        return known[element.page][element.start - start : element.end - start]

    return text_of


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _has_caption(elements: Sequence[Element], index: int) -> bool:
    beside = elements[max(index - 1, 0) : index + 2]
    return any(element.kind == "caption" and element.page == elements[index].page for element in beside)


def _entries(references: Sequence[str]) -> int:
    """How many works are listed; a numbered entry that goes on over a page or column is one."""
    numbered = sum(bool(_NUMBERED.match(text)) for text in references)
    return numbered if 2 * numbered > len(references) else len(references)


def outline_view(outline: Outline, console: Console) -> None:
    """Headings with their pages, nested, then what stands among the text."""
    if not outline.headings:
        console.print(Text("outline: no headings known", style="dim"))
    else:
        console.print(Text("outline", style="dim"))
    for entry in outline.headings:
        _line(console, "  " * entry.level + plain(entry.text), entry.page)
    for name, entries in (("tables", outline.tables), ("figures", outline.figures)):
        console.print(Text(f"{name}: {len(entries)}", style="dim"))
        for entry in entries:
            _line(console, "  " + shortened(plain(entry.text), _CAPTION_CHARS), entry.page)
    console.print(Text(f"references: {outline.references}", style="dim"))


def _line(console: Console, text: str, page: int) -> None:
    console.print(Text(text).append(f"  p.{page}", style="dim"), soft_wrap=True)


def page_view(library: Library, paper_id: int, number: int, console: Console) -> None:
    """A page as it was read, with the kind of each part beside it; what was left out of the text is dimmed at its end.

    Raises NothingFound where there is no such page.
    """
    page, text = library.page(paper_id, number), library.page_text(paper_id, number)
    elements = _on_page(library, paper_id, number)
    if not elements:
        console.print(Text(plain(text)), soft_wrap=True)
    for element in elements:
        name = f"{element.kind} {element.level}" if element.kind == "heading" else element.kind
        _part(console, name, text[element.start - page.start : element.end - page.start])
    if page.furniture:
        _part(console, "left out", page.furniture, "dim")
    if page.warning:
        console.print(Text(plain(page.warning), style="yellow"), soft_wrap=True)


def _part(console: Console, name: str, text: str, style: str = "") -> None:
    for line in plain(text).strip().split("\n"):
        console.print(Text(f"{name:{_MARGIN}}", style="dim").append(line, style or "not dim"), soft_wrap=True)
        name = ""


def _on_page(library: Library, paper_id: int, number: int) -> list[Element]:
    return [element for element in library.elements(paper_id) if element.page == number]


def outline_output(paper: Paper, outline: Outline, pages: Sequence[Page], key: str) -> OutlineOutput:
    """What `show --json` prints for a paper; `key` is its own in the bibliography."""
    return select(
        OutlineOutput,
        paper,
        title=title_of(paper),
        bibtex_key=key,
        outline=[{"level": entry.level, "heading": entry.text, "page": entry.page} for entry in outline.headings],
        tables=[{"caption": entry.text, "page": entry.page} for entry in outline.tables],
        figures=[{"caption": entry.text, "page": entry.page} for entry in outline.figures],
        references=outline.references,
        page_warnings=[{"page": page.number, "warning": page.warning} for page in pages if page.warning],
    )


def page_output(library: Library, paper: Paper, number: int) -> PageTextOutput:
    """What `show --page N --json` prints. Raises NothingFound where there is no such page."""
    page, text = library.page(paper.paper_id, number), library.page_text(paper.paper_id, number)
    elements = [
        select(ElementOutput, element, text=text[element.start - page.start : element.end - page.start])
        for element in _on_page(library, paper.paper_id, number)
    ]
    return select(PageTextOutput, page, paper, page=number, text=text, elements=elements)
