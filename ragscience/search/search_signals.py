"""Signals of whether the papers answer the question at all: a few numbers from the search itself.

They need no further model call. They cover all candidates, not only the passages returned, so that they do not depend
on how many were requested.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.tokenizing import tokenize
from ragscience.library.store import term_counts

if TYPE_CHECKING:
    from ragscience.library.store import TermCounts
    from ragscience.models.model_protocols import Scale
    from ragscience.search.first_pass import Scope


TOGETHER = 4
"""How many of the best candidates are checked together for a term of the question that all of them lack."""

SMALLEST = 1000
"""Smallest library size assumed: otherwise the subject of a lone paper would count as a common word."""

SMALLEST_PROBABILITY = 1e-6
"""Of a cross-encoder: a sigmoid in float32 can be 0 or 1, whose log-odds are infinite."""

_SAYING_WHAT_TO_DO = """
answer author authors compare compared define describe discuss document documents explain find give list many mention
mentioned much paper papers pdf please question report reported say says show summarise summarize summary tell
"""


def signals(
    question: str,
    order: Sequence[int],
    scope: Scope,
    *,
    cosines: Mapping[int, float],
    maxsims: Mapping[int, float],
    rerank: float | None,
) -> dict[str, float]:
    """The signals of one search; a key is missing if it cannot be computed.

    `order` are the ids of the candidates, best first; `cosines` and `maxsims` are of candidates, `rerank` is the
    log-odds of the cross-encoder's best score (`log_odds`).

    - `terms`: how many terms the question has.
    - `keyword_match`, `missing_term`: see `lexical_signals`.
    - `maxsim`: the highest MaxSim of a candidate, the mean over the question's tokens, -1 to 1.
    - `cosine`: the highest of a candidate, -1 to 1; missing where another model than that of MaxSim makes it.
    - `rerank`: unchanged.

    `foreign`, 1, is there for a question in another language than the model's, of which only known words were searched.
    """
    seen: dict[str, float] = {}
    terms = asked_terms(question)
    seen["terms"] = float(len(set(terms)))
    if terms and order:
        seen |= lexical_signals(terms, term_counts(scope.library, terms, order, scope.allowed))
    if cosines:
        seen["cosine"] = max(cosines.values())
    if maxsims:
        seen["maxsim"] = max(maxsims.values())
    if rerank is not None and np.isfinite(rerank):
        seen["rerank"] = rerank
    return {name: round(value, 6) for name, value in seen.items()}


def log_odds(score: float | None, scale: Scale) -> float | None:
    """A reranker's score as log-odds; None where it is neither log-odds nor a probability."""
    if score is None or scale == "other":
        return None
    if scale == "log-odds":
        return score
    probability = min(1.0 - SMALLEST_PROBABILITY, max(SMALLEST_PROBABILITY, score))
    return math.log(probability / (1.0 - probability))


def asked_terms(question: str) -> list[str]:
    """The terms of the question, with repetitions, without instruction words ("explain", "list")."""
    return [term for term in tokenize(question) if term not in _without_weight()]


@cache
def _without_weight() -> frozenset[str]:
    return frozenset(tokenize(_SAYING_WHAT_TO_DO))


def lexical_signals(terms: Sequence[str], found: TermCounts) -> dict[str, float]:
    """How well the question's terms match the candidates, whose columns in `found.counts` are best first.

    - `keyword_match`, 0 to 1: the best candidate's BM25 score, as a share of the score that a passage full of the
      question's terms would approach. BM25 as in library/keywords.py, but with idf = ln((N + 1) / (n + 0.5)), N
      being `SMALLEST` or more, which is above 0 also in a library of one passage.
    - `missing_term`, 0 to 1: the idf of the rarest term that none of the best `TOGETHER` candidates has, over the idf
      of a term that no passage has. A name or number missing from the papers gives 1.
    """
    passages = max(found.passages, SMALLEST)
    rarity = np.log((passages + 1) / (found.frequencies + 0.5))
    weights = np.array([terms.count(term) for term in found.terms]) * rarity
    matches = weights @ (found.counts / (found.counts + found.norms)) / weights.sum()
    together = (found.counts[:, :TOGETHER] > 0).any(axis=1)
    highest = np.log((passages + 1) / 0.5)
    missing = np.where(together, 0.0, rarity).max() / highest
    return {"keyword_match": float(matches.max()), "missing_term": float(missing)}
