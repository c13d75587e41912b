"""A question from a cold process, start to end: what a script does all day."""

from __future__ import annotations

from benchmarks.libraries import baseline_store, papers_home
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, Run, by_turns, door, medians, module, run_process

TITLE = "Cold start"
QUESTION = "How is the keyword score normalised before it is added to the dense score?"
BASELINE, BASELINE_RERANKED = "baseline", "baseline + cross-encoder (random weights)"
OURS, OURS_LATE, HELP = "search --reranker off --json", "search --json, late interaction", "query.py --help"
ASK = "ask --json, quotes"


def run(options: Options) -> Report:
    """Whole processes over the papers, ours and the baseline's by turns."""
    home, store = papers_home(), str(baseline_store())
    asked = [QUESTION, "--json", "--quiet"]
    late = {"RAG_RERANK": "late-interaction"}
    sides = {
        BASELINE: lambda: run_process(module("baseline", "search", store, QUESTION)),
        OURS: lambda: run_process(door("query", home, "search", *asked, "--reranker", "off")),
        BASELINE_RERANKED: lambda: run_process(module("baseline", "search", store, QUESTION, "--rerank")),
        OURS_LATE: lambda: run_process(door("query", home, "search", *asked), late),
        ASK: lambda: run_process(door("query", home, "ask", *asked, "--no-history"), late),
        HELP: lambda: run_process(door_help()),
    }
    runs = by_turns(sides, options.rounds)
    middle = medians({name: [run.seconds for run in each] for name, each in runs.items()})
    against = {name: middle[name] / middle[BASELINE] for name in middle}
    reranked = {name: middle[name] / middle[BASELINE_RERANKED] for name in middle}
    rows = [[name, *_cells(each), f"{against[name]:.3f}", f"{reranked[name]:.3f}"] for name, each in runs.items()]
    columns = ["process", "wall time", "peak memory", "of the baseline", "of the baseline with cross-encoder"]
    of_search = middle[ASK] / middle[OURS_LATE]
    note = f"An answer in quotes takes {of_search:.2f} times as long as the search that it is made from."
    figures: dict[str, object] = {
        "seconds": middle,
        "of the baseline": against,
        "of the baseline with cross-encoder": reranked,
    }
    figures["ask, of a search"] = of_search
    heading = f"Median of {options.rounds}, files in the system's cache"
    return Report("coldstart", TITLE, [Table(heading, columns, rows, note=note)], figures)


def _cells(runs: list[Run]) -> list[str]:
    return [spread([run.seconds for run in runs], "s"), spread([run.peak_mb for run in runs], "MB", 0)]


def door_help() -> list[str]:
    """query.py --help takes no home."""
    import sys

    from benchmarks.report import REPOSITORY

    return [sys.executable, str(REPOSITORY / "query.py"), "--help"]
