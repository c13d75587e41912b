"""What is in the library: papers as a list, one with its outline, a page, versions of one paper, files left out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ragscience.cli.output import facts, local_time, print_json, print_table, put, sign_of
from ragscience.cli.running import as_called, say
from ragscience.core.paper_records import SURE, counted_places, has_pages, place_label
from ragscience.core.records import Metadata, Page, Paper
from ragscience.core.sentences import formulas_named
from ragscience.core.serialization import select
from ragscience.engine import printable as form
from ragscience.engine.papers import PAPER_COLUMNS, PaperOutline, PaperPage
from ragscience.engine.printable import counted, one_line, plain, shortened

if TYPE_CHECKING:
    from ragscience.engine.events import Duplicate, SkippedFile


_CAPTION_CHARS = 120
_WRAPPED, _TITLE = ("title", "author"), 3


def papers_view(papers: Sequence[Paper], out: Console) -> None:
    """A line a paper with PAPER_COLUMNS; on a terminal with the totals below."""
    if not papers:
        say("The library has no papers yet: `python ingest.py` reads the files in papers/.")
        return
    rows = [[said(paper) for said in PAPER_COLUMNS.values()] for paper in papers]
    mark = sign_of("⚠", "!", out)
    marked = [row for row, paper in zip(rows, papers, strict=True) if paper.warnings and out.is_terminal]
    for row in marked:
        row[_TITLE] = f"{mark} {row[_TITLE]}"
    print_table(list(PAPER_COLUMNS), rows, out, wraps=_WRAPPED, joined=_TITLE)
    if out.is_terminal:
        passages = counted(sum(paper.chunks for paper in papers), "passage")
        totals = f"{counted(len(papers), 'paper')}, {counted_places(papers)}, {passages}"
        put(out, totals, style="dim")
    if marked:
        text = "Some of it could not be read: `python ingest.py show FILE` says what."
        put(out, as_called(text), f"{mark} ", style="dim")


def show_paper(outline: PaperOutline, out: Console | None, where: str) -> None:
    """All that is known of a paper, and its outline; as JSON on stdout without a console. `where` its file is."""
    if out is None:
        print_json(form.outline_output(outline))
        return
    paper = outline.paper
    at = partial(place_label, paper.file)
    names = ", ".join(f"{name.name} ({at(name.page)})" if name.page else name.name for name in outline.names)
    rows = {
        "file": paper.file,
        "path": where,
        **_metadata(paper),
        "md5": paper.md5,
        "size": f"{paper.size_bytes:,} bytes",
        "pages" if has_pages(paper.file) else "paragraphs": str(paper.pages),
        "passages": str(paper.chunks),
        "added": local_time(paper.added_at),
        "BibTeX key": outline.bibtex_key,
        "called": names or "(not known)",
    }
    facts(rows.items(), out)
    _warnings(paper, outline.pages, out)
    put(out, "outline" if outline.headings else "outline: no headings known", style="dim")
    for entry in outline.headings:
        put(out, Text(plain(entry.text)).append(f"  {at(entry.page)}", "dim"), "  " * entry.level)
    for name, entries in (("tables", outline.tables), ("figures", outline.figures)):
        put(out, f"{name}: {len(entries)}", style="dim")
        for caption in entries:
            text = Text(shortened(caption.text, _CAPTION_CHARS))
            put(out, text.append(f"  {at(caption.page)}", "dim"), "  ")
    put(out, f"references: {outline.references}", style="dim")


def _warnings(paper: Paper, pages: Sequence[Page], out: Console) -> None:
    for warning in paper.warnings:
        put(out, plain(warning), "warning: ", style="yellow")
    for page in pages:
        if page.warning:
            put(out, plain(page.warning), f"{place_label(paper.file, page.number)}: ", style="yellow")


def _metadata(paper: Paper) -> Mapping[str, str]:
    """What is known of who wrote it, when and where; what is not sure has a question mark."""
    known = paper.metadata
    fields = {
        "title": ("title", known.title or paper.title),
        "authors": ("authors", ", ".join(known.authors)),
        "year": ("year", str(known.year or "")),
        "venue": ("venue", _venue(known)),
        "DOI": ("doi", known.doi),
        "arXiv": ("arxiv_id", known.arxiv_id),
        "subjects": ("categories", ", ".join(known.categories)),
        "published": ("published", known.published),
        "from": ("url", known.url),
        "type": ("item_type", known.item_type),
        "part": ("part", known.part),
        "collections": ("collections", ", ".join(known.collections)),
        "tags": ("tags", ", ".join(known.tags)),
        "in Zotero": ("link", known.link),
    }
    rows = {
        label: value + ("" if known.confidence.get(name, 1.0) >= SURE else " ?")
        for label, (name, value) in fields.items()
        if value
    }
    return {"title": "(not known)"} | rows


def _venue(metadata: Metadata) -> str:
    """Where it was published: "Bioinformatics 34(9), 1547-1554"."""
    issue = metadata.volume + (f"({metadata.number})" if metadata.number else "")
    return ", ".join(filter(None, (" ".join(filter(None, (metadata.venue, issue))), metadata.pages)))


def show_page(shown: PaperPage, out: Console | None) -> None:
    """A page with the kind of each part; headers and footers, which are not in the text, are dimmed at the end."""
    if out is None:
        print_json(form.with_formulas_named(form.page_output(shown)))
        return
    page, text = shown.page, shown.text
    if not shown.elements:
        put(out, plain(formulas_named(text, page.number)))
    parts = [
        (
            f"{one.kind} {one.level}" if one.kind == "heading" else one.kind,
            formulas_named(text[one.start - page.start : one.end - page.start], page.number),
        )
        for one in shown.elements
    ]
    for name, part in [*parts, *([("left out", page.furniture)] if page.furniture else [])]:
        sign = f"{name:11}"  # "reference" and two blanks
        for line in plain(part).strip().split("\n"):
            put(out, Text(line, "dim" if name == "left out" else ""), Text(sign, "dim"))
            sign = " " * 11
    if page.warning:
        put(out, plain(page.warning), style="yellow")


def show_pairs(pairs: Sequence[Duplicate], removed: Sequence[Duplicate], out: Console | None) -> None:
    """The pairs and what was removed of them, as JSON on stdout without a console."""
    if out is None:
        rows = [select("newer older reasons newer_by overlap", pair) for pair in pairs]
        print_json(select("schema duplicates removed", duplicates=rows, removed=[pair.older for pair in removed]))
    elif not removed:
        cells = [(pair.older, pair.newer, pair.same, pair.newer_by) for pair in pairs]
        if not out.is_terminal:
            print_table(("older", "newer", "same", "newer by"), cells, out, wraps=())
        for pair in pairs if out.is_terminal else ():
            put(out, one_line(f"{pair.older}: {pair.why}"))
        if not pairs:
            say("No paper is in the library twice.")


def show_skipped(files: Sequence[SkippedFile], papers: Path, out: Console | None) -> None:
    """The files that are not in the library: name, reason and what to do; as JSON on stdout without a console."""
    if out is None:
        rows = [select("path reason message remedy", file, remedy=file.fix) for file in files]
        print_json(select("schema files", files=rows))
        return
    cells = [(file.path.removeprefix(f"{papers}{os.sep}"), file.reason, file.message, file.fix) for file in files]
    print_table(("file", "reason", "what", "remedy"), cells, out, wraps=(), joined=1)
    if not files:
        say("No files were skipped.")
