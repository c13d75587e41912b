"""What the library returns, as a person sees it: rich tables and panels on stdout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from rich.console import Console
from rich.text import Text

from ragscience.engine.paper_list import PAPER_COLUMNS, USUAL_COLUMNS
from ragscience.engine.printable import counted, plain
from ragscience.engine.source_list import cited_label, page_label, section_of, sources_of
from ragscience.records import Answer, Found, Metadata, Page, Paper
from ragscience.records.paper_records import SURE
from ragscience.terminal.cli import as_called, say
from ragscience.terminal.column_list import Column, list_records
from ragscience.terminal.line_wrap import put
from ragscience.terminal.links import can_encode, can_link, link_style

__all__ = [
    "answer_footer",
    "answer_view",
    "hits_view",
    "listing",
    "paper_view",
    "papers_view",
    "shortened",
    "verdicts_view",
]

SNIPPET_CHARS = 480
SENTENCE_CHARS = 100
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
    "medium": ("medium: read the pages", "dim"),
    "low": ("low: these passages may not answer it", "yellow"),
}


def hits_view(found: Found, console: Console, *, whole: bool = False) -> None:
    """The ranked passages, each with where it is and what made its score; cut for a list, whole for a look at them."""
    if not found.hits:
        console.print("No passage found.")
    for hit in found.hits:
        chunk = hit.chunk
        where = f"{plain(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)}"
        where += _under(chunk.section, console.file)
        scores = "  ".join(f"{name} {value:.3f}" for name, value in hit.scores.items() if value is not None)
        line = Text(f"{hit.rank}  {where}", style="bold")
        if chunk.kind != "text":
            line.append(f"  {plain(chunk.kind)}", "not bold dim")
        console.print(line)
        console.print(Text(f"{scores}  by {' + '.join(hit.found_by)}", style="dim"))
        console.print(Text(plain(chunk.text) if whole else _snippet(chunk.text)))
        console.print()
    if found.paths:
        from ragscience.terminal.graph_views import paths_view

        paths_view(found, console)


def _under(section: str, stream: IO[str]) -> str:
    """` · 3.2 Attention`, for what follows a page; empty without a section."""
    name = " ".join(plain(section).split())
    if not name:
        return ""
    return f" · {name}" if can_encode("·›", stream) else f" - {name.replace('›', '>')}"


def _snippet(text: str) -> str:
    return shortened(" ".join(plain(text).split()), SNIPPET_CHARS)


def shortened(text: str, chars: int) -> str:
    """The text, or as many of its first words as fit into `chars`, and an ellipsis."""
    return text if len(text) <= chars else text[:chars].rsplit(" ", 1)[0] + " …"


def searched_as(answer: Answer) -> str:
    """What was searched for instead of the question: a follow-up with what it leans on; "" where it is the same."""
    searched = " ".join(answer.found.question.split())
    return searched if searched.rstrip(" ?.!") != " ".join(answer.question.split()).rstrip(" ?.!") else ""


def answer_view(answer: Answer, console: Console) -> None:
    """The answer's blocks on a terminal; else its text: doubtful sentences in a colour, each citation a link."""
    if searched := searched_as(answer):
        console.print(Text(f"Searched as: {plain(searched)}", style="dim"), soft_wrap=not console.is_terminal)
        console.print()
    if answer.blocks and console.is_terminal:
        from ragscience.terminal.answer_blocks_view import blocks_view

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
    console.print(text, soft_wrap=not console.is_terminal)


def answer_footer(answer: Answer, console: Console) -> None:
    """Under an answer: how it was found, where it comes from, what of it holds; under a refusal: what is nearest."""
    if answer.route_note:
        console.print(Text(plain(answer.route_note), style="dim"), soft_wrap=not console.is_terminal)
    sources = sources_of(answer)
    if not sources:
        return
    if answer.citations and not answer.refused:
        line = Text("Sources:", style="dim")
        for source in sources:
            line.append(f"{' ' * min(source.number, 2)}[{source.number}] ")
            line.append(f"{plain(source.file)}, p.{source.page}", link_style(source.path, source.page, console.file))
            line.append(_under(section_of(answer, source), console.file), "dim")
        console.print(line, soft_wrap=True)
        verdicts_view(answer, console)
        return
    title = "The nearest passages:" if answer.refused else "It cites no page. The passages that it was given:"
    console.print(Text(title, style="dim"))
    for source in sources:
        line = Text(f"  [{source.number}] ", style="dim")
        line.append(cited_label(source.file, source.page), link_style(source.path, source.page, console.file))
        under = _under(section_of(answer, source), console.file)
        line.append(f"{under}:" if under else "", "dim")
        line.append(f" {_snippet(source.citations[0].quote)[:SENTENCE_CHARS]}")
        console.print(line, soft_wrap=True)
    verdicts_view(answer, console)


def verdicts_view(answer: Answer, console: Console, *, every: bool = False) -> None:
    """Of sentences that a model worded, how many its pages hold; then those in doubt, or `every` one, with its page.

    Quotes are the pages' own words: for them it says how sure they are the answer, and what is missing unless the
    text itself does.
    """
    if answer.refused:
        return
    _confidence(answer, console)
    claims = [sentence for sentence in answer.sentences if sentence.verdict in _VERDICTS]
    if not claims:
        return
    supported = sum(sentence.verdict == "supported" for sentence in claims)
    mark = _VERDICTS["supported" if supported == len(claims) else "weak" if supported else "unsupported"]
    sentences = "1 sentence" if len(claims) == 1 else f"{len(claims)} sentences"
    console.print(Text(f"{mark.sign(console.file)} {supported} of {sentences} supported", mark.colour))
    for sentence in claims:
        if not (every or sentence.verdict in _DOUBTFUL):
            continue
        mark, evidence = _VERDICTS[sentence.verdict], sentence.evidence
        line = Text("  ").append(f"{mark.sign(console.file)} {sentence.verdict}", mark.colour)
        line.append(f": {_snippet(sentence.text)[:SENTENCE_CHARS]}")
        if evidence is not None:
            line.append("  nearest: " if sentence.verdict in _DOUBTFUL else "  ", "dim")
            style = link_style(evidence.path, evidence.page, console.file)
            line.append(cited_label(evidence.file, evidence.page), style)
        console.print(line, soft_wrap=True)


def _confidence(answer: Answer, console: Console) -> None:
    if answer.confidence is not None:
        says, colour = _CONFIDENCE[answer.confidence]
        console.print(Text(f"Confidence: {says}", colour), soft_wrap=True)
    for line in (each for each in answer.missing if each not in answer.text):
        console.print(Text(plain(line), "yellow"), soft_wrap=True)


def papers_view(papers: Sequence[Paper], console: Console, *, columns: Sequence[str] = USUAL_COLUMNS) -> None:
    """A line a paper with these columns of PAPER_COLUMNS; on a terminal with the totals below."""
    if not papers:
        say("The library has no papers yet: `python ingest.py` reads those of papers/.")
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
            as_called("Not all of it could be read: `python ingest.py show FILE` says what."),
            f"{mark} ",
            style="dim",
        )


def _totals(papers: Sequence[Paper]) -> str:
    pages, passages = sum(paper.pages for paper in papers), sum(paper.chunks for paper in papers)
    return f"{counted(len(papers), 'paper')}, {counted(pages, 'page')}, {counted(passages, 'passage')}"


def paper_view(paper: Paper, pages: Sequence[Page], console: Console) -> None:
    """All that is known of one paper."""
    rows = {
        "file": paper.file,
        "path": paper.path,
        **_metadata_rows(paper),
        "md5": paper.md5,
        "size": f"{paper.size_bytes:,} bytes",
        "pages": str(paper.pages),
        "passages": str(paper.chunks),
        "added": paper.added_at,
    }
    listing(rows, console)
    for warning in paper.warnings:
        console.print(Text(f"warning: {plain(warning)}", style="yellow"), soft_wrap=True)
    for page in pages:
        if page.warning:
            console.print(Text(f"p.{page.number}: {plain(page.warning)}", style="yellow"), soft_wrap=True)


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
    """Names and values, a line each."""
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(plain(value)))
    console.print(table)
