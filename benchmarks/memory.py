"""Peak memory of whole processes, ours and the baseline's, and whether ingest's grows with the number of papers."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.corpora import cache_folder, papers_folder
from benchmarks.libraries import baseline_store, fresh_folder, papers_home
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, Run, by_turns, door, medians, module, run_process

TITLE = "Memory"
QUESTION = "How long did training take?"
FEW = 6


def run(options: Options) -> Report:
    """The peak of each process, in megabytes; those of its reading processes are not in it."""
    home, store = papers_home(), str(baseline_store())
    asked = [QUESTION, "--json", "--quiet"]
    few = _few_papers()
    sides = {
        "baseline search": lambda: run_process(module("baseline", "search", store, QUESTION)),
        "search --reranker off": lambda: run_process(door("query", home, "search", *asked, "--reranker", "off")),
        "search, late interaction": lambda: run_process(
            door("query", home, "search", *asked), {"RAG_RERANK": "late-interaction"}
        ),
        "ask, extractive": lambda: run_process(door("query", home, "ask", *asked), {"RAG_ANSWERER": "extractive"}),
    }
    runs = by_turns(sides, options.rounds)
    runs |= by_turns(
        {f"ingest of {FEW} papers": lambda: _ingest(few), "ingest of all papers": lambda: _ingest(papers_folder())},
        1,
        warm=False,
    )
    peaks = {name: [each.peak_mb for each in values] for name, values in runs.items()}
    rows = [[name, spread(values, "MB", 0)] for name, values in peaks.items()]
    return Report("memory", TITLE, [Table("Peak resident memory", ["process", "peak"], rows)], {"MB": medians(peaks)})


def _ingest(folder: Path) -> Run:
    command = door("ingest", fresh_folder("memory-home"), "add", str(folder), "--quiet")
    return run_process(command, {"RAG_EMBEDDER": "embedded"})


def _few_papers() -> Path:
    folder = cache_folder("few-papers")
    for path in sorted(papers_folder().glob("*.pdf"))[:FEW]:
        if not (folder / path.name).exists():
            shutil.copyfile(path, folder / path.name)
    return folder
