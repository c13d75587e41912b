"""Questions of a paper's metadata: who wrote it, when, where, how long it is, its entry for a bibliography."""

import re
from collections.abc import Sequence

from ragscience.ask.paper_text import PaperText
from ragscience.ask.route_records import RouteContext, Routed, label, listed
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import NEWEST, SURE, counted_places, year_of
from ragscience.core.records import Block, Citation, Paper
from ragscience.core.tokenizing import STOP_WORDS, counted, joined_lines
from ragscience.library.store import Store

ADDRESSES = {"workplaces": "where its authors work", "emails": "the e-mail address of an author"}
"""What may be asked of a paper's authors, in words."""
_LONGEST = 900
"""Characters: a longer block of authors has run into the text."""
_MOST_SMALL = 0.3
"""The share of small words from which on it is a sentence, not names and places."""
_MOST = 12


def _addresses(fact: str, papers: Sequence[Paper], context: RouteContext) -> Routed:
    """The blocks of each paper's first page, or of its end, that say where its authors work or how they are reached."""
    blocks = list[Block]()
    for paper in papers:
        title, authors = f"“{label(paper, year=False)}” ({paper.file})", listed(paper.metadata.authors)
        quotes = addresses(PaperText(context.library, paper), only_mail=fact == "emails")
        said = f"The paper {title} {f'was written by {authors}' if authors else 'says of its authors'}:"
        none = f"The first page of {title} does not tell {ADDRESSES[fact]}."
        blocks += [Block("text", said if quotes else none), *quotes]
    note = f"Looked at the first page of {listed([paper.file for paper in papers[:3]])} for {ADDRESSES[fact]}."
    is_told = any(block.kind == "quote" for block in blocks)
    return Routed("papers", note, tuple(blocks), confidence="high" if is_told else "low")


def addresses(paper: PaperText, *, only_mail: bool = False) -> list[Block]:
    """What stands above the abstract or in a footnote there and is no sentence; or all there with an address."""
    chosen = []
    for part in paper.parts:
        text, words = joined_lines(part.text), part.text.casefold().split()
        is_there = part.kind in ("authors", "footnote") or (not part.section and part.kind not in ("title", "heading"))
        is_prose = sum(word.strip(".,;:()") in STOP_WORDS for word in words) >= _MOST_SMALL * len(words)
        tells = "@" in text if only_mail else not is_prose
        if part.page == 1 and is_there and tells and len(text) <= _LONGEST:
            chosen.append(Block("quote", text, paper.cite([part])))
    return chosen[:_MOST]


_WHICH = (
    ("number of authors", re.compile(r"\b(?:how many|number|count)\b", re.IGNORECASE)),
    ("last author", re.compile(r"\b(?:last|senior|final)\b", re.IGNORECASE)),
    ("first author", re.compile(r"\b(?:first|lead|leading|main|principal|heads)\b", re.IGNORECASE)),
)
_DOI = re.compile(r"\bdoi\b", re.IGNORECASE)
_PASSAGES = re.compile(r"\b(?:passages|chunks)\b", re.IGNORECASE)
_FIELDS = {"year": "year", "venue": "venue", "DOI": "doi", "arXiv id": "arxiv_id", "title": "title", "entry": "title"}
"""Where the fact is read from; else from the authors."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """What the metadata says of the papers that the question names."""
    papers = slots.papers
    if kind in ADDRESSES:
        return _addresses(kind, papers, context)
    fact, question = kind, slots.question
    if kind == "authors":
        fact = next((fact for fact, words in _WHICH if words.search(question)), "authors")
    elif kind == "identifier":
        fact = "DOI" if _DOI.search(question) else "arXiv id"
    elif kind == "length":
        fact = "passages" if _PASSAGES.search(question) else "pages"
    blocks = _entry(papers, context) if kind == "entry" else [_fact(fact, paper, context) for paper in papers]
    if len(papers) > 1 and kind != "entry":
        intro = Block("text", f"The question names {len(papers)} papers:")
        blocks = [intro, *(Block("item", block.text, block.citations) for block in blocks)]
    is_sure = kind == "length" or all(_sure(fact, paper) >= SURE for paper in papers)
    note = f"Read from the metadata of {listed([paper.file for paper in papers[:3]])}."
    return Routed("papers", note, tuple(blocks), confidence="high" if is_sure else "medium")


def _entry(papers: Sequence[Paper], context: RouteContext) -> list[Block]:
    from ragscience.sources.bib_entries import entries_of
    from ragscience.sources.bib_formats import as_bibtex

    entry = as_bibtex(entries_of(papers, context.library.papers())).strip()
    said = f"`python query.py bib {' '.join(paper.file for paper in papers)}` prints the same, `--csl` as CSL-JSON."
    return [Block("text", f"```bibtex\n{entry}\n```"), Block("text", said)]


def _sure(fact: str, paper: Paper) -> float:
    """The confidence of the field that the fact is read from; 0 where it is not known."""
    name = _FIELDS.get(fact, "authors")
    return paper.metadata.confidence.get(name, 1.0) if getattr(paper.metadata, name) else 0.0


def _fact(fact: str, paper: Paper, context: RouteContext) -> Block:
    """The sentence that says it, with the line of the first page where it is printed."""
    known, authors, (year, by) = paper.metadata, paper.metadata.authors, year_of(paper)
    title = f"“{label(paper, year=False)}”"
    facts: dict[str, tuple[str, list[str]]] = {
        "pages": (f"{title} has {counted_places([paper])}", []),
        "passages": (f"{title} has {counted(paper.chunks, 'passage')}", []),
        "title": (f"{paper.file} is {title}", known.title.split()[:1]),
    }
    if year:
        said = " or later" if by == NEWEST else ""
        said += f": its first page does not say so, {by} does" if by else ""
        said += f", at {known.venue}" if known.venue else ""
        said += f" (first version {known.published})" if known.published else ""
        facts["year"] = f"{title} is from {year}{said}", [] if by else [str(year)]
    if known.venue:
        where = f"{'in' if known.kind == 'article' else 'at'} {known.venue} {known.year or ''}".rstrip()
        facts["venue"] = f"{title} was published {where}", [known.venue, known.doi]
    elif known.arxiv_id:
        where = f"The venue of {title} is not known; it is on arXiv as {known.arxiv_id}"
        facts["venue"] = where, [known.arxiv_id]
    for name, value in (("DOI", known.doi), ("arXiv id", known.arxiv_id)):
        facts |= {name: (f"The {name} of {title} is {value}", [value])} if value else {}
    if authors:
        printed, dated = [authors[0], authors[0].split()[-1]], f" ({known.year})" if known.year else ""
        others = f" (of {len(authors)})" if len(authors) > 1 else ""
        facts |= {
            "first author": (f"The first author of {title} is {authors[0]}{others}", printed),
            "last author": (f"The last author of {title} is {authors[-1]}{others}", printed),
            "number of authors": (f"{title} has {counted(len(authors), 'author')}: {listed(authors)}", printed),
            "authors": (f"{title} was written by {listed(authors)}{dated}", printed),
        }
    none = f"The {fact} of {title} {'are' if fact == 'authors' else 'is'} not known"
    said, printed = facts.get(fact, (none, []))
    citations = _printed_at(context.library, paper, printed)
    if not citations and paper.file not in said:
        said = said.replace(title, f"{title} ({paper.file})")
    said = f"The paper {said}" if said.startswith("“") else said  # what begins with “ is read as a quote later
    doubt = " This is not sure: it was hard to read." if 0 < _sure(fact, paper) < SURE else ""
    return Block("text", f"{said}.{doubt}", citations)


def _printed_at(library: Store, paper: Paper, words: Sequence[str]) -> tuple[Citation, ...]:
    """The line of the paper's first page that has the first of the words that it has at all; empty without any."""
    contents = library.contents(paper.paper_id)
    page = next((page for page in contents.pages if page.number == 1), None)
    text = contents.text(1) if page is not None else ""
    at = next((text.index(word) for word in words if word and word in text), None)
    if page is None or at is None:
        return ()
    start, end = text.rfind("\n", 0, at) + 1, f"{text}\n".index("\n", at)
    span = page.start + start, page.start + end
    quote = " ".join(text[start:end].split())
    return (Citation(paper.file, 1, quote, True, paper.path, *span, contents.boxes(1, *span)),)
