"""Large libraries in both stores: building, opening, searching, adding and removing a paper; memory and disk.

Each step runs in processes of its own over a library of made-up passages (large_library.py). The one that searches is
an Engine as every command opens it, with the embedded model and the default profile; a paper is added and removed by
`ingest.py` itself while that process stays open.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmarks.large_homes import file_name, large_home, library_uri, questions
from benchmarks.report import Report, Table
from benchmarks.running import Options, door, module, run_process

T = TypeVar("T")

if TYPE_CHECKING:
    from ragscience import Engine

TITLE = "Scale"
SIZES = (10_000, 100_000)
FULL_SIZES = (1_000_000, 3_000_000)
STORES = ("embedded", "lance")
QUESTIONS, WARM_UP = 200, 10
YEARS = (2000, 2001)
"""Of 2 of the 35 years that the papers are from: 6 % of the passages."""
ADDED = "quizzical_zyzzyva.pdf"
ADDED_TEXT = "The zyzzyva weevil sings at dawn, which {number} of our {number} microphones in the meadow recorded."


def run(options: Options) -> Report:
    """Each size and store in processes of its own, so that none inherits another's memory."""
    figures: dict[str, dict[str, Any]] = {}
    for size in (*SIZES, *FULL_SIZES) if options.full else SIZES:
        for store in STORES:
            figures[f"{size} {store}"] = measured(size, store)
    note = (
        f"{QUESTIONS} real questions each, after {WARM_UP} that do not count, in one process, one at a time: with "
        "embedding, both searches, fusion and late interaction. Added and removed: `ingest.py` as a whole, with a PDF "
        "of two pages, and how long the open process then took to find it, or not to. Memory: of the process that "
        "searches; a part of it are files that it maps, which the system takes back when it needs the room."
    )
    rows = [_row(name, each) for name, each in figures.items()]
    return Report("scale", TITLE, [Table("Made-up libraries in both stores", list(_COLUMNS), rows, note=note)], figures)


def measured(size: int, store: str, tokens: int | None = None) -> dict[str, Any]:
    """All figures of one library."""
    which = [str(size), store, *([] if tokens is None else ["--tokens", str(tokens)])]
    build = run_process(module("scale", "build", *which))
    read = run_process(module("scale", "read", *which))
    change = run_process(module("scale", "change", *which))
    built = json.loads(build.stdout)
    return {**built, "build_peak_mb": build.peak_mb, **json.loads(read.stdout), **json.loads(change.stdout)}


_COLUMNS = {
    "library": "{name}",
    "written": "{written:.0f} s",
    "indexed": "{indexed:.0f} s",
    "papers' names found": "{named:.0f} s",
    "on disk": "{disk_gb:.1f} GB",
    "opened, first search": "{first_s:.1f} s",
    "search p50": "{all_p50_ms:.0f} ms",
    "p95": "{all_p95_ms:.0f} ms",
    "of which late interaction, p50": "{late_ms:.0f} ms",
    "years p95": "{years_p95_ms:.0f} ms",
    "one paper p95": "{paper_p95_ms:.0f} ms",
    "pages p95": "{pages_p95_ms:.0f} ms",
    "memory": "{rss_mb:.0f} MB",
    "without files": "{anonymous_mb:.0f} MB",
    "added": "{add_s:.1f} s",
    "found": "{found_s:.1f} s",
    "found, added by a server": "{added_here_s:.1f} s",
    "removed": "{remove_s:.1f} s",
    "gone": "{gone_s:.1f} s",
}


def _row(name: str, figures: Mapping[str, Any]) -> list[str]:
    size, store = name.split()
    return [shape.format(name=f"{int(size):,} {store}", **figures) for shape in _COLUMNS.values()]


def read(home: Path, store: str, asked: Sequence[str], count: int = QUESTIONS) -> dict[str, float]:
    """Opening, the first search, and `count` warm ones, then a quarter as many with each of three filters."""
    from ragscience.core.records import Filters

    filters = {
        "all": Filters(),
        "years": Filters(years=YEARS),
        "paper": Filters(papers=(file_name(7),)),
        "pages": Filters(pages=(1, 2)),
    }
    figures: dict[str, float] = {}
    started = time.perf_counter()
    with opened(home, store) as engine:
        _asked(engine, asked[-1], Filters())
        figures["first_s"] = time.perf_counter() - started
        figures["first_mb"] = memory()["VmRSS"]
        for name, chosen in filters.items():
            for text in asked[-WARM_UP:]:
                _asked(engine, text, chosen)
            times, stages = [], []
            for text in islice(cycle(asked), count if name == "all" else max(count // 4, 1)):
                began = time.perf_counter()
                stages.append(_asked(engine, text, chosen))
                times.append(1000 * (time.perf_counter() - began))
            p50, p95 = np.percentile(times, [50, 95])
            figures |= {f"{name}_p50_ms": float(p50), f"{name}_p95_ms": float(p95)}
            if name == "all":
                named = sorted({stage for each in stages for stage in each})
                figures |= {stage: float(np.median([each.get(stage, 0.0) for each in stages])) for stage in named}
                figures |= {
                    f"{stage}_p95": float(np.percentile([e.get(stage, 0.0) for e in stages], 95)) for stage in named
                }
                taken = memory()
                figures |= {"rss_mb": taken["VmRSS"], "anonymous_mb": taken["RssAnon"]}
        figures["peak_mb"] = memory()["VmHWM"]
    figures["disk_gb"] = sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 1e9
    return figures


def change(home: Path, store: str) -> dict[str, float]:
    """A paper added and removed by `ingest.py`: for how long the command runs, and when an open process sees it.

    That process asks all the while, and is told by its answers; seconds are from the start of the command.
    """
    from tests.pdf_factory import make_pdf

    lines = [ADDED_TEXT.format(number=number) for number in range(100, 130)]
    pdf = make_pdf(home / "papers" / ADDED, ["\n".join(lines[:15]), "\n".join(lines[15:])], title="On the zyzzyva")
    environment = {"RAG_LIBRARY": library_uri(home, store), "RAG_EMBEDDER": "embedded"}
    figures: dict[str, float] = {}
    with opened(home, store) as engine:
        _found(engine)
        for verb, command, after, wanted in (
            ("add", ["add", str(pdf)], "found", True),
            ("remove", ["remove", ADDED, "--yes"], "gone", False),
        ):
            figures[f"{after}_s"], done = _until(
                engine, wanted, partial(run_process, door("ingest", home, *command), environment)
            )
            figures |= {f"{verb}_s": done.seconds, f"{verb}_mb": done.peak_mb}
        figures["changed_peak_mb"] = memory()["VmHWM"]
        # And by the open process itself, as a server does it.
        figures["added_here_s"], _ = _until(engine, True, partial(engine.ingest.add, [pdf]))
        figures["removed_here_s"], _ = _until(engine, False, partial(engine.ingest.remove, [ADDED]))
    return figures


def _until(engine: Engine, wanted: bool, act: Callable[[], T]) -> tuple[float, T]:
    """Seconds from the beginning of `act` until the added paper is found, or is not any more; what `act` gives."""
    started = time.perf_counter()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(act)
        while _found(engine) != wanted:
            if running.done() and _found(engine) != wanted:
                raise RuntimeError(f"the added paper is {'not ' if wanted else ''}found")
        return time.perf_counter() - started, running.result()


@contextmanager
def opened(home: Path, store: str) -> Iterator[Engine]:
    """The engine of a large home, as `query.py` opens it."""
    from ragscience import Engine
    from ragscience.core.settings import load_settings

    settings = load_settings(home=home, offline=True, embedder="embedded", library=library_uri(home, store))
    with Engine.open(home, settings) as engine:
        yield engine


def _asked(engine: Engine, question: str, filters: Any) -> dict[str, float]:
    """The milliseconds of the stages of a search."""
    from ragscience import SearchRequest

    return dict(engine.search(SearchRequest(question, filters)).timings_ms)


def _found(engine: Engine) -> bool:
    from ragscience import SearchRequest

    hits = engine.search(SearchRequest("Where does the zyzzyva weevil sing?")).hits
    return any(hit.chunk.file == ADDED for hit in hits)


def memory() -> dict[str, float]:
    """Of this process, in MB: VmRSS (resident), RssAnon (of that, not of files), VmHWM (the most so far)."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)
        return dict.fromkeys(("VmRSS", "RssAnon", "VmHWM"), most)
    told = dict(line.split(":", 1) for line in lines)
    return {name: int(told[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon", "VmHWM")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("command", choices=["build", "read", "change", "all"])
    parser.add_argument("size", type=int)
    parser.add_argument("store", choices=STORES)
    parser.add_argument("--tokens", type=int, help="only so many passages have token vectors")
    options = parser.parse_args()
    if options.command == "all":
        figures = {**measured(options.size, options.store, options.tokens), "load": os.getloadavg()[0]}
    else:
        home = large_home(options.size, options.store, tokens=options.tokens)
        if options.command == "read":
            figures = read(home, options.store, questions())
        elif options.command == "change":
            figures = change(home, options.store)
        else:
            figures = json.loads((home / ".done").read_text(encoding="utf-8"))
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
