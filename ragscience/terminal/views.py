"""What the library returns, as a person sees it: rich tables and panels on stdout."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragscience.records import Answer, Found, Page, Paper
from ragscience.terminal.plain import plain

__all__ = ["answer_footer", "hits_view", "listing", "page_label", "paper_view", "papers_view"]

SNIPPET_CHARS = 480


def page_label(first: int, last: int) -> str:
    """`p.3`, or `p.3-4` for a passage that crosses a page."""
    return f"p.{first}" if first == last else f"p.{first}-{last}"


def hits_view(found: Found, console: Console, *, whole: bool = False) -> None:
    """The ranked passages, each with where it is and what made its score; cut for a list, whole for a look at them."""
    if not found.hits:
        console.print("No passage found.")
    for hit in found.hits:
        chunk = hit.chunk
        where = f"{plain(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)}"
        scores = "  ".join(f"{name} {value:.3f}" for name, value in hit.scores.items() if value is not None)
        console.print(Text(f"{hit.rank}  {where}", style="bold"))
        console.print(Text(f"{scores}  by {' + '.join(hit.found_by)}", style="dim"))
        console.print(Text(plain(chunk.text) if whole else _snippet(chunk.text)))
        console.print()


def _snippet(text: str) -> str:
    flat = " ".join(plain(text).split())
    return flat if len(flat) <= SNIPPET_CHARS else flat[:SNIPPET_CHARS].rsplit(" ", 1)[0] + " …"


def answer_footer(answer: Answer, console: Console) -> None:
    """Under an answer: where it comes from; under a refusal: the nearest passages."""
    if answer.refused:
        if answer.found.hits:
            console.print(Text("The nearest passages:", style="dim"))
        for hit in answer.found.hits:
            chunk = hit.chunk
            where = f"({plain(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)})"
            console.print(Text(f"  {where} {_snippet(chunk.text)[:100]}", style="dim"), soft_wrap=True)
        return
    pages = dict.fromkeys((citation.file, citation.page) for citation in answer.citations)
    if pages:
        cited = "  ".join(f"{plain(file)}, p.{page}" for file, page in pages)
        console.print(Text(f"Sources: {cited}", style="dim"), soft_wrap=True)


def papers_view(papers: Sequence[Paper], console: Console) -> None:
    """What the library has, a line a paper."""
    table = Table(box=None, pad_edge=False)
    for name in ("file", "pages", "chunks", "title"):
        table.add_column(name, justify="right" if name in ("pages", "chunks") else "left", overflow="fold")
    for paper in papers:
        mark = " ⚠" if paper.warnings else ""
        table.add_row(Text(plain(paper.file) + mark), str(paper.pages), str(paper.chunks), Text(plain(paper.title)))
    console.print(table)
    console.print(
        Text(f"{len(papers)} papers, {sum(paper.chunks for paper in papers)} passages", style="dim"), soft_wrap=True
    )


def paper_view(paper: Paper, pages: Sequence[Page], console: Console) -> None:
    """All that is known of one paper."""
    rows = {
        "file": paper.file,
        "path": paper.path,
        "title": paper.title or "(not known)",
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


def listing(rows: dict[str, str], console: Console) -> None:
    """Names and values, a line each."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, Text(plain(value)))
    console.print(table)
