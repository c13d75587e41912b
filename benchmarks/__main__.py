"""python -m benchmarks [SUITE …]: run the suites, keep their figures, write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path

from benchmarks.report import conditions, save, write_page
from benchmarks.running import Options

SUITES = (
    "coldstart", "ingest", "keyword", "dense", "rerank", "reading", "quality", "trust", "calibration", "scale",
    "memory", "graph", "telemetry", "threads", "growth", "first_sign", "serving", "marks", "language_model",
    "two_languages",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{', '.join(SUITES)}; all where none is named")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side that count")
    parser.add_argument("--full", action="store_true", help="with a million passages (some 10 GB of disk)")
    parser.add_argument(
        "--page", action="store_true", help="only write docs/benchmarks.md from the results that are there"
    )
    parser.add_argument("--answers", type=Path, help="language_model: the folder where its answers are kept")
    parser.add_argument("--ways", default="", help="language_model: only these ways of answering, with commas")
    parser.add_argument("--minutes", type=float, default=0, help="language_model: no new answer after so many")
    asked = parser.parse_args()
    unknown = sorted(set(asked.suites) - set(SUITES))
    if unknown:
        parser.error(f"there is no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    ways = tuple(filter(None, map(str.strip, asked.ways.split(","))))
    options = Options(rounds=asked.rounds, full=asked.full, answers=asked.answers, ways=ways, minutes=asked.minutes)
    suites = asked.suites or SUITES
    for name in () if asked.page else suites:
        machine, started = conditions(), time.perf_counter()
        print(f"{name} …", flush=True)
        report = import_module(f"benchmarks.{name}").run(options)
        path = save(report, machine)
        print(f"{name}: {time.perf_counter() - started:.0f} s, {path.name}", flush=True)
    print(write_page(SUITES, suites).name)


if __name__ == "__main__":
    main()
