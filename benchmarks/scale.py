"""Ten thousand to a million passages: build, cold open through the door, warm search, recall, memory."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from functools import partial

import numpy as np

from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns, door, module, run_process
from benchmarks.synthetic import question, synthetic_home

TITLE = "Scale"
SIZES = (10_000, 100_000)
FULL_SIZE = 1_000_000
QUESTIONS = 100


def run(options: Options) -> Report:
    """Each size in processes of its own, so that none inherits another's memory."""
    rows, figures = [], {}
    for size in (*SIZES, FULL_SIZE) if options.full else SIZES:
        made = run_process(module("scale", "build", str(size)))
        home = synthetic_home(size)
        asked = [question(1), "--no-rerank", "--json", "--quiet"]
        cold = by_turns({"cold": partial(run_process, door("query", home, "search", *asked))}, options.rounds)["cold"]
        warm = json.loads(run_process(module("scale", "warm", str(size))).stdout)
        build = float((home / ".done").read_text(encoding="utf-8"))
        rows.append(
            [
                f"{size:,}",
                f"{build:.0f} s",
                spread([each.seconds for each in cold], "s"),
                f"{np.median([each.peak_mb for each in cold]):.0f} MB",
                f"{warm['p50_ms']:.1f} ms",
                f"{warm['p95_ms']:.1f} ms",
                f"{warm['resident_mb']:.0f} MB",
                f"{warm['disk_mb']:.0f} MB",
            ]
        )
        figures[str(size)] = {
            "build seconds": build,
            "cold seconds": [each.seconds for each in cold],
            "warm": warm,
            "build peak MB": made.peak_mb,
        }
    columns = [
        "passages",
        "built in",
        "cold question, whole process",
        "its peak memory",
        "warm p50",
        "warm p95",
        "resident, warm",
        "on disk",
    ]
    note = f"Warm: {QUESTIONS} hybrid searches in one process, the question's embedding included; without a reranker."
    return Report("scale", TITLE, [Table("Synthetic libraries", columns, rows, note=note)], figures)


def warm(size: int) -> dict[str, float]:
    """Times of hybrid searches in one process, in milliseconds, and its resident memory after them."""
    from benchmarks.libraries import session
    from ragscience.records import Filters

    home = synthetic_home(size)
    times = []
    with session(home, wanted=20, rerank="off") as one:
        for number in range(5):
            one.search(question(1000 + number), Filters())
        for number in range(QUESTIONS):
            started = time.perf_counter()
            one.search(question(number), Filters())
            times.append(1000 * (time.perf_counter() - started))
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)
    disk = sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 2**20
    p50, p95 = np.percentile(times, [50, 95])
    return {"p50_ms": float(p50), "p95_ms": float(p95), "resident_mb": resident, "disk_mb": disk}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("command", choices=["build", "warm"])
    parser.add_argument("size", type=int)
    options = parser.parse_args()
    if options.command == "build":
        synthetic_home(options.size)
    else:
        print(json.dumps(warm(options.size)))


if __name__ == "__main__":
    main()
