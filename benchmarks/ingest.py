"""From a folder of PDFs to a library: how much more than the embedding alone it costs, and what a second run costs."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.corpora import papers_folder
from benchmarks.libraries import fresh_folder, minilm, papers_home
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, Run, by_turns, door, medians, module, run_process

TITLE = "Ingest"
ALONE, OURS, BASELINE = (
    "embedding the same chunks alone",
    "ingest.py, token vectors included",
    "baseline (cut at 256 word pieces)",
)
MOST_ROUNDS = 2
EMBEDDED = {"RAG_EMBEDDER": "embedded"}


def run(options: Options) -> Report:
    """The papers from scratch by turns; then nothing new, and one new paper, in a copy of the library."""
    home = papers_home()
    rounds = min(options.rounds, MOST_ROUNDS)
    sides = {
        ALONE: lambda: run_process(module("ingest", "embed", str(home))),
        OURS: lambda: run_process(
            door("ingest", fresh_folder("ingest-home"), "add", str(papers_folder()), "--quiet"), EMBEDDED
        ),
        BASELINE: lambda: run_process(
            module("baseline", "ingest", str(papers_folder()), str(fresh_folder("ingest-store")))
        ),
    }
    runs = by_turns(sides, rounds, warm=False)
    middle = medians({name: [run.seconds for run in each] for name, each in runs.items()})
    rows = [[name, *_cells(each), f"{middle[name] / middle[ALONE]:.2f}"] for name, each in runs.items()]
    again = by_turns(_second_runs(home), options.rounds)
    second = [[name, *_cells(each)] for name, each in again.items()]
    figures = {
        "seconds": middle,
        "of embedding alone": middle[OURS] / middle[ALONE],
        "of the baseline": middle[OURS] / middle[BASELINE],
    }
    tables = [
        Table(f"From scratch, median of {rounds}", ["process", "wall time", "peak memory", "of embedding alone"], rows),
        Table(f"Second runs, median of {options.rounds}", ["process", "wall time", "peak memory"], second),
    ]
    return Report(
        "ingest",
        TITLE,
        tables,
        {**figures, "second runs, seconds": {name: [run.seconds for run in each] for name, each in again.items()}},
    )


def _cells(runs: list[Run]) -> list[str]:
    return [spread([run.seconds for run in runs], "s", 1), spread([run.peak_mb for run in runs], "MB", 0)]


def _second_runs(home: Path) -> dict[str, Callable[[], Run]]:
    """Nothing new; and one of the papers taken out and read again."""
    copy = fresh_folder("ingest-again")
    shutil.copytree(home, copy, dirs_exist_ok=True)
    papers = str(papers_folder())
    smallest = min(papers_folder().glob("*.pdf"), key=lambda path: path.stat().st_size)

    def one_new() -> Run:
        run_process(door("ingest", copy, "remove", smallest.name))
        return run_process(door("ingest", copy, "add", papers, "--quiet"), EMBEDDED)

    def nothing_new() -> Run:
        return run_process(door("ingest", copy, "add", papers, "--quiet"), EMBEDDED)

    return {"nothing new": nothing_new, "one new paper": one_new}


def embed(home: Path) -> float:
    """Seconds to embed all passages of the library in one session, model loading included; nothing is kept."""
    from ragscience.library.store import Home, Library

    started = time.perf_counter()
    model = minilm()
    with Library.open(Home(home)) as library:
        for _, texts in library.texts(64):
            model.embed_with_tokens(texts)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest")
    parser.add_argument("command", choices=["embed"])
    parser.add_argument("home", type=Path)
    print(embed(parser.parse_args().home))


if __name__ == "__main__":
    main()
