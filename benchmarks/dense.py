"""The dense index against the guide's flat FAISS index in memory: time, and what part of the true best it finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.large_homes import large_home, large_library
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns, clock, medians

TITLE = "Dense search"
SIZES = (10_000, 100_000)
FULL_SIZE = 1_000_000
QUERIES, TOP = 50, 20
ASKED_SEED = 10**6
"""Of made-up passages that no library holds: their vectors are the questions."""
OURS, BASELINE = "dense index", "IndexFlatIP in memory"


def run(options: Options) -> Report:
    """For each size: time a query and recall@20 against the exact order."""
    rows, figures = [], {}
    for size in (*SIZES, FULL_SIZE) if options.full else SIZES:
        times, recall = _at(size, options.rounds)
        middle = medians(times)
        rows += [
            [
                f"{size:,}",
                name,
                spread(values, "ms"),
                f"{middle[name] / middle[BASELINE]:.2f}",
                f"{recall:.4f}" if name == OURS else "1",
            ]
            for name, values in times.items()
        ]
        figures[str(size)] = {"ms": middle, "recall@20": recall}
    columns = ["passages", "index", "one query", "of the flat index", f"recall@{TOP}"]
    return Report("dense", TITLE, [Table(f"{QUERIES} questions a run, best {TOP}", columns, rows)], figures)


def _at(size: int, rounds: int) -> tuple[dict[str, list[float]], float]:
    import faiss

    from ragscience.library.store import Home, Library

    queries = next(replace(large_library(QUERIES), seed=ASKED_SEED).batches()).vectors
    with Library.open(Home(large_home(size, tokens=0))) as library:
        ids, vectors = library.vectors.of()
        flat = faiss.IndexFlatIP(vectors.shape[1])
        flat.add(vectors)
        del vectors
        _, best = flat.search(queries, TOP)
        recall = recall_at(
            TOP, [ids[row] for row in best], [library.dense.search(query, TOP, None)[0] for query in queries]
        )

        def ours() -> None:
            for query in queries:
                library.dense.search(query, TOP, None)

        def theirs() -> None:
            for query in queries:
                flat.search(query[np.newaxis], TOP)

        runs = by_turns({BASELINE: clock(theirs), OURS: clock(ours)}, rounds)
    return {name: [1000 * seconds / QUERIES for seconds in values] for name, values in runs.items()}, recall


def recall_at(k: int, true: list[NDArray[np.int64]], found: list[NDArray[np.int64]]) -> float:
    """The mean share of the true first k that are among the found first k."""
    return float(
        np.mean([len(set(a[:k].tolist()) & set(b[:k].tolist())) / k for a, b in zip(true, found, strict=True)])
    )
