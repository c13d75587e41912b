"""`engine.papers`: the papers of the library, to list, look up, read, cite and mark."""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ragscience.core.errors import NothingFound
from ragscience.core.paper_records import counted_places, has_pages, sure_authors, sure_year
from ragscience.core.records import Answer, Citation, Element, Page, Paper, title_of
from ragscience.core.tokenizing import joined_lines
from ragscience.engine.events import OnEvent, Progressed, Warned, unheard
from ragscience.engine.places import Cite, Surroundings, cited_label, surroundings
from ragscience.engine.shared_parts import SharedParts
from ragscience.library.seen_files import SkippedFile, SkippedFiles
from ragscience.library.similarity import Duplicate, near_duplicates
from ragscience.library.store import Store, known_files
from ragscience.search.names import PaperNames
from ragscience.search.names_of_paper import PaperName
from ragscience.search.paper_lookup import find_paper, find_papers, papers_matching
from ragscience.sources.bib_entries import citation_keys, entries_cited, entries_of, person_of
from ragscience.sources.bib_formats import as_bibtex, as_csl


@dataclass(frozen=True, slots=True)
class PaperPage:
    """One page with its text and its parts in reading order."""

    paper: Paper
    page: Page
    text: str
    elements: tuple[Element, ...]
    """Their offsets count from the beginning of the paper, as `page.start` does."""


CITE_STYLES = {"pandoc": "[@{key}, p. {page}]", "latex": r"\cite[p.~{page}]{{{key}}}"}
"""How a page is cited in a text that is typeset elsewhere."""
_PLAIN_KEY = re.compile(r"\w+(?:[:.#$%&\-+?<>~/]\w+)*")
"""A key that Pandoc reads without braces."""
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
    from ragscience.ask.paper_text import PaperText

    paper = find_paper(library, name)
    parts = PaperText(library, paper).parts
    tables: list[OutlineEntry] = []
    figures: list[OutlineEntry] = []
    beside = (0,) if has_pages(paper.file) else (0, 1)
    for index, part in enumerate(parts):
        entry = OutlineEntry(part.text.strip().partition("\n")[0].strip(), part.page)
        near = parts[max(index - 1, 0) : index + 2]
        if part.kind == "caption":
            (tables if _TABLE.match(entry.text) else figures).append(entry)
        elif part.kind == "table" and not any(one.kind == "caption" and part.page - one.page in beside for one in near):
            tables.append(entry)
    return PaperOutline(
        paper,
        tuple(library.contents(paper.paper_id).pages),
        citation_keys(library.papers())[paper.paper_id],
        tuple(OutlineEntry(" ".join(one.text.split()), one.page, one.level) for one in parts if one.kind == "heading"),
        tuple(tables),
        tuple(figures),
        _count_works([one.text for one in parts if one.kind == "reference"]),
        PaperNames.of(library).of_paper(paper.paper_id),
    )


def _count_works(references: Sequence[str]) -> int:
    """How many works are listed; a numbered entry that continues on another page or column is one."""
    numbered = sum(bool(_NUMBERED.match(text)) for text in references)
    return numbered if 2 * numbered > len(references) else len(references)


def authors_label(paper: Paper) -> str:
    """The authors as they are cited: "Kleinberg", "Kingma & Ba", "Vaswani et al."; empty where they are not known."""
    names = [_family(name) for name in sure_authors(paper)]
    return f"{names[0]} et al." if len(names) > 2 else " & ".join(names)


def _family(name: str) -> str:
    """The family name with its particles: "van den Driessche" of "George van den Driessche"."""
    person = person_of(name)
    return f"{person.particle} {person.family}".strip() or person.literal


PAPER_COLUMNS: dict[str, Callable[[Paper], str]] = {
    "author": authors_label,
    "year": lambda paper: str(sure_year(paper) or ""),
    "pages": lambda paper: str(paper.pages),
    "title": title_of,
    "file": lambda paper: paper.file,
}
"""What each column says of a paper; empty where it is not known."""
PAPER_ORDERS: dict[str, Callable[[Paper], tuple[object, ...]]] = {
    "file": lambda _paper: (),
    "author": lambda paper: (not sure_authors(paper), *(_family(one).casefold() for one in sure_authors(paper))),
    "year": lambda paper: (-(sure_year(paper) or 0),),
    "pages": lambda paper: (-paper.pages,),
    "title": lambda paper: (not title_of(paper), title_of(paper).casefold()),
    "added": lambda paper: tuple(-ord(character) for character in paper.added_at),
}
"""The key of each order, below which the file's name decides: the newest and the longest first, unknown last."""


def in_order(papers: Sequence[Paper], order: str) -> list[Paper]:
    """The papers in one of PAPER_ORDERS."""
    return sorted(papers, key=lambda paper: (*PAPER_ORDERS[order](paper), paper.file.casefold(), paper.file))


T = TypeVar("T")


class Papers:
    """What there is in the library; damage that is met on the way is published."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared

    def list(self) -> list[Paper]:
        """All papers, by their names."""
        return self._after_damage(self._shared.library.papers())

    def matching(self, pattern: str) -> Sequence[Paper]:
        """The papers that a pattern fits, in any case; none where none does.

        A listed name, path or MD5 means that paper alone; all else is a part of the file's name or of the title, a
        pattern with `*`, or what a paper calls itself.
        """
        return self._after_damage(papers_matching(self._shared.library, pattern))

    def find(self, patterns: Sequence[str]) -> Sequence[Paper]:
        """The papers that the patterns fit, each once. Raises NothingFound for a pattern that fits none."""
        return self._after_damage(find_papers(self._shared.library, patterns))

    def page(self, name: str, number: int) -> PaperPage:
        """A page, as it was read, of the one paper that `name` fits (see `matching`).

        Raises NothingFound where no paper fits or it has no such page, UsageError where several papers fit.
        """
        library = self._shared.library
        paper = find_paper(library, name)
        if number > paper.pages:
            raise NothingFound(f"{paper.file} has {counted_places([paper])}, not {number}.", "Ask for one of them.")
        contents = library.contents(paper.paper_id)
        on_page = tuple(element for element in contents.elements if element.page == number)
        return self._after_damage(PaperPage(paper, contents.page(number), contents.text(number), on_page))

    def abstract(self, paper: Paper, *, only: bool = False) -> str:
        """What is said to be its abstract where it came from, or stands there; else, unless `only`, its first text."""
        from ragscience.ask.paper_text import PaperText

        library = self._shared.library
        parts = [part.text for part in PaperText(library, paper).parts if part.kind == "abstract"]
        begins = (one.text for one in library.paper_chunks(paper.paper_id) if one.kind == "text" and not only)
        return self._after_damage(paper.metadata.abstract or joined_lines("\n".join(parts)) or next(begins, ""))

    def outline(self, paper: str) -> PaperOutline:
        """A paper with its headings, tables, figures and references. Raises as `page`."""
        return self._after_damage(paper_outline(self._shared.library, paper))

    def bibliography(
        self, papers: Sequence[str] = (), *, cited_by: Sequence[Answer] | None = None, csl: bool = False
    ) -> tuple[int, str]:
        """(how many, as BibTeX or CSL-JSON) of the papers that `papers` fit, that the answers cite, or of all papers.

        Raises NothingFound for a name that fits no paper.
        """
        every = self._shared.library.papers()
        named = find_papers(self._shared.library, papers) if papers else every
        entries = entries_of(named, every) if cited_by is None else entries_cited(cited_by, every)
        return self._after_damage((len(entries), as_csl(entries) if csl else as_bibtex(entries)))

    def citing(self, style: str) -> Cite | None:
        """What cites a page as Pandoc's Markdown ("pandoc") or LaTeX ("latex") does, by the keys of `bibliography`.

        A paper that has left the library is cited by its file. None for another style.
        """
        if style not in CITE_STYLES:
            return None
        papers = self._shared.library.papers()
        keys = citation_keys(papers)
        known = {name: keys[one.paper_id] for one in papers for name in (one.file, one.path, one.md5)}

        def cite(citation: Citation) -> str:
            names = filter(None, (citation.md5, citation.path, citation.file))
            key = next((known[name] for name in names if name in known), "")
            if style == "pandoc" and not _PLAIN_KEY.fullmatch(key):
                key = key and f"{{{key}}}"
            form = CITE_STYLES[style] if has_pages(citation.file) else CITE_STYLES[style].replace("p.", "para.")
            written = form.format(key=key, page=citation.page)
            return written if key else cited_label(citation.file, citation.page)

        return cite

    def surroundings(self, answer: Answer, number: int) -> Surroundings:
        """The page of source `number` of an answer, with the quotes on it.

        Raises UsageError for a number that the answer does not list, NothingFound where the paper has left the library.
        """
        return self._after_damage(surroundings(answer, number, self._shared.library))

    def duplicates(self) -> Sequence[Duplicate]:
        """The pairs of papers that are the same one, in other bytes or in an older version."""
        self._shared.on_event(Progressed("checking pairs of papers", 1, 1))  # each time, unlike `publish`
        return self._after_damage(near_duplicates(self._shared.library.fingerprints()))

    def skipped(self) -> Sequence[SkippedFile]:
        """The files that the last runs saw and did not read into the library, each with the reason, by path."""
        library, exists = self._shared.library, self._shared.files.exists
        return SkippedFiles(library.home, exists).present(known_files(library))

    def opened(self, path: Path) -> AbstractContextManager[Path]:
        """The file at a paper's path, or what stands for it on this machine."""
        paper = self._shared.library.paper(path=str(path))
        return self._shared.files.opened(path, paper.md5) if paper else nullcontext(path)

    def write_marked_pages(self, citations: Sequence[Citation], target: Path, *, on_event: OnEvent = unheard) -> int:
        """Write a PDF of the pages that are cited, with the quotes marked; how many pages.

        Raises UsageError where `target` is a file that was not made so, RagScienceError where it cannot be written.
        """
        from ragscience.engine.page_files import write_marked_pages

        return write_marked_pages(citations, target, warn=lambda text: on_event(Warned(text)), opened=self.opened)

    def _after_damage(self, made: T) -> T:
        self._shared.publish_damage()
        return made
