"""Papers, their pages and passages.

Positions are counted in characters of `Document.text`; pages are numbered from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import PurePath

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points (1/72 inch) from the top left corner of the page as it is shown."""
SURE = 0.5
"""Confidence from which on a field of `Metadata` is taken for true."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: `Document.text[start:end]` is in `box`."""

    start: int
    end: int
    box: Box


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document: `Document.text[start:end]` is what was read from it."""

    number: int
    """From 1."""
    start: int
    end: int
    warning: str = ""
    """Why this page has less text than it should ("could not be read: …"), or empty."""
    lines: tuple[Line, ...] = ()
    """In the order of the text; empty where they are not known."""
    furniture: str = ""
    """What the text leaves out: running heads, page numbers, stamps; a line each."""


@dataclass(frozen=True, slots=True)
class PageShape:
    """How a page is shown. Points are 1/72 inch."""

    width: float
    """In points, as the page is shown."""
    height: float
    rotation: int
    """Degrees clockwise by which it is turned to be shown: 0, 90, 180 or 270."""
    crop_box: Box
    """The part that is shown: left, bottom, right, top in the file's own units and axes, before the page is turned."""


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a document on one page: `Document.text[start:end]` is of one kind."""

    start: int
    end: int
    kind: str
    """One of "title", "authors", "abstract", "heading", "text", "list", "caption", "table", "figure" (the text in one),
    "equation", "footnote", "reference"."""
    page: int
    level: int = 0
    """Of a heading, from 1; 0 for all else."""
    section: str = ""
    """The headings above it, outermost first: "3 Model › 3.2 Attention"; a heading's own is the last."""
    box: Box | None = None
    """Around all its lines; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a reader marked in a paper, or wrote to it."""

    page: int
    """From 1; of a note to the whole paper, 1."""
    text: str
    """The words that are marked; empty for a note alone."""
    comment: str = ""
    link: str = ""
    """Opens it in the program that has it; empty where there is none."""
    author: str = ""
    """Who made it, where the file says so."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """Bibliographic fields, read from the first page and the file; empty where unknown."""

    title: str = ""
    authors: tuple[str, ...] = ()
    """In the order printed, given name first."""
    year: int | None = None
    """As printed or as the paper's source says; None where neither does."""
    venue: str = ""
    """Conference or journal without the year; school or institution of a thesis or report."""
    doi: str = ""
    """Without a prefix: "10.1136/pgmj.2009.089987"."""
    arxiv_id: str = ""
    """With its version where that is printed: "1706.03762v7"."""
    confidence: Mapping[str, float] = field(default_factory=dict)
    """0 to 1 for each field that is filled, by its name."""
    abstract: str = ""
    """This and the fields up to `published` are known only of a fetched paper, from its source."""
    categories: tuple[str, ...] = ()
    """arXiv's subject classes, the primary one first: ("cs.CL", "cs.LG")."""
    url: str = ""
    """Where the file was fetched from."""
    published: str = ""
    """The day of its first version, as "2017-06-12"."""
    kind: str = ""
    """What was published: "article", "inproceedings", "phdthesis", "mastersthesis", "techreport"; empty if unclear."""
    volume: str = ""
    """This and the fields below as printed on the first page."""
    number: str = ""
    """Of a journal's issue or of a report."""
    pages: str = ""
    """ "305-313", or an article's number: "e85777"."""
    collections: tuple[str, ...] = ()
    """This and the fields below are known only of a paper in a library of references or in a folder of papers/: the
    collections that have it, with those above: "Reading › Protocols"."""
    tags: tuple[str, ...] = ()
    item_type: str = ""
    """Zotero's: "journalArticle"."""
    citation_key: str = ""
    link: str = ""
    """Opens the file in Zotero: "zotero://open-pdf/library/items/ABCD2345"."""
    part: str = ""
    """What a further file of the same item is: "Supplement"; empty for the paper itself."""
    newest_reference: int | None = None
    """The year of the newest work that it cites."""


_FILE_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_FILE_ARXIV = re.compile(r"(?<!\d)(\d\d)(?:0[1-9]|1[0-2])\.\d{4,5}(?!\d)")
NEWEST = "its newest reference"
"""What says a year from which on the paper is, where nothing else says one."""
LOST_PAGE = "could not be read"
"""How the warning of a page begins that is damaged."""
REPAIRED_FILE = "damaged and repaired: something may be missing"
"""The warning of a document whose file is damaged."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file as read: the whole text, and where each page begins and ends in it."""

    text: str
    pages: tuple[Page, ...]
    title: str = ""
    warnings: tuple[str, ...] = ()
    elements: tuple[Element, ...] = ()
    """In the order of the text, which they cover but for blanks; empty where the structure is not known."""
    metadata: Metadata = field(default_factory=Metadata)
    marks: tuple[Mark, ...] = ()
    """Those in the file itself."""


def title_of(paper: Paper) -> str:
    """The title read from the first page where that is sure enough, else the file's own."""
    sure = paper.metadata.confidence.get("title", 0.0) >= SURE
    return (sure and paper.metadata.title) or paper.title or paper.metadata.title


def sure_authors(paper: Paper) -> tuple[str, ...]:
    """The authors where they were read surely enough; else none."""
    return paper.metadata.authors if paper.metadata.confidence.get("authors", 0.0) >= SURE else ()


def sure_year(paper: Paper) -> int | None:
    """The year where it was read surely enough."""
    return paper.metadata.year if paper.metadata.confidence.get("year", 0.0) >= SURE else None


def years_of(paper: Paper) -> dict[int, str]:
    """The years that a paper may be said to be from, the likeliest first, each with what says so; "" for its page."""
    stem, metadata = PurePath(paper.file).stem, paper.metadata
    arxiv, plain = _FILE_ARXIV.search(metadata.arxiv_id or stem), _FILE_YEAR.search(stem)
    years = {metadata.year: ""} if metadata.year else {}
    if arxiv:
        years.setdefault(2000 + int(arxiv[1]), "its arXiv id")
    elif plain:
        years.setdefault(int(plain[1]), "its file's name")
    newest = metadata.newest_reference
    return years or ({newest: NEWEST} if newest else {})


def year_of(paper: Paper) -> tuple[int | None, str]:
    """The first of `years_of`, and what says so; (None, "") where nothing does."""
    return next(iter(years_of(paper).items()), (None, ""))


def searched_text(header: str, text: str) -> str:
    """The text of a passage that is embedded, indexed and reranked; only `text` is cited."""
    return f"{header}\n{text}" if header else text


NOTE = "note"
"""The kind of a passage that is not the paper's: a reader's mark or note."""
ASKED_KINDS = ("reference", "figure", NOTE)
"""Passages that a search finds only where they are asked for: references, words in figures, readers' notes."""
PASSAGE_KINDS = ("text", "abstract", "table", "caption", "equation", "footnote", *ASKED_KINDS, "all")
"""What a passage can be, and "all", which has those too."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: `Document.text[start:end] == text`, on pages `page_start` to `page_end` inclusive."""

    ordinal: int
    """From 0, in the order of the document."""
    text: str
    start: int
    end: int
    page_start: int
    page_end: int
    section: str = ""
    kind: str = "text"
    header: str = ""
    """Its "title › section", and the header row for later parts of a table: searched with the text, not part of it."""

    @property
    def searched(self) -> str:
        """See `searched_text`."""
        return searched_text(self.header, self.text)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper in the library."""

    paper_id: int
    file: str
    """The shortest unambiguous name: `attention.pdf`, or `2017/attention.pdf`."""
    path: str
    """The full path that it was read from."""
    md5: str
    """Of the file's bytes, in hexadecimal."""
    size_bytes: int
    modified_ns: int
    """The file's mtime when it was read, in nanoseconds since 1970."""
    pages: int
    chunks: int
    title: str
    added_at: str
    """ISO 8601, UTC."""
    warnings: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=Metadata)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk in the library, with its paper."""

    chunk_id: int
    paper_id: int
    file: str
    path: str
    ordinal: int
    text: str
    start: int
    end: int
    page_start: int
    page_end: int
    section: str
    kind: str
    page_breaks: tuple[tuple[int, int], ...]
    """(offset in `text`, page number) for each page that the chunk touches; the first offset is 0."""
    header: str = ""
    """As of the chunk."""
    md5: str = ""
    """Of the paper's file; empty in an answer that an older version kept."""

    @property
    def searched(self) -> str:
        """See `searched_text`."""
        return searched_text(self.header, self.text)


NOTES_OF = "Notes of "
"""How the section of a note begins whose author is known."""


def note_text(note: StoredChunk) -> str:
    """A reader's note, with its author in brackets where it is known."""
    return f"{note.text} ({note.section})" if note.section.startswith(NOTES_OF) else note.text


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """The model that made a library's vectors; vectors of different identities are never mixed."""

    provider: str
    """ "embedded", "ollama" or "sentence-transformers"."""
    model: str
    digest: str
    """Of the weights, in hexadecimal (sha256, or what Ollama calls the model's digest)."""
    dimension: int


FORMATS = (".docx", ".epub", ".html", ".htm", ".md", ".txt", ".tex")
"""Endings of files without pages: their places are paragraphs, each a `Page` of its document."""
ENDING = r"\.(?:pdf|docx|epub|html?|md|txt|tex)(?!\w)"
"""A pattern for the endings of all files that are read."""
PLACE = "¶"
"""What a paragraph's number has in front of it."""


def formats_read() -> tuple[str, ...]:
    """Those of FORMATS that can be read here: without pandoc plain text alone."""
    return FORMATS if find_spec("pypandoc") else (".txt",)


def has_pages(file: str) -> bool:
    """Whether the places of a file with this name are pages."""
    return not file.lower().endswith(FORMATS)


def place_label(file: str, page: int, last: int | None = None) -> str:
    """`p.3`, or `¶3` in a file without pages; `p.3-4` up to a last one."""
    until = "" if last in (None, page) else f"-{last}"
    return f"{'p.' if has_pages(file) else PLACE}{page}{until}"


def page_label(file: str, page: int) -> str:
    """The form that a source has everywhere: `(file.pdf, p.3)`, `(notes.md, ¶3)`."""
    return f"({file}, {place_label(file, page)})"


def counted_places(papers: Iterable[Paper]) -> str:
    """How long papers are together: "12 pages", "30 paragraphs", "1 page and 30 paragraphs"."""
    papers = tuple(papers)
    pages = sum(paper.pages for paper in papers if has_pages(paper.file))
    counts = {"page": pages, "paragraph": sum(paper.pages for paper in papers) - pages}
    return " and ".join(f"{n:,} {name}{'s' * (n != 1)}" for name, n in counts.items() if n) or "0 pages"


def page_parts(chunk: StoredChunk, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(page, start, end) for each page that `chunk.text[start:end]` has words on, in order."""
    breaks = [*chunk.page_breaks, (len(chunk.text), 0)]
    for (begin, page), (stop, _) in pairwise(breaks):
        left, right = max(start, begin), min(end, stop)
        if left < right and chunk.text[left:right].strip():
            yield page, left, right
