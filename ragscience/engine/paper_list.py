"""The papers of a library as a list: what its columns say, and its orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragscience.core.errors import UsageError
from ragscience.core.paper_records import SURE
from ragscience.core.records import Paper, title_of
from ragscience.reading.author_names import last_name
from ragscience.reading.name_words import PARTICLES

__all__ = ["PAPER_COLUMNS", "PAPER_ORDERS", "USUAL_COLUMNS", "authors_label", "columns_named", "in_order"]


def authors_label(paper: Paper) -> str:
    """The authors as they are cited: "Kleinberg", "Kingma & Ba", "Vaswani et al."; empty where they are not known."""
    names = [_family(name) for name in _sure_authors(paper)]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " & ".join(names)


def _sure_authors(paper: Paper) -> tuple[str, ...]:
    known = paper.metadata
    return known.authors if known.confidence.get("authors", 0.0) >= SURE else ()


def _family(name: str) -> str:
    """The family name with its particles: "van den Driessche" of "George van den Driessche"."""
    last, words = last_name(name), name.split()
    if last not in words:
        return last or name
    begin = end = len(words) - 1 - words[::-1].index(last)
    while begin > 1 and words[begin - 1].islower() and words[begin - 1] in PARTICLES:
        begin -= 1
    return " ".join(words[begin : end + 1])


def _year(paper: Paper) -> str:
    return str(paper.metadata.year or "") if paper.metadata.confidence.get("year", 0.0) >= SURE else ""


PAPER_COLUMNS: dict[str, Callable[[Paper], str]] = {
    "author": authors_label,
    "year": _year,
    "pages": lambda paper: str(paper.pages),
    "title": title_of,
    "file": lambda paper: paper.file,
    "added": lambda paper: paper.added_at[:16].replace("T", " "),
    "passages": lambda paper: str(paper.chunks),
    "authors": lambda paper: ", ".join(_sure_authors(paper)),
    "venue": lambda paper: paper.metadata.venue,
    "doi": lambda paper: paper.metadata.doi,
    "arxiv": lambda paper: paper.metadata.arxiv_id,
    "path": lambda paper: paper.path,
    "warnings": lambda paper: "; ".join(paper.warnings),
}
"""What each column says of a paper; empty where it is not known."""
USUAL_COLUMNS = ("author", "year", "pages", "title", "file")

PAPER_ORDERS: dict[str, Callable[[Paper], tuple[object, ...]]] = {
    "file": lambda _paper: (),
    "author": lambda paper: (not _sure_authors(paper), *(_family(one).casefold() for one in _sure_authors(paper))),
    "year": lambda paper: (-int(_year(paper) or 0),),
    "pages": lambda paper: (-paper.pages,),
    "title": lambda paper: (not title_of(paper), title_of(paper).casefold()),
    "added": lambda paper: tuple(-ord(character) for character in paper.added_at),
}
"""The key of each order, below which the file's name decides: the newest and the longest first, unknown last."""


def columns_named(names: str) -> tuple[str, ...]:
    """The columns of "author,year". Raises UsageError for one that there is not."""
    wanted = tuple(filter(None, (name.strip().lower() for name in names.split(","))))
    for name in wanted:
        if name not in PAPER_COLUMNS:
            raise UsageError(f"There is no column {name!r}.", f"Columns: {', '.join(PAPER_COLUMNS)}.")
    return wanted or USUAL_COLUMNS


def in_order(papers: Sequence[Paper], order: str) -> list[Paper]:
    """The papers in one of PAPER_ORDERS. Raises UsageError for one that there is not."""
    if order not in PAPER_ORDERS:
        raise UsageError(f"Papers cannot be sorted by {order!r}.", f"Sort by one of: {', '.join(PAPER_ORDERS)}.")
    return sorted(papers, key=lambda paper: (*PAPER_ORDERS[order](paper), paper.file.casefold(), paper.file))
