"""The keyword index against rank_bm25 over the same tokens: the same scores, and how much sooner."""

from __future__ import annotations

import numpy as np

from benchmarks.large_homes import large_home, questions
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns, clock, medians

TITLE = "Keyword search"
CHUNKS, OPENED = 50_000, 100_000
QUESTIONS, TOP = 10, 20
OURS, BASELINE = "keyword index", "rank_bm25.BM25Okapi"


def run(options: Options) -> Report:
    """Warm queries at 50,000 passages by turns, the largest difference of scores, and opening at 100,000."""
    from rank_bm25 import BM25Okapi

    from ragscience.core.tokenizing import tokenize
    from ragscience.library.store import Home, Library

    asked = questions()[:QUESTIONS]
    with Library.open(Home(large_home(CHUNKS, tokens=0))) as library:
        ids: list[int] = []
        tokens: list[list[str]] = []
        for numbers, texts in library.texts(4096):
            ids += numbers
            tokens += map(tokenize, texts)
        reference = BM25Okapi(tokens)
        row_of = {chunk_id: row for row, chunk_id in enumerate(ids)}
        worst = 0.0
        for text in asked:
            found, scores = library.keywords.search(text, TOP, None)
            true = reference.get_scores(tokenize(text))
            worst = max(worst, float(np.abs(true[[row_of[each] for each in found.tolist()]] - scores).max()))
            worst = max(worst, float(np.sort(true)[-TOP] - scores[-1]))

        def theirs() -> None:
            for text in asked:
                scores = reference.get_scores(tokenize(text))
                np.argsort(-scores, kind="stable")[:TOP]

        def ours() -> None:
            for text in asked:
                library.keywords.search(text, TOP, None)

        runs = by_turns({BASELINE: clock(theirs), OURS: clock(ours)}, options.rounds)
    each = {name: [1000 * seconds / QUESTIONS for seconds in values] for name, values in runs.items()}
    middle = medians(each)
    rows = [[name, spread(values, "ms"), f"{middle[BASELINE] / middle[name]:.0f}"] for name, values in each.items()]
    opening = [1000 * seconds for seconds in _openings(options.rounds)]
    tables = [
        Table(
            f"One query at {CHUNKS:,} passages, {QUESTIONS} questions a run",
            ["index", "time", "times faster"],
            rows,
            note=f"Largest difference of a score among the first {TOP}: {worst:.1e}.",
        ),
        Table(
            f"Opening at {OPENED:,} passages, first query included",
            ["what", "time"],
            [["open library and index, one query", spread(opening, "ms", 1)]],
        ),
    ]
    return Report(
        "keyword",
        TITLE,
        tables,
        {
            "ms": middle,
            "times faster": middle[BASELINE] / middle[OURS],
            "largest difference": worst,
            "opening ms": opening,
        },
    )


def _openings(rounds: int) -> list[float]:
    from ragscience.library.store import Home, Library

    home, (asked, *_) = Home(large_home(OPENED, tokens=0)), questions()

    def opened() -> None:
        with Library.open(home) as library:
            library.keywords.search(asked, TOP, None)

    return by_turns({"open": clock(opened)}, rounds)["open"]
