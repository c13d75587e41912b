"""The tools that a model, or the planner without one, may use: each gives a text to read and passages to cite.

Nothing that a model asks for raises: a wrong argument, an unknown paper or a page that is not there becomes a text that
says so. What comes from papers is fenced and sanitized as in the answer's own prompt, and no result is longer than
`most_chars`.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragscience.agent.calculator import calculate
from ragscience.agent.passages import looked_up, page_hits, paper_list, section_of, shown, within
from ragscience.agent.tool_calls import KINDS, TOOLS, ToolCall, ToolResult, checked_arguments, schemas
from ragscience.agent.tool_planning import named_papers, planned_calls
from ragscience.bibliography import as_bibtex, entries_of
from ragscience.errors import NothingFound, RagScienceError, UsageError
from ragscience.records import Filters, Found, Paper
from ragscience.store.filter_selection import match_papers
from ragscience.text.prompt_sanitizer import sanitize

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = ["KINDS", "TOOLS", "ToolCall", "ToolResult", "Toolbox", "planned_calls", "schemas"]

_NAMED_IN_ERRORS = 8
"""Papers that an error lists."""
_LETTER = re.compile("[A-Za-z0-9]")


class Toolbox:
    """The tools over one library; `search` finds passages within filters, `most_chars` bounds each result's text."""

    def __init__(self, library: Library, *, search: Callable[[str, Filters], Found], most_chars: int) -> None:
        self._library = library
        self._search = search
        self._most_chars = most_chars
        self._tools: dict[str, Callable[..., ToolResult]] = {
            "search": self.search,
            "lookup_page": self.lookup_page,
            "read_section": self.read_section,
            "calculate": self.calculate,
            "list_papers": self.list_papers,
            "cite": self.cite,
        }

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """What the tool gives; whatever is wrong with the call, or goes wrong in it, is a text that begins "Error:"."""
        try:
            if name not in self._tools:
                raise UsageError(f"There is no tool {_quoted(name)}.", f"The tools are {', '.join(self._tools)}.")
            return self._tools[name](**checked_arguments(name, arguments))
        except RagScienceError as error:
            return ToolResult(self._capped(f"Error: {sanitize(str(error))}"), error=True)

    def search(self, query: str, paper: str = "", section: str = "", kind: str = "") -> ToolResult:
        """The best passages for a query. Raises RagScienceError, as all tools here do."""
        papers = tuple(_exactly(each.file) for each in self._papers(paper)) if paper else ()
        found = self._search(
            query, Filters(papers=papers, sections=(section,) if section else (), kinds=(kind,) if kind else ())
        )
        if not found.hits:
            return ToolResult("Nothing was found. Try other words, or leave out paper, section or kind.")
        return shown(found.hits, self._most_chars)

    def lookup_page(self, paper: str, page: int) -> ToolResult:
        """A page as it was read, with the passages on it."""
        which = self._paper(paper)
        if not 1 <= page <= which.pages:
            raise NothingFound(f"{which.file} has no page {page}.", f"Its pages are 1 to {which.pages}.")
        text = self._library.page_text(which.paper_id, page)
        if not text.strip():
            return ToolResult(f"Page {page} of {sanitize(which.file)} has no text.")
        hits = looked_up(page_hits(self._library.paper_chunks(which.paper_id), page), "page")
        return ToolResult(within(which.file, page, text, self._most_chars), hits)

    def read_section(self, paper: str, section: str) -> ToolResult:
        """The passages of a section in their order, those of its subsections with them."""
        which = self._paper(paper)
        chunks = section_of(self._library, which, section)
        return shown(looked_up(chunks, "section"), self._most_chars)

    def calculate(self, expression: str) -> ToolResult:
        """The value of an arithmetic expression."""
        return ToolResult(f"{' '.join(expression.split())} = {calculate(expression)}")

    def list_papers(self) -> ToolResult:
        """All papers of the library, a line each."""
        return ToolResult(paper_list(self._library.papers(), self._most_chars))

    def cite(self, paper: str) -> ToolResult:
        """A BibTeX entry."""
        entries = entries_of([self._paper(paper)], self._library.papers())
        return ToolResult(self._capped(sanitize(as_bibtex(entries).rstrip())))

    def _paper(self, name: str) -> Paper:
        """The one paper that is meant. Raises NothingFound for none, UsageError for several."""
        papers = self._papers(name)
        if len(papers) > 1:
            files = ", ".join(paper.file for paper in papers[:_NAMED_IN_ERRORS])
            more = f" and {len(papers) - _NAMED_IN_ERRORS} more" if len(papers) > _NAMED_IN_ERRORS else ""
            raise UsageError(f"{_quoted(name)} fits {len(papers)} papers: {files}{more}.", "Name one by its file.")
        return papers[0]

    def _papers(self, name: str) -> Sequence[Paper]:
        """Those that a name means: a file's, exactly; else a part or pattern; else as a person would call it."""
        papers = self._library.papers()
        wanted = name.strip().casefold()
        exact = [paper for paper in papers if wanted in (paper.file.casefold(), paper.file.casefold()[:-4])]
        if exact:
            return exact
        try:
            ids = match_papers(papers, [name.strip()])
            return [paper for paper in papers if paper.paper_id in ids]
        except NothingFound as error:
            meant = named_papers(name, papers)
            if not meant:
                nearest = error.fix.partition(" `python")[0] if "nearest" in error.fix else ""
                raise NothingFound(error.message, f"{nearest} list_papers gives all of them.".strip()) from None
            return meant

    def _capped(self, text: str) -> str:
        return text if len(text) <= self._most_chars else text[: self._most_chars] + " […]"


def _exactly(file: str) -> str:
    """A pattern that fits this name and no longer one: with a letter in brackets it is a shell pattern only."""
    letter = _LETTER.search(file)
    if letter is None:
        return glob.escape(file)
    return f"{glob.escape(file[: letter.start()])}[{letter.group()}]{glob.escape(file[letter.end() :])}"


def _quoted(text: str) -> str:
    line = " ".join(str(text).split())
    return repr(line if len(line) <= 80 else f"{line[:77]}...")
