"""The papers that part of a question means, and how a paper is written in an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ragscience.ask.route_records import RouteContext
from ragscience.core.records import Citation, Paper, title_of
from ragscience.core.tokenizing import tokenize
from ragscience.library.store import Store

__all__ = [
    "counted",
    "first_named",
    "is_only_name",
    "label",
    "listed",
    "papers_meant",
    "printed_at",
    "says_paper",
    "short_label",
]

_FILLER = frozenset(
    """
    the a an this that these those my our their its paper papers article articles publication study preprint manuscript
    work works pdf file report thesis original by of on about for from in called titled named entitled et al and s
    """.split()  # noqa: SIM905  # a list of forty strings reads worse
)
_PAPER = re.compile(
    r"\b(?:papers?|articles?|pdfs?|publications?|preprints?|manuscripts?|stud(?:y|ies)|thesis)\b", re.IGNORECASE
)
_LONGEST_NAME = 40
_MOST_BY_TITLE = 3
"""Words that more titles than these have in common name none of them."""


def papers_meant(text: str, context: RouteContext) -> tuple[Paper, ...]:
    """The papers within the filters that the text names and nothing besides; empty where it says more, or names none.

    A text that names no paper may have words of its title: "the sepsis paper".
    """
    named, rest = _named(text, context)
    if named:
        return () if _content(rest) else tuple(paper for paper in context.papers if paper.paper_id in named)
    words = set(tokenize(" ".join(_content(text))))
    if not words or not says_paper(text):
        return ()
    having = [paper for paper in context.papers if words <= set(tokenize(f"{title_of(paper)} {Path(paper.file).stem}"))]
    return tuple(having) if len(having) <= _MOST_BY_TITLE else ()


def first_named(text: str, context: RouteContext) -> tuple[Paper, ...]:
    """The papers within the filters that the first name in the text means, whatever else it says."""
    found = context.names.in_text(text)
    first = [name for name in found if name.start == found[0].start]
    most = max((name.strength for name in first), default=0.0)
    named = {name.paper_id for name in first if name.strength >= most}
    return tuple(paper for paper in context.papers if paper.paper_id in named)


def is_only_name(text: str, context: RouteContext) -> bool:
    """Whether the text is the name of a paper, and nothing besides."""
    named, rest = _named(text, context)
    return bool(named) and not _content(rest)


def says_paper(text: str) -> bool:
    """Whether the text speaks of a paper by that word."""
    return bool(_PAPER.search(text)) or ".pdf" in text.casefold()


def _named(text: str, context: RouteContext) -> tuple[set[int], str]:
    """The ids of the papers that the text names, those of each name that it means most; and the rest of the text."""
    found = context.names.in_text(text)
    best: dict[tuple[int, int], float] = {}
    for name in found:
        best[name.start, name.end] = max(best.get((name.start, name.end), 0.0), name.strength)
    rest, at = [], 0
    for start, end in sorted(best):
        rest.append(text[at:start])
        at = max(at, end)
    rest.append(text[at:])
    ids = {name.paper_id for name in found if name.strength >= best[name.start, name.end]}
    return ids, " ".join(rest).replace(".pdf", " ")


def _content(text: str) -> list[str]:
    words = re.findall(r"[^\W_]++", text.casefold())
    return [word for word in words if word not in _FILLER]


def label(paper: Paper, *, year: bool = True) -> str:
    """`Title (2017)`; the file's name where the title is not known."""
    title = " ".join(title_of(paper).split()) or paper.file
    return f"{title} ({paper.metadata.year})" if year and paper.metadata.year else title


def short_label(paper: Paper) -> str:
    """`BERT (2019)`: the title up to its colon, where it has one soon, with the year."""
    title = label(paper, year=False)
    name, colon, _ = title.partition(":")
    year = f" ({paper.metadata.year})" if paper.metadata.year else ""
    return f"{name if colon and len(name) <= _LONGEST_NAME else title}{year}"


def counted(number: int, noun: str) -> str:
    """`1 paper`, `1,200 papers`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(items: Sequence[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(items[:-1])} {joint} {items[-1]}" if len(items) > 1 else "".join(items)


def printed_at(library: Store, paper: Paper, words: Iterable[str]) -> tuple[Citation, ...]:
    """The line of the paper's first page that has the first of the words that it has at all; empty without any."""
    page = next((page for page in library.pages(paper.paper_id) if page.number == 1), None)
    if page is None:
        return ()
    text = library.page_text(paper.paper_id, 1)
    for word in words:
        at = text.find(word) if word else -1
        if at < 0:
            continue
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        span = page.start + start, page.start + end
        boxes = library.boxes(paper.paper_id, 1, *span)
        return (Citation(paper.file, 1, " ".join(text[start:end].split()), True, paper.path, *span, boxes),)
    return ()
