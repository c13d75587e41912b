"""Tool calls and their results: passages of a page or section, and texts for a model to read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ragscience.ask.prompts import PASSAGE, fenced_text, passage_text, prompt_name
from ragscience.core.counts import counted
from ragscience.core.errors import NothingFound
from ragscience.core.page_spans import page_label
from ragscience.core.prompt_sanitizer import sanitize
from ragscience.core.records import Element, Hit, Paper, StoredChunk

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["MOST_HITS", "ToolCall", "ToolResult", "looked_up", "page_text", "paper_list", "section_of", "shown"]

MOST_HITS = 12
"""Passages that one result gives to cite: a section may have a hundred."""
_NUMBER = re.compile(r"(?:section|sec\.?|§|appendix)?\s*((?:\d+|[A-Z])(?:\.\d+)*)\.?", re.IGNORECASE)
_HEADINGS_IN_ERRORS = 12
_LEAST_SHOWN = 80
"""Characters of a passage below which it is left out and not cut."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is to be used."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave."""

    text: str
    """For the model; text of papers is fenced and sanitized."""
    hits: tuple[Hit, ...] = ()
    """The passages to cite, the best or first ones; `text` may not contain all of them."""
    error: bool = False
    """Whether the text says what was wrong with the call."""


def looked_up(chunks: Sequence[StoredChunk], by: str) -> tuple[Hit, ...]:
    """Passages of a place in a paper, in its order, as hits of score 1 without search scores."""
    none = {"dense": None, "bm25": None, "fused": None, "rerank": None}
    return tuple(Hit(rank, chunk, 1.0, none, (by,)) for rank, chunk in enumerate(chunks, start=1))


def shown(hits: Sequence[Hit], most_chars: int) -> ToolResult:
    """The passages as a model reads them, as many as fit into `most_chars`, with a note on those left out.

    The first `MOST_HITS` are returned as hits, whether they fit into the text or not.
    """
    texts: list[str] = []
    left = most_chars
    for hit in hits:
        text = passage_text(hit, fenced_text(hit.chunk))
        if len(text) > left and texts:
            break
        if len(text) > left:
            fence = len(text) - len(fenced_text(hit.chunk))
            text = passage_text(hit, fenced_text(hit.chunk)[: max(left - fence, _LEAST_SHOWN)] + " […]")
        texts.append(text)
        left -= len(text)
    missing = len(hits) - len(texts)
    if missing:
        said = "1 passage was" if missing == 1 else f"{missing} passages were"
        texts.append(f"({said} left out: a result has at most {most_chars} characters. Ask for less.)")
    return ToolResult("\n".join(texts), tuple(hits[:MOST_HITS]))


def page_text(file: str, page: int, text: str, most_chars: int) -> str:
    """A page's text as a model reads it, cut to `most_chars`."""
    harmless = sanitize(text)
    cut = harmless[:most_chars]
    fenced = PASSAGE.format(number=1, source=page_label(prompt_name(file), page), page_content=cut)
    left_out = len(harmless) - len(cut)
    return f"{fenced}\n({left_out} characters of the page were left out.)" if left_out else fenced


def paper_list(papers: Sequence[Paper], most_chars: int) -> str:
    """A line a paper: file, title, first author, year, pages; as many as fit, and how many are left out."""
    if not papers:
        return "The library has no papers."
    lines = [f"{len(papers)} papers:" if len(papers) > 1 else "1 paper:"]
    used = len(lines[0])
    for number, paper in enumerate(papers):
        line = _line(paper)
        used += len(line) + 1
        if used > most_chars:
            lines.append(f"({len(papers) - number} more are left out.)")
            break
        lines.append(line)
    return "\n".join(lines)


def _line(paper: Paper) -> str:
    known = paper.metadata
    others = " et al." if len(known.authors) > 1 else ""
    parts = [known.title or paper.title, f"{known.authors[0]}{others}" if known.authors else "", str(known.year or "")]
    said = ", ".join(" ".join(sanitize(part).split()) for part in parts if part)
    return f"{prompt_name(paper.file)}: {said or 'title not known'} ({counted(paper.pages, 'page')})"


def section_of(library: Store, paper: Paper, section: str) -> list[StoredChunk]:
    """The passages of a section, given by number or words of its heading, with its subsections.

    Raises NothingFound, naming the paper's headings, if no section matches.
    """
    chunks = library.paper_chunks(paper.paper_id)
    elements = library.elements(paper.paper_id)
    spans = [(element.start, element.end) for element in elements if _fits(element.section, section, element)]
    found = [chunk for chunk in chunks if any(chunk.start < end and start < chunk.end for start, end in spans)]
    if not elements:
        found = [chunk for chunk in chunks if _fits(chunk.section, section, None)]
    if found:
        return found
    names = dict.fromkeys(element.section.rpartition(" › ")[2] for element in elements if element.kind == "heading")
    known = "; ".join(list(names)[:_HEADINGS_IN_ERRORS]) + ("; …" if len(names) > _HEADINGS_IN_ERRORS else "")
    fix = f"Its headings: {known}." if names else "Its sections are not known: use search or read_page."
    raise NothingFound(f"{paper.file} has no section {section!r}.", fix)


def _fits(path: str, wanted: str, element: Element | None) -> bool:
    """Whether a place with these headings above it, outermost first, is in the section that is wanted."""
    name = " ".join(wanted.casefold().split()).strip(" .:\"'")
    if element is not None and element.kind == "abstract" and name == "abstract":
        return True
    number = _NUMBER.fullmatch(wanted.strip())
    if number:
        label = number.group(1).casefold()
        return any(_label(heading) == label for heading in path.split(" › "))
    words = re.sub(r"(?<!\s)\s++section$|^(?:the|section)\s+", "", name)
    return bool(words) and any(words in heading.casefold() for heading in path.split(" › "))


def _label(heading: str) -> str:
    """The number that a heading begins with: "3.2" of "3.2 Attention"; empty without one."""
    first = heading.partition(" ")[0].casefold().rstrip(".:")
    return first if _NUMBER.fullmatch(first) else ""
