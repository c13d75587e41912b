"""How sure it is that the quotes answer the question, and what of it is missing.

A logistic model over five signs, of which three are about presence: likeness as a whole does not tell a question that a
paper answers from one that it nearly answers. Fitted and measured by `tools/fit_confidence.py`; figures:
docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.ask.missing_things import Sought, missing_sentences, sought, things_of
from ragscience.core.records import Found
from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.ask.extractive import ScoredUnit
    from ragscience.search.names import PaperNames
    from ragscience.search.reranking import WordPresence


WITH_TOKEN_VECTORS = {
    "intercept": -11.54,
    "keyword_match": 9.94,
    "maxsim": 8.04,
    "missing_term": -1.01,
    "cosine": 6.85,
}
"""For the embedded embedder with late interaction: MaxSim and cosine are those of all-MiniLM-L6-v2."""
WITHOUT_COSINE = {"intercept": -11.00, "keyword_match": 9.66, "maxsim": 12.13, "missing_term": -1.15}
"""For every other embedder with late interaction: its cosines have another scale."""
LEXICAL = {"intercept": -3.57, "keyword_match": 15.18, "missing_term": -1.06}
"""Where nothing is read again."""
SIGNALS_OF = {
    "with token vectors": tuple(name for name in WITH_TOKEN_VECTORS if name != "intercept"),
    "with token vectors, another embedder": tuple(name for name in WITHOUT_COSINE if name != "intercept"),
    "lexical": tuple(name for name in LEXICAL if name != "intercept"),
}
"""What `tools/fit_answerability.py` fits."""
_WIDTH = 4.0
_ALIKE = 0.7
"""Questions from far away are less alike, nearly all; what that costs: docs/benchmarks.md."""
_FARTHEST = 6.0
"""Log-odds beyond which a cross-encoder is not believed to know better."""


def answerability(found: Found, question: str) -> float:
    """How likely the passages answer the question, 0 to 1; 0 where nothing was found, 1 where a route chose them.

    A question without a content word ("What is this about?") gives 0.5: nothing can be estimated. If a
    cross-encoder scored the passages, the log-odds of its best score have weight 0.5; they are **not calibrated**.
    Without search signals the estimate is the share of the question's terms in one passage.
    """
    if not found.hits:
        return 0.0
    seen = found.signals
    if not seen:
        return _share_of_terms(found, question)
    if "routed" in seen:
        return 1.0
    if "keyword_match" not in seen:
        return 0.5
    reread = WITH_TOKEN_VECTORS if "cosine" in seen else WITHOUT_COSINE
    log_odds = _weighted(reread if "maxsim" in seen else LEXICAL, seen)
    if "rerank" in seen:
        log_odds = (log_odds + max(-_FARTHEST, min(_FARTHEST, seen["rerank"]))) / 2
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))


def is_in_doubt(score: float, *, threshold: float) -> bool:
    """Whether `is_answerable` would not take this answerability alone for an answer."""
    return score < threshold * _WIDTH


def is_answerable(score: float, *, threshold: float, likeness: float | None, has_name: bool = False) -> bool:
    """Whether to answer: only what is far from the papers is refused.

    `score` is the answerability, `likeness` that of the question's words to those of the passages, `has_name` whether
    the papers have a name that the question has (ask/confidence.py). Where the likeness is known, it and the name
    decide between a quarter of `threshold` and four times as much.
    """
    if likeness is None:
        return score >= threshold
    is_near = likeness >= _ALIKE or has_name or not threshold
    return score >= threshold / _WIDTH and (not is_in_doubt(score, threshold=threshold) or is_near)


def _weighted(model: Mapping[str, float], seen: Mapping[str, float]) -> float:
    return sum(weight * seen.get(name, 1.0) for name, weight in model.items())


def _share_of_terms(found: Found, question: str) -> float:
    asked = set(terms(question))
    if not asked:
        return 0.5
    return max(len(asked.intersection(terms(hit.chunk.text))) for hit in found.hits) / len(asked)


MODEL = {
    "intercept": -6.6,
    "name_gone": -3.1,
    "number_gone": -2.2,
    "likeness": 5.9,
    "lead": 3.4,
    "span": 2.7,
}
"""Weights of the log-odds that the quotes hold the answer."""
HIGH, LOW = 0.85, 0.25
"""From which probability on confidence is high, and below which it is low."""
_HARDLY = 0.1
"""Answerability below which confidence is low, whatever the quotes are."""
_USUAL_LIKENESS, _USUAL_LEAD, _USUAL_SPAN = 0.75, 0.3, 0.5
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
    things = things_of(found.question, [(each.start, each.end) for each in named])
    hits = [hit for hit in found.hits if hit.chunk.paper_id in papers]
    likeness = presence.likeness(found.question, [hit.chunk.chunk_id for hit in hits])
    best = {word: max(values) for word, values in likeness.items()}
    return LookedFor(tuple(sought(things, presence, tuple(papers), hits, best)), tuple(dict.fromkeys(papers.values())))


def confidence(found: Found, looked: LookedFor, best: ScoredUnit | None = None) -> tuple[str, tuple[str, ...]]:
    """`Answer.confidence` and `Answer.missing` for the quotes from what was found, of which `best` is the first.

    Where something is missing it is low, unless the first quote has words that surely answer; where it is low, words
    that might be missing are said, too. It is high only where the first quote has words that surely answer, and never
    for a question that was searched for in parts, each of which would have to be answered.
    """
    likely = probability(signs(found, looked, best))
    has_key = best is not None and bool(best.key)
    is_low = (
        likely < LOW
        or answerability(found, found.question) < _HARDLY
        or (not has_key and any(each.is_missing() for each in looked.things))
    )
    if is_low:
        doubtful = [each.thing for each in looked.things if each.is_missing(in_doubt=True)]
        return "low", missing_sentences(doubtful, looked.files)
    return "high" if likely >= HIGH and (best is None or has_key) and not found.parts else "medium", ()


def probability(values: dict[str, float]) -> float:
    """Of the model, for its signs: how likely the quotes hold the answer."""
    log_odds = MODEL["intercept"] + sum(MODEL[name] * value for name, value in values.items())
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))


def signs(found: Found, looked: LookedFor, best: ScoredUnit | None = None) -> dict[str, float]:
    """What the model is over.

    - `name_gone`, `number_gone`: 1 where a name or a number of the question is not there, else 0.
    - `likeness`: `LookedFor.likeness`, or the usual one.
    - `lead`: how far the score of the first passage is above that of the fourth; the usual one where a cross-encoder
      scored them, on a scale of its own.
    - `span`: how likely the first quote has the answer, as it is read, or how much of the question its cell holds; the
      usual one where neither is known.
    """
    scores = [hit.score for hit in found.hits]
    has_lead = len(scores) > 1 and "rerank" not in found.signals
    likeness = looked.likeness
    return {
        "name_gone": float(_is_gone(looked.things, "name")),
        "number_gone": float(_is_gone(looked.things, "number")),
        "likeness": _USUAL_LIKENESS if likeness is None else likeness,
        "lead": scores[0] - scores[min(_FAR_DOWN, len(scores) - 1)] if has_lead else _USUAL_LEAD,
        "span": _USUAL_SPAN if best is None else max(best.features.get("span", _USUAL_SPAN), best.features["cell"]),
    }


def _is_gone(things: Sequence[Sought], kind: str) -> bool:
    return any(each.thing.kind == kind and not each.is_there for each in things)
