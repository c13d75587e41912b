"""One engine for several threads: searches a second, against one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from benchmarks.libraries import papers_home
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns

if TYPE_CHECKING:
    from ragscience import Engine

TITLE = "Threads"
QUESTIONS = (
    "How long did training take?",
    "What does the reranker read?",
    "Which data sets were used for evaluation?",
    "How are negative examples chosen?",
    "Why is the learning rate warmed up?",
)
SEARCHES, THREADS = 96, 8
ONE, MANY = "1 thread", f"{THREADS} threads"


def run(options: Options) -> Report:
    """Searches over the papers with late interaction, warm, the sides by turns; every result is compared."""
    from ragscience import Engine
    from ragscience.core.settings import load_settings

    home = papers_home()
    settings = load_settings(home=home, offline=True, rerank="late-interaction")
    with Engine.open(home, settings) as engine:
        alone = {question: _found(engine, question) for question in QUESTIONS}
        sides = {
            name: _searches(engine, number, alone) for name, number in ((ONE, 1), ("2 threads", 2), (MANY, THREADS))
        }
        runs = by_turns(sides, options.rounds)
    ratios = {name: [b / a for a, b in zip(runs[ONE], values, strict=True)] for name, values in runs.items()}
    rows = [[name, spread(values, "/s", 1), spread(ratios[name], "", 2)] for name, values in runs.items()]
    note = f"{SEARCHES} searches a round, {len(QUESTIONS)} questions; all results were those of a question asked alone."
    table = Table("Searches a second", ["threads", "searches", "of one thread, round by round"], rows, note=note)
    return Report("threads", TITLE, [table], {"searches a second": runs, "of one thread": ratios})


def _found(engine: Engine, question: str) -> list[tuple[int, float]]:
    from ragscience import SearchRequest

    return [(hit.chunk.chunk_id, hit.score) for hit in engine.search(SearchRequest(question)).hits]


def _searches(engine: Engine, threads: int, alone: dict[str, list[tuple[int, float]]]) -> Callable[[], float]:
    """Searches a second of so many threads. Raises RuntimeError where a result is another one."""

    def search(number: int) -> None:
        question = QUESTIONS[number % len(QUESTIONS)]
        if _found(engine, question) != alone[question]:
            raise RuntimeError(f"another result: {question}")

    def timed() -> float:
        started = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(search, range(SEARCHES)))
        return SEARCHES / (time.perf_counter() - started)

    return timed
