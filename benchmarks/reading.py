"""How fast papers are read, how right, and what their structure is worth to a search.

Speed: CPU time of one process, which other processes on the machine do not change. The baseline is PyMuPDF's plain
text, page by page, by turns with the reader in the same run.
"""

from __future__ import annotations

import csv
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import data_folder, dev_questions, papers_folder
from benchmarks.libraries import papers_home, plain_home, session
from benchmarks.quality import DEPTH, Place, _evidence, _through, _with_interval
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns
from ragscience.core.records import Document

TITLE = "Reading"
MOST_ROUNDS = 3
MEASURES = ("any@1", "any@4", "full@4")
WAYS: dict[str, dict[str, Any]] = {
    "default": {"rerank": "off"},
    "default + late interaction": {"rerank": "late-interaction"},
}
BROKEN = ("okapi_bm25_trec3", "pagerank_1998")
"""Papers whose text layer is broken: their questions are told apart."""


def run(options: Options) -> Report:
    """Milliseconds a page; headings, order, cells and metadata against what people wrote down; evidence found."""
    tables: list[Table] = []
    figures: dict[str, Any] = {}
    tables.append(_speed(sorted(papers_folder().glob("*.pdf")), min(options.rounds, MOST_ROUNDS), figures))
    data = data_folder()
    if data is not None:
        readers = {"fast": _fast}
        tables.append(_gold(data / "papers", readers, figures))
        tables.append(_metadata(data / "papers", figures))
    questions = dev_questions()
    if questions:
        tables += _searched(questions, figures)
    return Report("reading", TITLE, tables, figures)


def _fast(path: Path) -> Document:
    from ragscience.reading.pdf_reader import read_pdf

    return read_pdf(path)


# Speed


def _plain(path: Path) -> None:
    from ragscience.reading.pdf_file import load_pymupdf

    pymupdf = load_pymupdf()
    with pymupdf.open(path) as document:
        for page in document:
            page.get_text("text", flags=pymupdf.TEXTFLAGS_TEXT)


def milliseconds_a_page(read: Callable[[Path], object], paths: Sequence[Path], pages: Sequence[int]) -> list[float]:
    """CPU milliseconds that each paper takes, divided by its pages."""
    found = []
    for path, count in zip(paths, pages, strict=True):
        started = time.process_time()
        read(path)
        found.append(1000 * (time.process_time() - started) / count)
    return found


def _speed(paths: Sequence[Path], rounds: int, figures: dict[str, Any]) -> Table:
    from ragscience.reading.pdf_file import opened

    pages = []
    for path in paths:
        with opened(path, "") as source:
            pages.append(len(source))
    readers: dict[str, Callable[[Path], object]] = {"plain text": _plain, "fast reader": _fast}
    sides = {
        name: (lambda read=read: milliseconds_a_page(read, paths, pages))  # type: ignore[misc]
        for name, read in readers.items()
    }
    rows = []
    middles: dict[str, float] = {}
    for name, runs in by_turns(sides, rounds).items():
        papers = [statistics.median(each) for each in zip(*runs, strict=True)]
        middles[name] = statistics.median(papers)
        whole = sum(each * count for each, count in zip(papers, pages, strict=True)) / sum(pages)
        figures[f"{name}, ms a page"] = {"median of the papers": middles[name], "over all pages": whole}
        ratio = middles[name] / middles["plain text"]
        rows.append([name, spread(papers, "ms", 1), f"{whole:.1f} ms", f"{ratio:.1f}"])
    return Table(
        f"A page, {len(paths)} papers with {sum(pages)} pages, median of {rounds} runs",
        ["reader", "median of the papers", "over all pages", "times plain text"],
        rows,
        note="CPU time. In brackets: the paper that is read fastest and the one that takes longest a page.",
    )


# What people wrote down


def _gold(papers: Path, readers: Mapping[str, Callable[[Path], Document]], figures: dict[str, Any]) -> Table:
    from tests.gold.scoring import load_gold, score_document, total

    gold = load_gold()
    rows = []
    for name, read in readers.items():
        found = total([score_document(read(papers / one.file), one) for one in gold])
        figures[f"gold, {name}"] = found
        there, listed = _outlines(papers, read)
        figures[f"outlines, {name}"] = {"found": there, "listed": listed}
        measures = [f"{found[key]:.3f}" for key in ("heading_f1", "levels", "order_tau", "cells")]
        rows.append([name, f"{found['titles']} of {len(gold)}", *measures, f"{there} of {listed}"])
    return Table(
        f"Six papers of tests/gold, and the headings of the papers that have an outline of {OUTLINE_LEAST} or more",
        ["reader", "titles", "headings F1", "levels", "order, Kendall's tau", "table cells", "headings of outlines"],
        rows,
        note="The fast reader was made with these six papers at hand: see tests/gold/README.md for each measure.",
    )


OUTLINE_LEAST = 5


def _outlines(papers: Path, read: Callable[[Path], Document]) -> tuple[int, int]:
    """How many of the headings that outlines list a reader finds on their page or one beside it, and how many are."""
    from ragscience.reading.pdf_file import opened

    found = listed = 0
    for path in sorted(papers.glob("*.pdf")):
        with opened(path, "") as source:
            outline = [(str(title), int(page)) for _, title, page in source.get_toc()]
        if len(outline) < OUTLINE_LEAST:
            continue
        document = read(path)
        headings = [
            (document.text[one.start : one.end], one.page) for one in document.elements if one.kind == "heading"
        ]
        found += listed_headings(outline, headings)
        listed += len(outline)
    return found, listed


def listed_headings(outline: Sequence[tuple[str, int]], headings: Sequence[tuple[str, int]]) -> int:
    """How many of an outline's (title, page) are among the headings, each counted once; number and case aside."""
    from tests.gold.scoring import heading_key

    left = [(heading_key(text), page) for text, page in headings]
    found = 0
    for title, page in outline:
        key = heading_key(title)
        same = next((one for one in left if one[0] == key and abs(one[1] - page) <= 1), None)
        if same is not None:
            left.remove(same)
            found += 1
    return found


def _metadata(papers: Path, figures: dict[str, Any]) -> Table:
    with (papers / "GOLD.tsv").open(encoding="utf-8") as file:
        gold = list(csv.DictReader(file, delimiter="\t"))
    found = metadata_scores(gold, {one["file"]: _fast(papers / one["file"]) for one in gold})
    figures["metadata"] = {name: list(counts) for name, counts in found.items()}
    return Table(
        f"Metadata of {len(gold)} papers, as printed on them",
        ["field", "right", "of those that print it"],
        [[name, str(right), str(known)] for name, (right, known) in found.items()],
    )


def metadata_scores(gold: Sequence[Mapping[str, str]], documents: Mapping[str, Document]) -> dict[str, tuple[int, int]]:
    """For each field how many are right, and how many papers print it; a field that is not printed does not count."""
    from tests.gold.scoring import squashed

    fields: dict[str, tuple[str, Callable[[Document, str], bool]]] = {
        "title": ("title", lambda document, told: squashed(document.metadata.title) == squashed(told)),
        "first author": (
            "first_author",
            lambda document, told: squashed((document.metadata.authors or ("?",))[0]).endswith(squashed(told)),
        ),
        "number of authors": ("authors", lambda document, told: str(len(document.metadata.authors)) == told),
        "year": ("year", lambda document, told: str(document.metadata.year) == told),
        "identifier": (
            "identifier",
            lambda document, told: told in (f"arXiv:{document.metadata.arxiv_id}", f"doi:{document.metadata.doi}"),
        ),
    }
    scores = {}
    for name, (column, is_right) in fields.items():
        told = [one for one in gold if one.get(column)]
        scores[name] = sum(is_right(documents[one["file"]], one[column]) for one in told), len(told)
    return scores


# What structure is worth


def _searched(questions: list[dict[str, Any]], figures: dict[str, Any]) -> list[Table]:
    """The same questions of two libraries that differ in nothing but the reader."""
    homes = {"plain text": plain_home(), "by structure": papers_home()}
    texts = [str(item.get("standalone", item["question"])) for item in questions]
    tables = []
    for way, settings in WAYS.items():
        found = {}
        for name, home in homes.items():
            with session(home, wanted=DEPTH, **settings) as opened:
                search = _through(opened)
                found[name] = _evidence(questions, [list[Place](search(text)) for text in texts])
        tables.append(compared(f"Evidence found by plain text and by structure, {way}", questions, found))
        for name, values in found.items():
            figures[f"evidence, {way}, {name}"] = {measure: float(values[measure].mean()) for measure in MEASURES}
    return tables


def compared(
    heading: str, questions: Sequence[dict[str, Any]], found: Mapping[str, dict[str, NDArray[np.float64]]]
) -> Table:
    """A row for all questions, one for those about papers with broken text, and one for the others, on each side."""
    broken = [any(item["file"].startswith(BROKEN) for item in each["evidence"]) for each in questions]
    groups = {"all": np.ones(len(questions), bool)}
    groups["broken text layers"] = np.array(broken)
    groups["all others"] = ~np.array(broken)
    rows = []
    for name, chosen in groups.items():
        if not chosen.any():
            continue
        cells = [_with_interval(values[measure][chosen]) for measure in MEASURES for values in found.values()]
        rows.append([name, str(int(chosen.sum())), *cells])
    columns = [f"{measure}, {side}" for measure in MEASURES for side in found]
    note = "In brackets: 95 % bootstrap interval. Broken text layers: " + " and ".join(BROKEN) + "."
    return Table(heading, ["questions", "number", *columns], rows, note=note)
