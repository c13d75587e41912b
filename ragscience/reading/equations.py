"""Which rows are displayed equations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragscience.reading.row_placement import Measures, Placed, is_prose

__all__ = ["equation_rows", "is_equation"]

_NUMBER = re.compile(r"\((?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2})*[a-z]?\)$")
_SIGN = re.compile(r"[=≈≤≥<>∈≡∝→⇒:+\-−±×·∑∏∫√∂∇∞⊙∥∀∃∪∩⊂⊆←↦≪≫≜]|\bargm(?:ax|in)\b|\blog\b|\bexp\b")
_RELATION = re.compile(r"[=≈≤≥∈≡∝→⇒←↦≪≫≜<>]|:=")
_WORD = re.compile(r"[^\W\d_]{4,}")
_CALL = re.compile(r"[^\W\d_]+ ?\(")
_NEAR = 1.1
"""In font sizes of the text: so far above or below its equation the numerator of a fraction or a limit may stand."""
_FUNCTIONS = set(
    "softmax argmax argmin sigmoid tanh relu subject otherwise concat where with".split()  # noqa: SIM905
)


def is_equation(one: Placed, measures: Measures) -> bool:
    """Whether a row is a displayed equation or a part of one: set off from the left, of signs rather than words."""
    row = one.row
    if one.kind or row.turn or is_prose(one, measures) or row.x0 < one.left + 0.8 * row.size:
        return False
    numbered = bool(_NUMBER.search(row.text))
    words = [word for word in _WORD.findall(_CALL.sub("", row.text)) if word.lower() not in _FUNCTIONS]
    signs = len(_SIGN.findall(row.text))
    if numbered:
        return signs >= 1 and len(words) <= 6
    return (
        bool(_RELATION.search(row.text)) and len(words) <= 2 + signs // 3 and sum(map(len, words)) < 0.5 * len(row.text)
    )


def equation_rows(placed: Sequence[Placed], measures: Measures) -> set[int]:
    """The indices of the rows that are displayed equations, with the limits and numerators just above and below."""
    found = {index for index, one in enumerate(placed) if is_equation(one, measures)}
    for step in (-1, 1):
        for start in sorted(found, reverse=step < 0):
            index = start + step
            while (
                0 <= index < len(placed)
                and index not in found
                and _is_part(placed[index], placed[index - step], measures)
            ):
                found.add(index)
                index += step
    return found


def _is_part(one: Placed, near: Placed, measures: Measures) -> bool:
    """Whether a row is the upper or lower part of the equation in the row beside it."""
    row = one.row
    if one.kind or row.turn or one.region != near.region or row.x0 < one.left + 0.8 * row.size:
        return False
    words = [word for word in _WORD.findall(_CALL.sub("", row.text)) if word.lower() not in _FUNCTIONS]
    return not words and abs(row.base - near.row.base) < _NEAR * measures.size and not is_prose(one, measures)
