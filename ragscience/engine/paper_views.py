"""Views of the papers of a library: a page as it was read, and the papers as a bibliography."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.counts import counted
from ragscience.core.errors import NothingFound
from ragscience.core.records import Answer, Element, Page, Paper
from ragscience.engine.paper_lookup import find_paper, find_papers
from ragscience.sources.bib_entries import Entry, entries_cited, entries_of
from ragscience.sources.bib_formats import as_bibtex, as_csl

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["Bibliography", "PaperPage", "bibliography", "paper_page"]


@dataclass(frozen=True, slots=True)
class PaperPage:
    """One page with its text and its parts in reading order."""

    paper: Paper
    page: Page
    text: str
    elements: tuple[Element, ...]
    """Their offsets count from the beginning of the paper, as `page.start` does."""


def paper_page(library: Store, paper: str, number: int) -> PaperPage:
    """Page `number` of the one paper that `paper` fits. Raises NothingFound for none, UsageError for several."""
    found = find_paper(library, paper)
    if number > found.pages:
        raise NothingFound(f"{found.file} has {counted(found.pages, 'page')}, not {number}.", "Ask for one of them.")
    page = library.contents(found.paper_id).page(number)
    on_page = tuple(element for element in library.contents(found.paper_id).elements if element.page == number)
    return PaperPage(found, page, library.contents(found.paper_id).text(number), on_page)


@dataclass(frozen=True, slots=True)
class Bibliography:
    """Papers as entries of a bibliography."""

    entries: tuple[Entry, ...]

    def as_text(self, *, csl: bool) -> str:
        """As CSL-JSON, or as BibTeX."""
        return as_csl(self.entries) if csl else as_bibtex(self.entries)


def bibliography(library: Store, names: Sequence[str], cited_by: Sequence[Answer] | None) -> Bibliography:
    """The papers that the answers cite, else those that are named, else all."""
    every = library.papers()
    if cited_by is not None:
        return Bibliography(tuple(entries_cited(cited_by, every)))
    return Bibliography(tuple(entries_of(find_papers(library, names) if names else every, every)))
