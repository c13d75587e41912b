"""A cross-encoder as a second opinion on what the words leave open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.checking.support import Claim, Finding
from ragscience.errors import ModelProblem

if TYPE_CHECKING:
    from ragscience.models.model_protocols import Reranker

__all__ = ["SupportScorer"]

_LIFTS, _LOWERS = 0.5, 0.1
"""On the scale from a text about nothing (0) to the claim itself (1), which is the same for logits and for sigmoids."""
_ABOUT_NOTHING = "The weather was pleasant that day."


class SupportScorer:
    """Asks a reranker whether a quote says what a claim says; silent where there is none, or it has failed."""

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self._notices: list[str] = []

    @property
    def notices(self) -> tuple[str, ...]:
        """Why it fell silent, if it did."""
        return tuple(self._notices)

    def adjusted(self, claim: Claim, finding: Finding) -> Finding:
        """The finding, lifted to supported or lowered to weak.

        What stands there word for word stays, and nothing is lifted against hard evidence.
        """
        if self._reranker is None or finding.verbatim or not finding.hard or not finding.quotes:
            return finding
        quotes = [quote.part.around(quote.part.unit_at(quote.start)) for quote in finding.quotes]
        try:
            scores = self._reranker.score(claim.text, [_ABOUT_NOTHING, claim.text, *quotes])
        except ModelProblem as problem:
            self._reranker = None
            self._notices.append(f"Sentences are checked by words alone, because the reranker failed: {problem}")
            return finding
        nothing, itself, best = float(scores[0]), float(scores[1]), float(max(scores[2:]))
        if not itself > nothing:
            return finding
        support = min(1.0, max(0.0, (best - nothing) / (itself - nothing)))
        if support >= _LIFTS and finding.verdict != "supported":
            return replace(finding, verdict="supported", score=max(finding.score, round(support, 4)), lifted=True)
        if support < _LOWERS and finding.verdict == "supported":
            return replace(finding, verdict="weak")
        return finding
