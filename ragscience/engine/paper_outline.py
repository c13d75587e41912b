"""The outline of a paper: its headings, tables, figures and references."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.records import Element, Page, Paper
from ragscience.engine.paper_lookup import find_paper
from ragscience.search.names import PaperNames
from ragscience.search.names_of_paper import PaperName
from ragscience.sources.bib_entries import citation_keys

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["OutlineEntry", "PaperOutline", "paper_outline"]

_TABLE = re.compile(r"tab(?:le|\.)", re.IGNORECASE)
_NUMBERED = re.compile(r"\[\w+\]|\d{1,3}[.)]\s")


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading, or a table or figure by the first line of its caption."""

    text: str
    page: int
    level: int = 0
    """Of a heading, from 1; else 0."""


@dataclass(frozen=True, slots=True)
class PaperOutline:
    """A paper and its parts, in the order of the paper; empty where its structure is not known."""

    paper: Paper
    pages: tuple[Page, ...]
    bibtex_key: str
    headings: tuple[OutlineEntry, ...]
    tables: tuple[OutlineEntry, ...]
    """By their captions, else by the first line of their text."""
    figures: tuple[OutlineEntry, ...]
    """By their captions, and whatever else has a caption and is not a table."""
    references: int
    names: tuple[PaperName, ...] = ()
    """What questions may call it, the surest first."""


def paper_outline(library: Store, name: str) -> PaperOutline:
    """The outline of the one paper that `name` fits. Raises NothingFound for none, UsageError for several."""
    paper = find_paper(library, name)
    elements, pages = library.contents(paper.paper_id).elements, library.contents(paper.paper_id).pages
    text_of = _texts(library, paper.paper_id, pages)
    headings: list[OutlineEntry] = []
    tables: list[OutlineEntry] = []
    figures: list[OutlineEntry] = []
    references: list[str] = []
    for index, element in enumerate(elements):
        if element.kind == "heading":
            headings.append(OutlineEntry(" ".join(text_of(element).split()), element.page, element.level))
        elif element.kind == "caption":
            entry = OutlineEntry(_first_line(text_of(element)), element.page)
            (tables if _TABLE.match(entry.text) else figures).append(entry)
        elif element.kind == "table" and not _has_caption(elements, index):
            tables.append(OutlineEntry(_first_line(text_of(element)), element.page))
        elif element.kind == "reference":
            references.append(text_of(element))
    key = citation_keys(library.papers())[paper.paper_id]
    parts = (tuple(headings), tuple(tables), tuple(figures))
    names = PaperNames.of(library).of_paper(paper.paper_id)
    return PaperOutline(paper, tuple(pages), key, *parts, _count_works(references), names)


def _texts(library: Store, paper_id: int, pages: Sequence[Page]) -> Callable[[Element], str]:
    starts = {page.number: page.start for page in pages}
    known: dict[int, str] = {}

    def text_of(element: Element) -> str:
        if element.page not in known:
            known[element.page] = library.contents(paper_id).text(element.page)
        start = starts[element.page]
        return known[element.page][element.start - start : element.end - start]

    return text_of


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _has_caption(elements: Sequence[Element], index: int) -> bool:
    neighbors = elements[max(index - 1, 0) : index + 2]
    return any(element.kind == "caption" and element.page == elements[index].page for element in neighbors)


def _count_works(references: Sequence[str]) -> int:
    """How many works are listed; a numbered entry that continues on another page or column is one."""
    numbered = sum(bool(_NUMBERED.match(text)) for text in references)
    return numbered if 2 * numbered > len(references) else len(references)
