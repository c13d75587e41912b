"""Whether a page has a claim's number in the place where the claim has it, as a model reads it.

With "how many" in the number's place the claim is a question, and the number must be what the span reader finds for it
(as in QAGS: Wang, Cho and Lewis, ACL 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.ask.claim_facts import Number, Said
from ragscience.core.tokenizing import joined_lines

if TYPE_CHECKING:
    from ragscience.ask.evidence import PageSpan
    from ragscience.ask.read_spans import Reader


_READ_UNITS = 8
"""Sentences or rows of the pages that are read for a number: those that share most terms with the claim."""
_MOST_NUMBERS = 4
_BEHIND = 0.5
"""Log-odds by which the reader may prefer another place: it is not so sure of itself."""
_BESIDE = 25
"""Characters around a span in which a number's unit is looked for."""


def has_its_numbers(claim: Said, spans: Sequence[PageSpan], read: Reader) -> bool:
    """Whether each number of the claim is what the pages have in its place. Raises ModelProblem."""
    units = [unit for span in spans for unit in span.units]
    near = sorted(
        units, key=lambda unit: len(unit.terms & claim.terms) + 0.5 * len(unit.around.terms & claim.terms), reverse=True
    )
    texts = [joined_lines(unit.text) for unit in near[:_READ_UNITS]]
    return all(_is_read(number, texts, read) for number in claim.numbers[:_MOST_NUMBERS])


def _is_read(number: Number, texts: Sequence[str], read: Reader) -> bool:
    found = read(f"{number.question.rstrip(' .')}?", texts)
    enough = max((span.score for span in found), default=0.0) - _BEHIND
    return any(
        span.score >= enough and _agrees(number, text, span.start, span.end)
        for text, span in zip(texts, found, strict=True)
    )


def _agrees(number: Number, text: str, start: int, end: int) -> bool:
    inside, beside = Said(text[start:end]), Said(text[max(0, start - _BESIDE) : end + _BESIDE])
    return any(map(number.equals, inside.numbers)) and any(
        number.equals(there) and number.fits(there) for there in beside.numbers
    )
