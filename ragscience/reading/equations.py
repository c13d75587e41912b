"""Which rows are displayed equations."""

from __future__ import annotations

import re

from ragscience.reading.placing import Measures, Placed, is_prose

__all__ = ["is_equation"]

_NUMBER = re.compile(r"\((?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2})*[a-z]?\)$")
_SIGN = re.compile(r"[=≈≤≥<>∈≡∝→⇒:+\-−±×·∑∏∫√∂∇∞⊙∥∀∃∪∩⊂⊆←↦≪≫≜]|\bargm(?:ax|in)\b|\blog\b|\bexp\b")
_RELATION = re.compile(r"[=≈≤≥∈≡∝→⇒←↦≪≫≜<>]|:=")
_WORD = re.compile(r"[^\W\d_]{4,}")
_FUNCTIONS = set(
    "softmax argmax argmin sigmoid tanh relu subject otherwise concat where with".split()  # noqa: SIM905
)


def is_equation(one: Placed, measures: Measures) -> bool:
    """Whether a row is a displayed equation or a part of one: set off from the left, of signs rather than words."""
    row = one.row
    if one.kind or row.turn or is_prose(one, measures) or row.x0 < one.left + 0.8 * row.size:
        return False
    numbered = bool(_NUMBER.search(row.text))
    words = [word for word in _WORD.findall(row.text) if word.lower() not in _FUNCTIONS]
    signs = len(_SIGN.findall(row.text))
    if numbered:
        return signs >= 1 and len(words) <= 6
    return (
        bool(_RELATION.search(row.text)) and len(words) <= 2 + signs // 3 and sum(map(len, words)) < 0.5 * len(row.text)
    )
