"""How likely what was found answers the question: a small logistic model over the signals of the search.

Signals: search/search_signals.py. The coefficients come from `tools/fit_answerability.py`: logistic
regression with an L2 penalty of 3 on standardised signals, over the 71 answerable questions of a development set asked
of 24 papers, the same questions asked again without the papers that answer them, and 8 that no paper answers. AUC of
questions whose papers the fit did not see, and what the threshold costs: docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ragscience.core.records import Found
from ragscience.core.tokenizing import terms

__all__ = [
    "LEXICAL",
    "SIGNALS_OF",
    "WITHOUT_COSINE",
    "WITH_TOKEN_VECTORS",
    "answerability",
    "is_answerable",
    "is_in_doubt",
]

WITH_TOKEN_VECTORS = {
    "intercept": -11.54,
    "keyword_match": 9.94,
    "maxsim": 8.04,
    "missing_term": -1.01,
    "cosine": 6.85,
}
"""For the embedded embedder with late interaction: MaxSim and cosine are those of all-MiniLM-L6-v2."""
WITHOUT_COSINE = {"intercept": -11.00, "keyword_match": 9.66, "maxsim": 12.13, "missing_term": -1.15}
"""For every other embedder with late interaction: its cosines have another scale."""
LEXICAL = {"intercept": -3.57, "keyword_match": 15.18, "missing_term": -1.06}
"""Where nothing is read again."""
SIGNALS_OF = {
    "with token vectors": tuple(name for name in WITH_TOKEN_VECTORS if name != "intercept"),
    "with token vectors, another embedder": tuple(name for name in WITHOUT_COSINE if name != "intercept"),
    "lexical": tuple(name for name in LEXICAL if name != "intercept"),
}
"""What `tools/fit_answerability.py` fits."""

_WIDTH = 4.0
_ALIKE = 0.7
"""Questions from far away are less alike, nearly all; what that costs: docs/benchmarks.md."""
_FARTHEST = 6.0
"""Log-odds beyond which a cross-encoder is not believed to know better."""


def answerability(found: Found, question: str) -> float:
    """How likely the passages answer the question, 0 to 1; 0 where nothing was found, 1 where a route chose them.

    A question without a content word ("What is this about?") gives 0.5: nothing can be estimated. If a
    cross-encoder scored the passages, the log-odds of its best score have weight 0.5; they are **not calibrated**.
    Without search signals the estimate is the share of the question's terms in one passage.
    """
    if not found.hits:
        return 0.0
    seen = found.signals
    if not seen:
        return _share_of_terms(found, question)
    if "routed" in seen:
        return 1.0
    if "keyword_match" not in seen:
        return 0.5
    reread = WITH_TOKEN_VECTORS if "cosine" in seen else WITHOUT_COSINE
    log_odds = _weighted(reread if "maxsim" in seen else LEXICAL, seen)
    if "rerank" in seen:
        log_odds = (log_odds + max(-_FARTHEST, min(_FARTHEST, seen["rerank"]))) / 2
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))


def is_in_doubt(score: float, *, threshold: float) -> bool:
    """Whether `is_answerable` would not take this answerability alone for an answer."""
    return score < threshold * _WIDTH


def is_answerable(score: float, *, threshold: float, likeness: float | None, has_name: bool = False) -> bool:
    """Whether to answer: only what is far from the papers is refused.

    `score` is the answerability, `likeness` that of the question's words to those of the passages, `has_name` whether
    the papers have a name that the question has (ask/confidence.py). Where the likeness is known, it and the name
    decide between a quarter of `threshold` and four times as much.
    """
    if likeness is None:
        return score >= threshold
    is_near = likeness >= _ALIKE or has_name or not threshold
    return score >= threshold / _WIDTH and (not is_in_doubt(score, threshold=threshold) or is_near)


def _weighted(model: Mapping[str, float], seen: Mapping[str, float]) -> float:
    return sum(weight * seen.get(name, 1.0) for name, weight in model.items())


def _share_of_terms(found: Found, question: str) -> float:
    asked = set(terms(question))
    if not asked:
        return 0.5
    return max(len(asked.intersection(terms(hit.chunk.text))) for hit in found.hits) / len(asked)
