"""What the library returns, as a person sees it on stdout."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from rich.console import Console
from rich.text import Text

from ragscience.cli.cli import as_called, say
from ragscience.cli.column_list import Column, list_records
from ragscience.cli.line_wrap import FIXED_BLANK, LONGEST_LINE, put
from ragscience.cli.links import can_encode, can_link, link_style
from ragscience.core.paper_records import SURE
from ragscience.core.records import UNCITED, Answer, Found, Metadata, Page, Paper, Sentence
from ragscience.engine.asked_words import asked_terms, asked_words, excerpt
from ragscience.engine.paper_list import PAPER_COLUMNS, USUAL_COLUMNS
from ragscience.engine.printable import counted, plain, shortened
from ragscience.engine.source_list import Source, cited_label, page_label, section_of, sources_of

__all__ = [
    "answer_footer",
    "answer_view",
    "hits_view",
    "listing",
    "paper_view",
    "papers_view",
    "verdicts_view",
]

SNIPPET_CHARS = 480
"""Characters of a passage in a list of passages, and of a sentence."""
SENTENCE_CHARS = 100
_MOST_NEAR = 3
"""Passages that are shown under a refusal."""
_PROSE = LONGEST_LINE
_NO_PAGE_CITED = f"{UNCITED} The passages that the model was given:"
_LEAST_TEXT = 12
"""The width that a text of a list is cut to on a narrow terminal."""
_PAPER_COLUMNS = {
    "author": Column("author", least=10),
    "year": Column("year"),
    "pages": Column("pages", is_number=True),
    "passages": Column("passages", is_number=True),
    "added": Column("added"),
    "title": Column("title", least=16),
    "file": Column("file", least=16),
}


@dataclass(frozen=True, slots=True)
class _Mark:
    """How a verdict looks."""

    symbol: str
    ascii: str
    colour: str

    def sign(self, stream: IO[str]) -> str:
        """The symbol, or its ASCII replacement where the stream's encoding lacks it."""
        return self.symbol if can_encode(self.symbol, stream) else self.ascii


_VERDICTS = {
    "supported": _Mark("✓", "+", "green"),
    "weak": _Mark("~", "~", "yellow"),
    "unsupported": _Mark("✗", "x", "red"),
}
_DOUBTFUL = ("weak", "unsupported")
_CONFIDENCE = {
    "high": ("high", "green"),
    "medium": ("medium (read the pages)", "dim"),
    "low": ("low (these passages may not answer it)", "yellow"),
}


def hits_view(found: Found, console: Console, *, whole: bool = False) -> None:
    """The ranked passages, each with where it is and what made its score; cut for a list, whole for a look at them."""
    if not found.hits:
        console.print("No passages found.")
    for hit in found.hits:
        chunk = hit.chunk
        sign = f"{hit.rank}  "
        line = Text(f"{plain(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)}", "bold")
        line.append(_under(chunk.section, console.file))
        if chunk.kind != "text":
            line.append(f"  {plain(chunk.kind)}", "not bold dim")
        put(console, line, Text(sign, "bold"))
        scores = "  ".join(f"{name} {value:.3f}" for name, value in hit.scores.items() if value is not None)
        put(console, f"{scores}  by {' + '.join(hit.found_by)}", " " * len(sign), style="dim")
        put(
            console, plain(chunk.text) if whole else shortened(chunk.text, SNIPPET_CHARS), " " * len(sign), width=_PROSE
        )
        console.print()
    if found.paths:
        from ragscience.cli.graph_views import paths_view

        paths_view(found, console)


def _under(section: str, stream: IO[str]) -> str:
    """` · 3.2 Attention`, for what follows a page; empty without a section."""
    name = " ".join(plain(section).split())
    if not name:
        return ""
    return f" · {name}" if can_encode("·›", stream) else f" - {name.replace('›', '>')}"


def searched_as(answer: Answer) -> str:
    """What was searched for instead of the question: a follow-up with what it leans on; "" where it is the same."""
    searched = " ".join(answer.found.question.split())
    return searched if searched.rstrip(" ?.!") != " ".join(answer.question.split()).rstrip(" ?.!") else ""


def answer_view(answer: Answer, console: Console) -> None:
    """The answer's blocks on a terminal; else its text: doubtful sentences in a colour, each citation a link."""
    if searched := searched_as(answer):
        put(console, f"Searched as: {plain(searched)}", style="dim")
        console.print()
    if answer.blocks and console.is_terminal:
        from ragscience.cli.answer_blocks_view import blocks_view

        blocks_view(answer, console)
        return
    text = Text(plain(answer.text))
    at = 0
    for sentence in answer.sentences:
        words = plain(sentence.text)
        found = text.plain.find(words, at)
        if found < 0:
            continue
        at = found + len(words)
        if sentence.verdict in _DOUBTFUL:
            text.stylize(_VERDICTS[sentence.verdict].colour, found, at)
    if can_link(console.file):
        for source in sources_of(answer):
            style = link_style(source.path, source.page, console.file)
            text.highlight_regex(re.escape(cited_label(source.file, source.page)), style)
    put(console, text, width=_PROSE)


def answer_footer(answer: Answer, console: Console) -> None:
    """Under an answer: where it comes from, how it was found, what of it holds; under a refusal: what is nearest."""
    sources = sources_of(answer)
    cites = bool(answer.citations) and not answer.refused
    if answer.refused:
        sources = [source for source in sources if _is_near(answer.question, source)][:_MOST_NEAR]
    if sources:
        title = "Sources:" if cites else "The nearest passages:" if answer.refused else _NO_PAGE_CITED
        console.print()
        put(console, title, style="dim")
    for source in sources:
        _source(answer, source, console, quotes=not cites)
    says_how_sure = answer.confidence is not None or answer.missing or (cites and _claims(answer))
    has_verdicts = bool(sources) and not answer.refused and bool(says_how_sure)
    if answer.route_note or has_verdicts:
        console.print()
    if answer.route_note:
        put(console, plain(answer.route_note), style="dim")
    if has_verdicts:
        verdicts_view(answer, console)


def _is_near(question: str, source: Source) -> bool:
    """Whether a passage has two of the question's content words, or its only one."""
    quote = plain(source.citations[0].quote)
    asked = asked_terms(question)
    said = {term for start, end in asked_words(question, quote) for term in asked_terms(quote[start:end])}
    return len(said & asked) >= min(2, max(len(asked), 1))


def _source(answer: Answer, source: Source, console: Console, *, quotes: bool) -> None:
    """A source's line: its number, file, page and section; with how its passage begins where nothing is cited."""
    style = link_style(source.path, source.page, console.file)
    line = Text(f"{plain(source.file)},{FIXED_BLANK}p.{source.page}", style)
    line.append(_under(section_of(answer, source), console.file), "dim not underline")
    if quotes:
        line.append(f": {excerpt(answer.question, plain(source.citations[0].quote), SENTENCE_CHARS)}")
    put(console, line, Text(f"  [{source.number}] ", "dim"))


def verdicts_view(answer: Answer, console: Console, *, every: bool = False) -> None:
    """Of sentences that a model worded, how many its pages hold; then those in doubt, or `every` one, with its page.

    Quotes are the pages' own words: for them it says how sure they are the answer, and what is missing unless the
    text itself does.
    """
    if answer.refused:
        return
    _confidence(answer, console)
    claims = _claims(answer) if every or answer.citations else []
    if not claims:
        return
    supported = sum(sentence.verdict == "supported" for sentence in claims)
    mark = _VERDICTS["supported" if supported == len(claims) else "weak" if supported else "unsupported"]
    held = f"{supported} of {counted(len(claims), 'sentence')} supported"
    put(console, held, f"{mark.sign(console.file)} ", style=mark.colour)
    for sentence in claims:
        if not (every or sentence.verdict in _DOUBTFUL):
            continue
        mark, evidence = _VERDICTS[sentence.verdict], sentence.evidence
        line = Text(sentence.verdict, mark.colour)
        line.append(f": {shortened(sentence.text, SENTENCE_CHARS)}", "default")
        if evidence is not None:
            line.append("  nearest: " if sentence.verdict in _DOUBTFUL else "  ", "dim")
            style = link_style(evidence.path, evidence.page, console.file)
            line.append(cited_label(evidence.file, evidence.page).replace(" ", FIXED_BLANK), style)
        put(console, line, Text(f"  {mark.sign(console.file)} ", mark.colour))


def _claims(answer: Answer) -> list[Sentence]:
    return [sentence for sentence in answer.sentences if sentence.verdict in _VERDICTS]


def _confidence(answer: Answer, console: Console) -> None:
    if answer.confidence is not None:
        says, colour = _CONFIDENCE[answer.confidence]
        put(console, f"Confidence: {says}", style=colour)
    for line in (each for each in answer.missing if each not in answer.text):
        put(console, plain(line), style="yellow")


def papers_view(papers: Sequence[Paper], console: Console, *, columns: Sequence[str] = USUAL_COLUMNS) -> None:
    """A line a paper with these columns of PAPER_COLUMNS; on a terminal with the totals below."""
    if not papers:
        say("The library has no papers yet: `python ingest.py` reads the PDFs in papers/.")
        return
    shown = [_PAPER_COLUMNS.get(name, Column(name, least=_LEAST_TEXT)) for name in columns]
    rows = [[PAPER_COLUMNS[name](paper) for name in columns] for paper in papers]
    if not console.is_terminal:
        list_records(shown, rows, console)
        return
    mark = "⚠" if can_encode("⚠", console.file) else "!"
    if is_marked := any(paper.warnings for paper in papers):
        shown.append(Column(""))
        rows = [[*row, mark if paper.warnings else ""] for row, paper in zip(rows, papers, strict=True)]
    list_records(shown, rows, console)
    put(console, _totals(papers), style="dim")
    if is_marked:
        put(
            console,
            as_called("Some of it could not be read: `python ingest.py show FILE` says what."),
            f"{mark} ",
            style="dim",
        )


def _totals(papers: Sequence[Paper]) -> str:
    pages, passages = sum(paper.pages for paper in papers), sum(paper.chunks for paper in papers)
    return f"{counted(len(papers), 'paper')}, {counted(pages, 'page')}, {counted(passages, 'passage')}"


def paper_view(paper: Paper, pages: Sequence[Page], console: Console, *, more: Mapping[str, str] | None = None) -> None:
    """All that is known of one paper, and `more` of it by name."""
    rows = {
        "file": paper.file,
        "path": paper.path,
        **_metadata_rows(paper),
        "md5": paper.md5,
        "size": f"{paper.size_bytes:,} bytes",
        "pages": str(paper.pages),
        "passages": str(paper.chunks),
        "added": paper.added_at,
        **(more or {}),
    }
    listing(rows, console)
    for warning in paper.warnings:
        put(console, plain(warning), "warning: ", style="yellow")
    for page in pages:
        if page.warning:
            put(console, plain(page.warning), f"p.{page.number}: ", style="yellow")


def _metadata_rows(paper: Paper) -> dict[str, str]:
    """What is known of who wrote it, when and where; what is not sure has a question mark."""
    metadata = paper.metadata
    fields = {
        "title": ("title", metadata.title or paper.title),
        "authors": ("authors", ", ".join(metadata.authors)),
        "year": ("year", str(metadata.year or "")),
        "venue": ("venue", _venue(metadata)),
        "DOI": ("doi", metadata.doi),
        "arXiv": ("arxiv_id", metadata.arxiv_id),
        "subjects": ("categories", ", ".join(metadata.categories)),
        "published": ("published", metadata.published),
        "from": ("url", metadata.url),
    }
    rows = {
        label: value + ("" if metadata.confidence.get(name, 1.0) >= SURE else " ?")
        for label, (name, value) in fields.items()
        if value
    }
    return {"title": "(not known)"} | rows


def _venue(metadata: Metadata) -> str:
    """Where it was published: "Bioinformatics 34(9), 1547-1554"."""
    issue = metadata.volume + (f"({metadata.number})" if metadata.number else "")
    return ", ".join(filter(None, (" ".join(filter(None, (metadata.venue, issue))), metadata.pages)))


def listing(rows: dict[str, str], console: Console) -> None:
    """Names and values, each name once; a wrapped value goes on below its beginning."""
    width = max(map(len, rows), default=0)
    for name, value in rows.items():
        put(console, " ".join(plain(value).split()), Text(f"{name:{width}}  ", "dim"))
