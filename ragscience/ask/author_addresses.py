"""Where the authors of a paper work and how they are reached, in quotes from its first page and its end."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragscience.ask.paper_text import PaperText, Part
from ragscience.ask.papers_meant import listed
from ragscience.ask.route_records import RouteContext, Routed
from ragscience.core.records import Block, Paper, title_of
from ragscience.core.tokenizing import STOP_WORDS, joined_lines
from ragscience.library.filter_selection import plain_name

__all__ = ["ADDRESSES", "addresses"]

ADDRESSES = {"workplaces": "where its authors work", "e-mail addresses": "the e-mail address of an author"}
"""What may be asked of a paper's authors, in words."""

_WORKPLACE = re.compile(
    r"universi|institut|école|academ(?:y|ia)|\bcolleg|\bschool of|hospital|clinic\b|facult|departe?ment|\bdept\b|"
    r"laborator|\blabs?\b|cent(?:re|er) (?:for|of)|\binc\b|corporation|\bcorp\b|company|\bltd\b|\bgmbh\b|\bllc\b|"
    r"google|microsoft|openai|facebook|\bmeta\b|deepmind|anthropic|nvidia|amazon|\bibm\b|apple\b|"
    r"ministry|secretariat|council\b|agency\b|p\. ?o\. ?box|"
    r"affiliat|while (?:at|interning|with)|\bintern(?:ing|ship)?\b|correspond",
    re.IGNORECASE,
)
_MAIL = re.compile(r"\S@|@\S|\be-?mail:", re.IGNORECASE)
_OTHER = re.compile(
    r"proceedings of|copyright|©|\(c\) |licen[sc]e|received (?:on )?\d|permission (?:to|of)|must be obtained|doi:|"
    r"https?://|preliminary version|this paper is",
    re.IGNORECASE,
)
_DETAILS = re.compile(
    r"(?:[\dA-Z]{1,3}\.?\s+)?author(?:s|['’´]s|s['’´])? (?:details|information|affiliations?|addresses)|"
    r"correspond(?:ence|ing authors?)|affiliations?",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+")
_LONGEST = 900
"""Characters: a longer block of authors has run into the text."""
_MOST_SMALL = 0.3
"""The share of small words from which on it is a sentence, not names and places."""
_MOST = 12


def addresses(fact: str, papers: Sequence[Paper], context: RouteContext) -> Routed:
    """The blocks of each paper's first page, or of its end, that say where its authors work or how they are reached."""
    blocks, found = list[Block](), False
    for paper in papers:
        quotes = _quotes(PaperText(context.library, paper), only_mail=fact == "e-mail addresses")
        title = f"“{' '.join(title_of(paper).split()) or paper.file}” ({paper.file})"
        by = f" was written by {listed(paper.metadata.authors)}" if paper.metadata.authors else ""
        if quotes:
            blocks.append(Block("text", f"The paper {title}{by or ' says of its authors'}:"))
        else:
            blocks.append(Block("text", f"The first page of {title} does not tell {ADDRESSES[fact]}."))
        blocks += quotes
        found = found or bool(quotes)
    note = f"Looked at the first page of {listed([paper.file for paper in papers[:3]])} for {ADDRESSES[fact]}."
    return Routed("papers", note, tuple(blocks), confidence="high" if found else "low")


def _quotes(paper: PaperText, *, only_mail: bool) -> list[Block]:
    """The blocks of the paper that say where its authors work, or `only_mail` those with an address for mail."""
    surnames = {plain_name(author).rpartition(" ")[2] for author in paper.paper.metadata.authors}
    chosen = []
    for part in paper.parts:
        text = joined_lines(part.text)
        if part.kind in ("title", "heading", "reference") or len(text) > _LONGEST or _OTHER.search(text):
            continue
        if only_mail:
            tells = _MAIL.search(text) is not None
        else:
            tells = bool(_MAIL.search(text) or _WORKPLACE.search(text))
            tells = tells or (part.kind != "footnote" and not surnames.isdisjoint(_LETTERS.findall(plain_name(text))))
        if tells and _is_of_authors(part, text):
            chosen.append(Block("quote", text, paper.cite([part])))
    return chosen[:_MOST]


def _is_of_authors(part: Part, text: str) -> bool:
    """Whether it stands where authors and their addresses do: above the abstract, in a footnote there, at the end."""
    if _DETAILS.fullmatch(part.section.rpartition(" › ")[2]) or (part.page == 1 and part.kind == "footnote"):
        return True
    words = text.casefold().split()
    small = sum(word.strip(".,;:()") in STOP_WORDS for word in words)
    return part.page == 1 and (part.kind == "authors" or not part.section) and small < _MOST_SMALL * len(words)
