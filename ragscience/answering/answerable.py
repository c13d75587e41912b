"""Whether what was found can answer at all."""

from __future__ import annotations

from ragscience.answering.words import terms
from ragscience.records import Found

__all__ = ["is_answerable"]


def is_answerable(found: Found, question: str, *, min_relevance: float) -> tuple[bool, float]:
    """Whether to answer, and how well what was found fits: the larger of two numbers, each at most 1.

    They are the share of the question's terms that one passage holds, and the best cosine of a passage. Not answerable
    is: nothing found, or no passage holds any of the terms and none has a cosine of `min_relevance`.
    """
    if not found.hits:
        return False, 0.0
    asked = set(terms(question))
    share = max(len(asked.intersection(terms(hit.chunk.text))) for hit in found.hits) / max(1, len(asked))
    cosine = max((score for hit in found.hits if (score := hit.scores.get("dense")) is not None), default=0.0)
    return share > 0 or cosine >= min_relevance, max(share, cosine)
