"""First-stage retrieval: each source gives its candidates, and every candidate gets the scores of all, fused."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.answer_records import Timings, timed
from ragscience.core.errors import RagScienceError
from ragscience.core.records import Profile
from ragscience.core.tokenizing import tokenize
from ragscience.library.store import Store, keyword_scores

RRF_CONSTANT = 60
"""Cormack, Clarke and Buettcher 2009 (SIGIR), "Reciprocal rank fusion outperforms Condorcet …": k = 60."""


def min_max(scores: Mapping[int, float]) -> dict[int, float]:
    """The scores min-max scaled to 0-1; if all are equal, all are 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def by_max(scores: Mapping[int, float]) -> dict[int, float]:
    """The scores divided by the highest, negative ones as 0; if none is above 0, all are 0."""
    high = max(scores.values(), default=0.0)
    if high <= 0:
        return dict.fromkeys(scores, 0.0)
    return {key: max(0.0, score) / high for key, score in scores.items()}


def weighted_sum(lists: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    """For each id the sum over lists of weight x min-max score; a list without the id adds nothing."""
    return plain_sum([(weight, min_max(scores)) for weight, scores in lists])


def plain_sum(lists: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    """For each id the sum over lists of weight x score; a list without the id adds nothing."""
    fused: dict[int, float] = {}
    for weight, scores in lists:
        for key, score in scores.items():
            fused[key] = fused.get(key, 0.0) + weight * score
    return fused


def reciprocal_rank(lists: Sequence[tuple[float, Sequence[int]]]) -> dict[int, float]:
    """For each id the sum over lists of weight / (60 + rank), rank from 1."""
    fused: dict[int, float] = {}
    for weight, ids in lists:
        for rank, key in enumerate(ids, start=1):
            fused[key] = fused.get(key, 0.0) + weight / (RRF_CONSTANT + rank)
    return fused


def shared_weights(weights: Mapping[str, float], present: Collection[str]) -> dict[str, float]:
    """The weights of those `present`, rescaled to the sum of all `weights`.

    If those present have no weight together, all get 0.
    """
    kept = {name: weight for name, weight in weights.items() if name in present}
    total = sum(kept.values())
    if len(kept) == len(weights) or total <= 0:
        return kept
    return {name: weight * sum(weights.values()) / total for name, weight in kept.items()}


ScoreSource = Callable[[str], Mapping[int, float]]
"""A further search: of a question the ids of passages, best first, each with 0 to 1. Raises RagScienceError."""


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The candidates of a search."""

    listed: Mapping[str, Mapping[int, float]]
    """Each source's own ranking, best first, under "dense", "bm25" and the names of further sources."""
    scores: Mapping[str, Mapping[int, float]]
    """By the same names: cosine and BM25 of every candidate, a further source's scores of its own candidates."""
    fused: Mapping[int, float]
    """The candidates that are passed on, and their fused scores; higher is better."""

    def found_by(self, chunk_id: int) -> tuple[str, ...]:
        """The names of the sources that listed a passage."""
        return tuple(name for name, found in self.listed.items() if chunk_id in found)

    def scores_of(self, chunk_id: int) -> dict[str, float | None]:
        """Each source's score of a passage, None if it has none, and `fused`."""
        return {name: scores.get(chunk_id) for name, scores in self.scores.items()} | {"fused": self.fused[chunk_id]}


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its vector."""

    text: str
    vector: NDArray[np.float32] | None
    """None: dense search is left out."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The passages that a search may find."""

    library: Store
    allowed: NDArray[np.int64] | None
    """Ids of passages, ascending; None: all."""

    def present(self, ids: Sequence[int]) -> list[int]:
        """Those of `ids` that are in the library and pass the filters, each once."""
        if not ids:
            return []
        found = list(dict.fromkeys(chunk.chunk_id for chunk in self.library.chunks(ids)))
        if self.allowed is None:
            return found
        from ragscience.library.dense_index import places

        _, permitted = places(self.allowed, np.array(found, np.int64))
        return list(compress(found, permitted.tolist()))


@dataclass(frozen=True, slots=True)
class SearchLog:
    """Timings and warnings of one search."""

    timings: Timings = field(default_factory=Timings)
    warnings: list[str] = field(default_factory=list)


def first_pass(
    question: Question,
    scope: Scope,
    profile: Profile,
    *,
    also: Sequence[int],
    sources: Mapping[str, ScoreSource],
    log: SearchLog,
) -> FirstPass:
    """The candidates of dense and keyword search, of `sources` that the profile gives a weight, and those of `also`.

    `also` are passages of the scope. A failing source adds a warning.
    """
    library, allowed = scope.library, scope.allowed
    by_dense: dict[int, float] = {}
    with timed(log.timings, "bm25_ms"):
        by_bm25 = _as_scores(*library.keywords.search(question.text, profile.bm25_candidates, allowed))
    if question.vector is not None:
        with timed(log.timings, "dense_ms"):
            by_dense = _as_scores(*library.dense.search(question.vector, profile.dense_candidates, allowed))
    listed = {"dense": by_dense, "bm25": by_bm25}
    for name, _ in profile.more_weights:
        if name in sources:
            with timed(log.timings, f"{name}_ms"):
                listed[name] = _of_source(name, sources[name], question, scope, log)
    again = list(dict.fromkeys(also))
    candidates = {chunk_id for scores in listed.values() for chunk_id in scores} | set(again)
    scores = listed | {
        "dense": by_dense | _dense_of(question, candidates - by_dense.keys(), library),
        "bm25": by_bm25 | _bm25_of(question, candidates - by_bm25.keys(), library),
    }
    present = {"bm25"} if question.vector is None else {"dense", "bm25"}
    # A source without candidates for a question is treated as absent.
    present |= {name for name, found in listed.items() if found}
    fused = dict.fromkeys(again, 0.0) | _fused(profile, listed, scores, present)
    return FirstPass(listed, scores, _best(fused, profile.prefilter))


def _of_source(name: str, source: ScoreSource, question: Question, scope: Scope, log: SearchLog) -> dict[int, float]:
    """The ranking of a further source, best first, limited to the library and the filters."""
    try:
        named = source(question.text)
    except RagScienceError as problem:
        log.warnings.append(f"The search went on without the {name}: {problem}")
        return {}
    return {chunk_id: named[chunk_id] for chunk_id in scope.present([*named])}


def _fused(
    profile: Profile,
    listed: Mapping[str, Mapping[int, float]],
    scores: Mapping[str, Mapping[int, float]],
    present: set[str],
) -> dict[int, float]:
    weights = {"dense": profile.dense_weight, "bm25": profile.bm25_weight, **dict(profile.more_weights)}
    if "dense" not in present and not weights["bm25"]:
        weights["bm25"] = weights["dense"]
    weights = shared_weights(weights, present)
    if profile.fusion == "rrf":
        return reciprocal_rank([(weight, list(listed[name])) for name, weight in weights.items()])
    scaled = dict(scores)
    if profile.fusion == "by-max":
        scaled["dense"] = {key: max(0.0, cosine) for key, cosine in scores["dense"].items()}
        scaled["bm25"] = by_max(scores["bm25"])
    else:
        scaled["dense"], scaled["bm25"] = min_max(scores["dense"]), min_max(scores["bm25"])
    return plain_sum([(weight, scaled[name]) for name, weight in weights.items()])


def _best(fused: dict[int, float], prefilter: int) -> dict[int, float]:
    if not prefilter or len(fused) <= prefilter:
        return fused
    kept = sorted(fused, key=lambda chunk_id: (-fused[chunk_id], chunk_id))[:prefilter]
    return {chunk_id: fused[chunk_id] for chunk_id in kept}


def _as_scores(ids: NDArray[np.int64], scores: NDArray[np.floating[Any]]) -> dict[int, float]:
    return dict(zip(ids.tolist(), scores.tolist(), strict=True))


def _dense_of(question: Question, ids: set[int], library: Store) -> dict[int, float]:
    """Exact cosines: a passage below the end of a list does not score 0 there."""
    if question.vector is None:
        return {}
    wanted = sorted(ids)
    return dict(zip(wanted, library.dense.scores(question.vector, wanted).tolist(), strict=True))


def _bm25_of(question: Question, ids: set[int], library: Store) -> dict[int, float]:
    wanted = sorted(ids)
    return dict(zip(wanted, keyword_scores(library, question.text, wanted).tolist(), strict=True))


_SAYING_WHAT_TO_DO = """
answer author authors compare compared define describe discuss document documents explain find give list many mention
mentioned much paper papers pdf please question report reported say says show summarise summarize summary tell
"""


def asked_terms(question: str) -> list[str]:
    """The terms of the question, with repetitions, without instruction words ("explain", "list")."""
    return [term for term in tokenize(question) if term not in _without_weight()]


@cache
def _without_weight() -> frozenset[str]:
    return frozenset(tokenize(_SAYING_WHAT_TO_DO))
