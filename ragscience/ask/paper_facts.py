"""Questions of a paper's metadata: who wrote it, when, where, how long it is, its entry for a bibliography."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragscience.ask.paper_text import PaperText
from ragscience.ask.route_records import RouteContext, Routed, listed, printed_at, year_of
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import SURE, counted_places
from ragscience.core.records import Block, Paper, title_of
from ragscience.core.tokenizing import STOP_WORDS, counted, joined_lines

ADDRESSES = {"workplaces": "where its authors work", "emails": "the e-mail address of an author"}
"""What may be asked of a paper's authors, in words."""
_WORKPLACE = re.compile(
    r"universi|institut|academ|colleg|school|hospital|clinic|facult|departm|laborator|\blabs?\b|cent(?:re|er)\b|"
    r"\binc\b|corporation|company|\bltd\b|\bgmbh\b|google|microsoft|openai|facebook|deepmind|\bwhile at\b|"
    r"\S@|@\S|affiliat|correspond",
    re.IGNORECASE,
)
_MAIL = re.compile(r"\S@|@\S|\be-?mail:", re.IGNORECASE)
_RIGHTS = re.compile(r"copyright|©|licen[sc]e|permission|proceedings of", re.IGNORECASE)
_LONGEST = 900
"""Characters: a longer block of authors has run into the text."""
_MOST_SMALL = 0.3
"""The share of small words from which on it is a sentence, not names and places."""
_MOST = 12


def _addresses(fact: str, papers: Sequence[Paper], context: RouteContext) -> Routed:
    """The blocks of each paper's first page, or of its end, that say where its authors work or how they are reached."""
    blocks, found = list[Block](), False
    for paper in papers:
        quotes = _quotes(PaperText(context.library, paper), only_mail=fact == "emails")
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
    """What stands above the abstract or in a footnote there and says where authors work, or has an address for mail."""
    chosen = []
    for part in paper.parts:
        text = joined_lines(part.text)
        is_there = part.kind in ("authors", "footnote") or (not part.section and part.kind != "title")
        if part.page > 1 or not is_there or len(text) > _LONGEST or _RIGHTS.search(text):
            continue
        words = text.casefold().split()
        is_prose = sum(word.strip(".,;:()") in STOP_WORDS for word in words) >= _MOST_SMALL * len(words)
        tells = _MAIL.search(text) if only_mail else part.kind == "authors" or _WORKPLACE.search(text)
        if tells and not (is_prose and part.kind != "footnote"):
            chosen.append(Block("quote", text, paper.cite([part])))
    return chosen[:_MOST]


_WHICH = (
    ("number of authors", re.compile(r"\b(?:how many|number|count)\b", re.IGNORECASE)),
    ("last author", re.compile(r"\b(?:last|senior|final)\b", re.IGNORECASE)),
    ("first author", re.compile(r"\b(?:first|lead|leading|main|principal|heads)\b", re.IGNORECASE)),
)
_DOI = re.compile(r"\bdoi\b", re.IGNORECASE)
_PASSAGES = re.compile(r"\b(?:passages|chunks)\b", re.IGNORECASE)


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """What the metadata says of the papers that the question names."""
    papers = slots.papers
    if kind in ADDRESSES:
        return _addresses(kind, papers, context)
    if kind == "entry":
        return _entry(papers, context)
    fact = _fact_asked(kind, slots.question)
    blocks = [_fact(fact, paper, context) for paper in papers]
    if len(papers) > 1:
        intro = Block("text", f"The question names {len(papers)} papers:")
        blocks = [intro, *(Block("item", block.text, block.citations) for block in blocks)]
    is_sure = kind == "length" or all(_sure(fact, paper) >= SURE for paper in papers)
    return Routed("papers", _note(papers), tuple(blocks), confidence="high" if is_sure else "medium")


def _fact_asked(kind: str, question: str) -> str:
    if kind == "authors":
        return next((fact for fact, words in _WHICH if words.search(question)), "authors")
    if kind == "identifier":
        return "DOI" if _DOI.search(question) else "arXiv id"
    if kind == "length":
        return "passages" if _PASSAGES.search(question) else "pages"
    return kind


def _note(papers: Sequence[Paper]) -> str:
    return f"Read from the metadata of {listed([paper.file for paper in papers[:3]])}."


def _entry(papers: Sequence[Paper], context: RouteContext) -> Routed:
    from ragscience.sources.bib_entries import entries_of
    from ragscience.sources.bib_formats import as_bibtex

    entries = entries_of(papers, context.library.papers())
    files = " ".join(paper.file for paper in papers)
    blocks = (
        Block("text", f"```bibtex\n{as_bibtex(entries).strip()}\n```"),
        Block("text", f"`python query.py bib {files}` prints the same, `--csl` as CSL-JSON."),
    )
    is_sure = all(_sure("entry", paper) >= SURE for paper in papers)
    return Routed("papers", _note(papers), blocks, confidence="high" if is_sure else "medium")


_FIELDS = {"year": "year", "venue": "venue", "DOI": "doi", "arXiv id": "arxiv_id", "title": "title", "entry": "title"}


def _sure(fact: str, paper: Paper) -> float:
    """The confidence of the field that the fact is read from; 0 where it is not known."""
    name = _FIELDS.get(fact, "authors")
    return paper.metadata.confidence.get(name, 1.0) if getattr(paper.metadata, name) else 0.0


def _fact(fact: str, paper: Paper, context: RouteContext) -> Block:
    """The sentence that says it, with the line of the first page where it is printed."""
    known, title = paper.metadata, f"“{' '.join(title_of(paper).split()) or paper.file}”"
    words: list[str] = []
    if fact == "pages":
        return Block("text", f"The paper {title} ({paper.file}) has {counted_places([paper])}.")
    if fact == "passages":
        said = f"The paper {title} ({paper.file}) has {counted(paper.chunks, 'passage')} in the library."
        return Block("text", said)
    if fact == "year":
        year, is_guess = year_of(paper)
        text = f"{title} is from {year}" if year else f"The year of {title} is not known"
        if year and is_guess:
            text += ": its first page does not say so, its arXiv id or its file's name does"
        text += f", at {known.venue}" if year and known.venue else ""
        text += f" (first version {known.published})" if known.published else ""
        words = [str(year)] if year and not is_guess else []
    elif fact == "venue":
        where = " ".join(filter(None, (known.venue, str(known.year or ""))))
        text = (
            f"{title} was published {'in' if known.kind == 'article' else 'at'} {where}"
            if known.venue
            else f"Where {title} was published is not known"
        )
        if not known.venue and known.arxiv_id:
            text += f"; it is on arXiv as {known.arxiv_id}"
        words = [known.venue, known.doi] if known.venue else [known.arxiv_id]
    elif fact in ("DOI", "arXiv id"):
        value = known.doi if fact == "DOI" else known.arxiv_id
        other = known.arxiv_id if fact == "DOI" else known.doi
        text = f"The {fact} of {title} is {value}" if value else f"The {fact} of {title} is not known"
        text += f"; its {'arXiv id' if fact == 'DOI' else 'DOI'} is {other}" if other and not value else ""
        words = [value or other]
    elif fact == "title":
        text = f"{paper.file} is {title}"
        words = known.title.split()[:1]
    else:
        text = _authors(fact, title, known.authors)
        text += f" ({known.year})" if fact == "authors" and known.authors and known.year else ""
        words = [known.authors[0], known.authors[0].split()[-1]] if known.authors else []
    doubt = " This is not sure: it was hard to read." if 0 < _sure(fact, paper) < SURE else ""
    citations = printed_at(context.library, paper, words)
    if not citations and paper.file not in text:
        text = text.replace(title, f"{title} ({paper.file})")
    text = f"The paper {text}" if text.startswith(title) else text  # what begins with “ is read as a quote later
    return Block("text", f"{text}.{doubt}", citations)


def _authors(fact: str, title: str, authors: tuple[str, ...]) -> str:
    if not authors:
        return f"The authors of {title} are not known"
    which = fact.split()[0]
    if which in ("first", "lead", "last", "senior"):
        one = authors[0] if which in ("first", "lead") else authors[-1]
        others = f" (of {len(authors)})" if len(authors) > 1 else ""
        return f"The {which} author of {title} is {one}{others}"
    if fact == "number of authors":
        return f"{title} has {counted(len(authors), 'author')}: {listed(authors)}"
    return f"{title} was written by {listed(authors)}"
