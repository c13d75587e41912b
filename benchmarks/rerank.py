"""Reranking: our cross-encoder against CrossEncoder.predict on the same pairs, and late interaction by itself.

The weights are random, of a fixed seed: what is compared is the time, and that the scores and the order are the same.
"""

from __future__ import annotations

import numpy as np

from benchmarks.libraries import papers_home, session
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns, clock, medians
from benchmarks.synthetic import question, synthetic_home

TITLE = "Reranking"
QUESTION = "How many people took part in the trials, and what was measured?"
PAIRS, CANDIDATES, LARGE = 20, 50, 100_000
BASELINE, OURS = "CrossEncoder.predict (torch)", "cross-encoder (onnxruntime)"


def run(options: Options) -> Report:
    """Twenty pairs by turns, then late interaction over about 100 candidates at 100,000 passages, warm."""
    cross, figures = _cross_encoders(options.rounds)
    late = _late_ms(max(options.rounds, 20))
    figures["late interaction, ms"] = float(np.median(late))
    heading = f"Late interaction over the union of {CANDIDATES} + {CANDIDATES} candidates, {LARGE:,} passages"
    other = Table(heading, ["what", "time"], [["token vectors read and scored", spread(late, "ms", 1)]])
    return Report("rerank", TITLE, [cross, other], figures)


def _cross_encoders(rounds: int) -> tuple[Table, dict[str, object]]:
    from sentence_transformers import CrossEncoder

    from benchmarks.baseline import random_cross_encoder
    from config import load_settings
    from ragscience.models.cross_encoder import open_cross_encoder
    from ragscience.records import Filters

    with session(papers_home(), wanted=PAIRS, rerank="off") as one:
        passages = [hit.chunk.text for hit in one.search(QUESTION, Filters()).hits]
    folder = random_cross_encoder()
    theirs = CrossEncoder(str(folder), max_length=512, device="cpu")
    ours = open_cross_encoder(folder, "random", cache_folder=load_settings().cache_folder, on_warning=print)
    pairs = [(QUESTION, passage) for passage in passages]
    sides = {
        BASELINE: clock(lambda: theirs.predict(pairs, show_progress_bar=False)),
        OURS: clock(lambda: ours.score(QUESTION, passages)),
    }
    a, b = np.asarray(theirs.predict(pairs, show_progress_bar=False)), ours.score(QUESTION, passages)
    is_same_order = bool((np.argsort(-a, kind="stable") == np.argsort(-b, kind="stable")).all())
    runs = by_turns(sides, rounds)
    middle = medians(runs)
    rows = [[name, spread(values, "s"), f"{middle[name] / middle[BASELINE]:.2f}"] for name, values in runs.items()]
    order = "the same" if is_same_order else "NOT the same"
    note = f"Largest difference of a score: {np.abs(a - b).max():.1e}; the order is {order}."
    figures: dict[str, object] = {
        "seconds": middle,
        "of CrossEncoder": middle[OURS] / middle[BASELINE],
        "same order": is_same_order,
    }
    return Table(f"{PAIRS} pairs at full depth", ["model", "time", "of CrossEncoder"], rows, note=note), figures


def _late_ms(rounds: int) -> list[float]:
    from ragscience.records import Filters

    home = synthetic_home(LARGE, with_tokens=True)
    with session(home, wanted=4, rerank="late-interaction", top_k_candidates=CANDIDATES) as one:
        one.search(question(0), Filters())
        return [one.search(question(number), Filters()).timings_ms["late_ms"] for number in range(1, rounds + 1)]
