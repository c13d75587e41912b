"""A question without what says nothing: how it begins politely, how it ends, and what an earlier turn put before it."""

from __future__ import annotations

import re

__all__ = ["PRONOUN", "bare", "carried"]

_POLITE = re.compile(
    r"(?:(?:please|hi|hello|hey|ok(?:ay)?|so|and|but|then|now|also|well|just|thanks|i (?:want|would like|need) to know|"
    r"i ?['’]?d like to know|i wonder|(?:can|could|would|will) you (?:please )?(?:tell|show|give|list|find|"
    r"name)(?: me)?|"
    r"do you know|tell me|show me|give me|let me know|quickly)(?:\s|,)++)++",
    re.IGNORECASE,
)
_END = re.compile(r"[\s?.!,;]++(?:(?:please|thanks|thank you|exactly|then|again|for me)[\s?.!]*+)?+$", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:who|when|where|what|which|how|does|do|did|is|are|list|cite|bibtex)\b", re.IGNORECASE)
PRONOUN = re.compile(r"(?:it|its|the|their|they|them|this|that|these|those|he|she)(?: one)?", re.IGNORECASE)
"""What stands for a thing that was named before."""


def bare(question: str) -> str:
    """The question on one line, without polite words before it and marks behind it."""
    text = _END.sub("", " ".join(question.split()) + " ")
    polite = _POLITE.match(text)
    return text[polite.end() :] if polite and polite.end() < len(text) else text


def carried(question: str) -> tuple[str, str]:
    """(what stands before the word that asks, the question from there): a rewritten follow-up begins with names."""
    asks = _ASKS.search(question)
    return (question[: asks.start()].strip(), question[asks.start() :]) if asks else ("", question)
