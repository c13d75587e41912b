"""Reranking: our cross-encoder against CrossEncoder.predict on the same pairs, and late interaction by itself.

The weights are random, of a fixed seed: what is compared is the time, and that the scores and the order are the same.
"""

from __future__ import annotations

import zlib

import numpy as np

from benchmarks.large_homes import large_home, questions
from benchmarks.libraries import papers_home, session
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns, clock, medians

TITLE = "Reranking"
QUESTION = "How many people took part in the trials, and what was measured?"
PAIRS, CANDIDATES, LARGE = 20, 50, 100_000
PASSAGES, TOKENS, ASKED = 100, 169, 12
BASELINE, OURS = "CrossEncoder.predict (torch)", "cross-encoder (onnxruntime)"


def run(options: Options) -> Report:
    """Twenty pairs by turns, then late interaction over about 100 candidates at 100,000 passages, warm."""
    cross, figures = _cross_encoders(options.rounds)
    late = _late_ms(max(options.rounds, 20))
    figures["late interaction, ms"] = float(np.median(late))
    codes, figures["codes of int8"] = _codes_against_int8(max(options.rounds, 20))
    heading = f"Late interaction over the union of {CANDIDATES} + {CANDIDATES} candidates, {LARGE:,} passages"
    other = Table(heading, ["what", "time"], [["token vectors read and scored", spread(late, "ms", 1)]])
    return Report("rerank", TITLE, [cross, other, codes], figures)


def _cross_encoders(rounds: int) -> tuple[Table, dict[str, object]]:
    import torch
    from sentence_transformers import CrossEncoder

    from benchmarks.baseline import random_cross_encoder
    from config import load_settings
    from ragscience.engine.asking import search
    from ragscience.engine.requests import SearchRequest
    from ragscience.models.local_models import open_cross_encoder

    with session(papers_home(), wanted=PAIRS, rerank="off") as one:
        passages = [hit.chunk.text for hit in search(one.shared, SearchRequest(QUESTION, top_k=PAIRS)).hits]
    folder = random_cross_encoder()
    theirs = CrossEncoder(str(folder), max_length=512, device="cpu", activation_fn=torch.nn.Identity())
    ours = open_cross_encoder(
        folder, load_settings().reranker, cache_folder=load_settings().cache_folder, on_warning=print
    )
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


def _codes_against_int8(rounds: int) -> tuple[Table, dict[str, float]]:
    """Checksums and MaxSim of the same unit vectors, as rows of int8 that are multiplied as floats, and as codes."""
    from ragscience.models.maxsim import DIMENSION, encode, maxsim, product_on_one_core
    from ragscience.models.model_protocols import QuestionVectors

    rows = np.random.default_rng(0).standard_normal((PASSAGES * TOKENS + ASKED, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    asked = rows[:ASKED]
    question = QuestionVectors(asked[0], asked, np.full(ASKED, 1 / ASKED, np.float32), np.zeros((ASKED, 2), np.int32))
    int8 = np.split(np.rint(rows[ASKED:] * 127).astype(np.int8), PASSAGES)
    codes = np.split(encode(rows[ASKED:]), PASSAGES)

    def by_product() -> object:
        checked = [zlib.crc32(each.data) for each in int8]
        products = product_on_one_core(np.concatenate(int8).astype(np.float32), asked.T)
        starts = range(0, PASSAGES * TOKENS, TOKENS)
        return checked, np.maximum.reduceat(products, starts, axis=0).mean(axis=1) / 127

    def by_table() -> object:
        return [zlib.crc32(each.data) for each in codes], maxsim(question, codes)

    sides = {"int8, multiplied as floats": (by_product, int8), "codes, from a table": (by_table, codes)}
    runs = by_turns({name: clock(side) for name, (side, _) in sides.items()}, rounds)
    middle = medians(runs)
    first = next(iter(middle))
    table = [
        [
            name,
            f"{sum(each.nbytes for each in sides[name][1]) / PASSAGES / 1000:.1f} KB",
            spread([1000 * value for value in values], "ms", 2),
            f"{middle[name] / middle[first]:.2f}",
        ]
        for name, values in runs.items()
    ]
    heading = f"MaxSim of {PASSAGES} passages of {TOKENS} tokens for a question of {ASKED}, checksums included"
    return Table(heading, ["token vectors", "a passage", "time", "of int8"], table), middle


def _late_ms(rounds: int) -> list[float]:
    from ragscience.engine.asking import search
    from ragscience.engine.requests import SearchRequest

    home, asked = large_home(LARGE), questions()[: rounds + 1]
    with session(home, wanted=4, rerank="late-interaction", top_k_candidates=CANDIDATES) as one:
        search(one.shared, SearchRequest(asked[0], top_k=4))
        return [search(one.shared, SearchRequest(text, top_k=4)).timings_ms["late_ms"] for text in asked[1:]]
