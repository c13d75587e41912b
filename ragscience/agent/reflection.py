"""How good a draft is, without asking anybody: by the citation check, by what is covered, by the search's signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.records import Answer
from ragscience.retrieval.search_signals import asked_terms
from ragscience.text.tokenizing import tokenize

__all__ = ["Reflection", "lower_of", "reflect"]

_WORTH = {"supported": 1.0, "weak": 0.5, "unsupported": 0.0}
"""Of a claim in the score, by its verdict."""
_PART_COVERED = 0.5
"""Share of a sub-query's terms that one passage must hold, else the sub-query counts as not answered yet."""
_MOST_TOLD = 8
"""Missing things, and claims without a passage, that go back as feedback."""
_LONGEST_TOLD = 200
"""Characters of each."""


@dataclass(frozen=True, slots=True)
class Reflection:
    """A grade, and what would make it better."""

    score: float
    """0 to 1."""
    missing: tuple[str, ...]
    """Words of the question, and sub-queries, that the passages do not hold."""
    unsupported: tuple[str, ...]
    """Claims that no passage holds."""
    why: str
    """What decided the score, in a few words."""


def reflect(question: str, parts: Sequence[str], draft: Answer) -> Reflection:
    """The grade of a draft: the lowest of support, coverage and answerability; 0 for a refusal.

    Support is the mean over the draft's claims: 1 where the cited page holds it, 0.5 where it does so weakly. Coverage
    is the share of the question's terms that the passages hold between them. Answerability is the calibrated one
    (answering/answerability.py). `parts` are the sub-queries that the question was split into.
    """
    texts = [set(tokenize(hit.chunk.searched)) for hit in draft.found.hits]
    words = _missing_words(question, texts)
    missing = (*words, *(part for part in parts if part != question and not _covered(part, texts)))[:_MOST_TOLD]
    unsupported = tuple(each.text[:_LONGEST_TOLD] for each in draft.sentences if each.verdict == "unsupported")
    unsupported = unsupported[:_MOST_TOLD]
    if draft.refused:
        return Reflection(0.0, missing, (), "refused")
    grades = {
        "support": _support(draft),
        "coverage": _coverage(question, texts),
        "answerability": 1.0 if draft.answerability is None else draft.answerability,
    }
    why = min(grades, key=lambda name: grades[name])
    return Reflection(round(grades[why], 4), missing, unsupported, why)


def lower_of(ours: Reflection, theirs: Reflection) -> Reflection:
    """The lower score with its reason, and what either says is missing or unsupported."""
    lower = theirs if theirs.score < ours.score else ours
    return Reflection(
        lower.score,
        tuple(dict.fromkeys((*theirs.missing, *ours.missing)))[:_MOST_TOLD],
        tuple(dict.fromkeys((*ours.unsupported, *theirs.unsupported)))[:_MOST_TOLD],
        lower.why,
    )


def _support(draft: Answer) -> float:
    worth = [_WORTH[each.verdict] for each in draft.sentences if each.verdict in _WORTH]
    return sum(worth) / len(worth) if worth else 0.0


def _coverage(question: str, texts: Sequence[set[str]]) -> float:
    asked = set(asked_terms(question))
    held = asked & set().union(*texts)
    return len(held) / len(asked) if asked else 1.0


def _covered(part: str, texts: Sequence[set[str]]) -> bool:
    asked = set(asked_terms(part))
    return not asked or any(len(asked & text) >= _PART_COVERED * len(asked) for text in texts)


def _missing_words(question: str, texts: Sequence[set[str]]) -> tuple[str, ...]:
    """The question's words, as they stand in it, whose terms no passage has."""
    held = set().union(*texts)
    wanted = set(asked_terms(question)) - held
    words = (word.strip(".,;:?!()[]\"'“”‘’") for word in question.split())
    return tuple(dict.fromkeys(word for word in words if wanted.intersection(tokenize(word))))
