"""A follow-up question made whole without an LLM: what it leans on is the turn before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragscience.answering.words import terms
from ragscience.records import Turn

__all__ = ["standalone"]

_OPENING = re.compile(r"\s*(?:and|but|so|or|what about|how about|why|then)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|theirs|that|this|these|those|he|him|his|she|her|hers|there|instead|same|former|latter"
    r"|ones?|another|others?|else|also|again)\b",
    re.IGNORECASE,
)
FRAGMENT_TERMS = 3
"""A question with fewer content words than this says too little by itself."""


def standalone(question: str, history: Sequence[Turn]) -> str:
    """What to search for: the question, behind the last turn where it points back or is a fragment.

    The last answer comes along because a follow-up often asks about something that only the answer named.
    """
    if not history or not _leans(question):
        return question
    last = history[-1]
    return f"{last.question} {last.answer} {question}"


def _leans(question: str) -> bool:
    return bool(_OPENING.match(question) or _POINTS_BACK.search(question) or len(set(terms(question))) < FRAGMENT_TERMS)
