"""How sure it is that the quotes answer the question, and what of it is missing.

A logistic model over four signs, of which three are about presence: likeness as a whole does not tell a question that a
paper answers from one that it nearly answers. Fitted and measured by `tools/fit_confidence.py`; figures:
docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.ask.missing_things import Sought, missing_sentences, sought, things_of
from ragscience.ask.question_needs import needs_of
from ragscience.core.records import Found

if TYPE_CHECKING:
    from ragscience.search.names import PaperNames
    from ragscience.search.token_matches import WordPresence

__all__ = ["MODEL", "LookedFor", "confidence", "look_for", "probability", "signs"]

MODEL = {"intercept": -9.1, "name_gone": -3.17, "number_gone": -3.06, "likeness": 9.78, "lead": 4.49}
"""Weights of the log-odds that the quotes hold the answer."""
HIGH, LOW = 0.65, 0.25
"""From which probability on confidence is high, and below which it is low."""
_USUAL_LIKENESS, _USUAL_LEAD = 0.75, 0.3
"""For a sign that is not known."""
_FAR_DOWN = 3
"""How many places below the first passage the one is that its lead is over."""


@dataclass(frozen=True, slots=True)
class LookedFor:
    """The things of a question, and where they were looked for."""

    things: tuple[Sought, ...]
    files: tuple[str, ...]
    """The papers that the question is about: those that it names, else that of the first passage, of each part."""

    @property
    def likeness(self) -> float | None:
        """The mean over the things, -1 to 1; None where none is known."""
        known = [each.likeness for each in self.things if each.likeness is not None]
        return sum(known) / len(known) if known else None

    @property
    def has_name(self) -> bool:
        """Whether a name of the question occurs there."""
        return any(each.thing.kind == "name" and each.is_there for each in self.things)


def look_for(found: Found, presence: WordPresence, names: PaperNames) -> LookedFor:
    """The things of the question, looked for in the papers that it is about and in the passages found of them."""
    if not found.hits:
        return LookedFor((), ())
    named = names.in_text(found.question)
    firsts = {found.hits[0].chunk.chunk_id, *(part.chunk_ids[0] for part in found.parts if part.chunk_ids)}
    papers = {each.paper_id: each.file for each in named} or {
        hit.chunk.paper_id: hit.chunk.file for hit in found.hits if hit.chunk.chunk_id in firsts
    }
    things = things_of(found.question, needs_of(found.question), [(each.start, each.end) for each in named])
    hits = [hit for hit in found.hits if hit.chunk.paper_id in papers]
    likeness = presence.likeness(found.question, [hit.chunk.chunk_id for hit in hits])
    best = {word: max(values) for word, values in likeness.items()}
    return LookedFor(tuple(sought(things, presence, tuple(papers), hits, best)), tuple(dict.fromkeys(papers.values())))


def confidence(found: Found, looked: LookedFor) -> tuple[str, tuple[str, ...]]:
    """`Answer.confidence` and `Answer.missing` for the quotes from what was found.

    Where something is missing it is low, and where it is low, words that might be missing are said, too. It is never
    high for a question that was searched for in parts, each of which would have to be answered.
    """
    likely = probability(signs(found, looked))
    missing = [each.thing for each in looked.things if each.is_missing()]
    if missing or likely < LOW:
        doubtful = [each.thing for each in looked.things if each.is_missing(in_doubt=True)]
        return "low", missing_sentences(doubtful, looked.files)
    return "high" if likely >= HIGH and not found.parts else "medium", ()


def probability(values: dict[str, float]) -> float:
    """Of the model, for its signs: how likely the quotes hold the answer."""
    log_odds = MODEL["intercept"] + sum(MODEL[name] * value for name, value in values.items())
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))


def signs(found: Found, looked: LookedFor) -> dict[str, float]:
    """What the model is over.

    - `name_gone`, `number_gone`: 1 where a name or a number of the question is not there, else 0.
    - `likeness`: `LookedFor.likeness`, or the usual one.
    - `lead`: how far the score of the first passage is above that of the fourth; the usual one where a cross-encoder
      scored them, on a scale of its own.
    """
    scores = [hit.score for hit in found.hits]
    has_lead = len(scores) > 1 and "rerank" not in found.signals
    likeness = looked.likeness
    return {
        "name_gone": float(_is_gone(looked.things, "name")),
        "number_gone": float(_is_gone(looked.things, "number")),
        "likeness": _USUAL_LIKENESS if likeness is None else likeness,
        "lead": scores[0] - scores[min(_FAR_DOWN, len(scores) - 1)] if has_lead else _USUAL_LEAD,
    }


def _is_gone(things: Sequence[Sought], kind: str) -> bool:
    return any(each.thing.kind == kind and not each.is_there for each in things)
