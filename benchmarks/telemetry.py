"""What telemetry costs a search: with it and without by turns in one process, and its own calls alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.libraries import fresh_folder, papers_home, session
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns, clock

if TYPE_CHECKING:
    from ragscience.engine.question_run import QuestionRun

TITLE = "Telemetry"
QUESTIONS = (
    "How long did training take?",
    "What does the reranker read?",
    "Which data sets were used for evaluation?",
    "How are negative examples chosen?",
)
OFF, FILES, ALL = "off", "log", "log, metrics and spans"
TURNS, CALLS = 80, 500
"""For each round that was asked for; and of one call alone."""
RESAMPLED = 2000


def run(options: Options) -> Report:
    """Searches over the 24 papers, warm, with late interaction; spans are made and kept in memory, not sent."""
    settings = {"rerank": "late-interaction"}
    folder = fresh_folder("telemetry")
    files = {"log_file": str(folder / "q.log")}
    with (
        session(papers_home(), wanted=None, **settings) as off,
        session(papers_home(), wanted=None, **settings, **files) as on,
        session(papers_home(), wanted=None, **settings, **files) as all_on,
    ):
        _with_spans(all_on)
        sides = {OFF: _searches(off), FILES: _searches(on), ALL: _searches(all_on)}
        runs = by_turns(sides, TURNS * options.rounds)
        alone = _alone(all_on)
    searches = {name: np.asarray(values) * 1000 for name, values in runs.items()}
    middle = {name: float(np.median(values)) for name, values in searches.items()}
    ratios = {name: _ratio(searches[name], searches[OFF]) for name in (FILES, ALL)}
    rows = [
        [name, spread(values.tolist(), "ms", 2), _shown(ratios[name]) if name in ratios else ""]
        for name, values in searches.items()
    ]
    own = {FILES: alone["timing"] + alone["log"]}
    own[ALL] = own[FILES] + alone["spans"]
    shares = [
        [name, f"{ms:.3f} ms", f"{ms / middle[OFF]:.2%}"]
        for name, ms in (*alone.items(), *((f"together: {name}", ms) for name, ms in own.items()))
    ]
    note = (
        f"{TURNS * options.rounds} turns, one question each, {len(QUESTIONS)} of them in rotation; until the passages"
        " are there, and written to the log, the metrics and the spans."
    )
    figures = {
        "ms": middle,
        "more than off": ratios,
        "alone, ms": alone,
        "alone, share": {name: ms / middle[OFF] for name, ms in own.items()},
    }
    return Report(
        "telemetry",
        TITLE,
        [
            Table("A search, by turns", ["telemetry", "a search", "more than off (95 %)"], rows, note=note),
            Table("The calls alone", ["calls of one search", "median", "of a search"], shares),
        ],
        figures,
    )


def _searches(one: QuestionRun) -> Callable[[], float]:
    """The next question, as a command searches for it; its stages are timed also where nothing is told of it."""
    from ragscience import SearchRequest

    questions = cycle(QUESTIONS)

    def ask() -> None:
        one.engine.search(SearchRequest(next(questions)))

    timed = clock(ask)

    def turn() -> float:
        return timed()

    return turn


def _shown(ratio: tuple[float, float, float]) -> str:
    return "{:+.2%} ({:+.2%} to {:+.2%})".format(*ratio)


def _with_spans(one: QuestionRun) -> None:
    """Let the engine send spans, too: to the SDK, with its batches, and into memory."""
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from prometheus_client import CollectorRegistry

    from ragscience.upkeep.otel_spans import SpanSender
    from ragscience.upkeep.telemetry import LogFile, QuestionCounts, Telemetry

    log = Path(one.settings.log_file)
    spans = SpanSender(InMemorySpanExporter(), {}, with_questions=False)
    one.engine._made["telemetry"] = Telemetry([LogFile(log), QuestionCounts(CollectorRegistry()), spans], print)


def _alone(one: QuestionRun) -> dict[str, float]:
    """Median milliseconds of what telemetry does for one search: the stages' timing, the files, the spans."""
    from ragscience import SearchRequest
    from ragscience.core.answer_records import Timings, timed
    from ragscience.upkeep.telemetry import of_search

    found = one.engine.search(SearchRequest(QUESTIONS[0]))
    log, metrics, spans = one.engine.telemetry._sinks
    event = of_search(found, {})

    def timing() -> None:
        timings = Timings()
        for stage in found.stages:
            with timed(timings, f"{stage.name}_ms"):
                pass

    def files() -> None:
        account = of_search(found, {})
        log.record(account)
        metrics.record(account)

    return {
        "timing": _median_ms(timing),
        "log": _median_ms(files),
        "spans": _median_ms(lambda: spans.record(event)),  # type: ignore[attr-defined]
    }


def _median_ms(call: Callable[[], object]) -> float:
    timed = clock(call)
    return statistics.median(timed() for _ in range(CALLS)) * 1000


def _ratio(on: np.ndarray, off: np.ndarray) -> tuple[float, float, float]:
    """How much longer, as the median of the turns' ratios less one, with a 95 % bootstrap interval."""
    ratios = on / off - 1
    generator = np.random.default_rng(0)
    drawn = np.median(generator.choice(ratios, (RESAMPLED, len(ratios))), axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(np.median(ratios)), float(low), float(high)
