"""How papers and counts are put in a sentence, and where a paper says something on its first page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragscience.core.records import Citation, Paper, title_of
from ragscience.library.store import Store

_LONGEST_NAME = 40


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


def listed(items: Sequence[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(items[:-1])} {joint} {items[-1]}" if len(items) > 1 else "".join(items)


def printed_at(library: Store, paper: Paper, words: Iterable[str]) -> tuple[Citation, ...]:
    """The line of the paper's first page that has the first of the words that it has at all; empty without any."""
    page = next((page for page in library.contents(paper.paper_id).pages if page.number == 1), None)
    if page is None:
        return ()
    text = library.contents(paper.paper_id).text(1)
    for word in words:
        at = text.find(word) if word else -1
        if at < 0:
            continue
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        span = page.start + start, page.start + end
        boxes = library.contents(paper.paper_id).boxes(1, *span)
        return (Citation(paper.file, 1, " ".join(text[start:end].split()), True, paper.path, *span, boxes),)
    return ()
