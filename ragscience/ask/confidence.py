"""How sure it is that the quotes answer the question, and what of it is missing.

Logistic models over six signs, of which two are about presence: likeness as a whole does not tell a question that a
paper answers from one that it nearly answers. Fitted and measured by `tools/fit_confidence.py`; figures:
docs/choices.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ragscience.ask.conversation import asked_last
from ragscience.ask.extractive import ScoredUnit
from ragscience.ask.missing_things import Thing, missing_sentences, things_of
from ragscience.core.records import Found
from ragscience.core.tokenizing import language_of
from ragscience.search.names import LEAST_SURE, PaperNames
from ragscience.search.reranking import WordPresence

ANSWERABILITY = {"intercept": -9.6, "share": 4.1, "span": 4.6, "maxsim": 6.45}
"""Weights of the log-odds that the papers answer the question, which decide whether it is answered at all."""
MODEL = {
    "intercept": -5.05, "gone": -1.85, "share": 1.55, "span": 5.15, "maxsim": 1.65, "context": 1.8, "margin": 2.25
}  # fmt: skip
"""Weights of the log-odds that what is shown of the quotes holds the answer."""
HIGH, LOW = 0.88, 0.3
"""From which probability on confidence is high, and below which it is low."""
_FEW = 0.5
"""Share of a question's things up to which its answer is doubted: of 50 such questions 7 were answered right."""
_USUAL_MAXSIM, _USUAL_SPAN, _USUAL_CONTEXT, _USUAL_MARGIN = 0.75, 0.5, 0.15, 0.2
"""For a sign that is not known."""
_LEAST = 1e-4
"""Added to both sides of odds, so that their logarithm is finite."""


@dataclass(frozen=True, slots=True)
class LookedFor:
    """The things of a question, and where they were looked for."""

    things: tuple[Thing, ...]
    files: tuple[str, ...]
    """The papers that the question is about: those that it names, else that of the first passage, of each part."""
    names_a_paper: bool = False

    @property
    def share(self) -> float:
        """The share of the things that are there; 1 without any."""
        return sum(each.is_there for each in self.things) / len(self.things) if self.things else 1.0

    @property
    def gone(self) -> tuple[Thing, ...]:
        """The names and numbers that are not there."""
        return tuple(each for each in self.things if not each.is_there and each.kind != "word")


def answerability(found: Found, looked: LookedFor, best: ScoredUnit | None) -> float:
    """How likely the papers answer the question, 0 to 1; 0 where nothing was found, 1 where a route chose the passages.

    `best` is the first quote.
    """
    if not found.hits:
        return 0.0
    return 1.0 if "routed" in found.signals else _logistic(ANSWERABILITY, signs(found, looked, best))


def look_for(found: Found, presence: WordPresence, names: PaperNames) -> LookedFor:
    """The things of the question, looked for in the papers that it is about and in the passages found of them."""
    if not found.hits:
        return LookedFor((), ())
    question = asked_last(found.question)
    named = names.in_text(question)
    firsts = {found.hits[0].chunk.chunk_id, *(part.chunk_ids[0] for part in found.parts if part.chunk_ids)}
    papers = {each.paper_id: each.file for each in named} or {
        hit.chunk.paper_id: hit.chunk.file for hit in found.hits if hit.chunk.chunk_id in firsts
    }
    spans = [(each.start, each.end) for each in named]
    hits = [hit for hit in found.hits if hit.chunk.paper_id in papers]
    is_foreign = bool(language_of(question))
    there = () if is_foreign else things_of(question, spans, presence, tuple(papers), hits)
    return LookedFor(there, tuple(dict.fromkeys(papers.values())), any(one.strength >= LEAST_SURE for one in named))


def confidence(found: Found, looked: LookedFor, best: ScoredUnit | None = None) -> tuple[str, tuple[str, ...]]:
    """`Answer.confidence` and `Answer.missing` for the quotes from what was found, of which `best` is the first.

    Where a name or a number is missing it is low, unless the first quote has words that surely answer. It is low, too,
    where half of the question's things are missing, and where that quote is of samples or thanks and the question names
    no paper. It is high only where the first quote has such words, and never for a question that was searched for in
    parts, each of which would have to be answered.
    """
    likely = probability(signs(found, looked, best))
    has_key = best is not None and bool(best.key)
    is_aside = best is not None and best.features.get("noise") == 1.0 and not looked.names_a_paper
    if likely < LOW or looked.share <= _FEW or is_aside or (looked.gone and not has_key):
        return "low", missing_sentences(looked.gone, looked.files)
    return "high" if likely >= HIGH and (best is None or has_key) and not found.parts else "medium", ()


def probability(values: Mapping[str, float]) -> float:
    """How likely the quotes hold the answer, 0 to 1, by its `signs`."""
    return _logistic(MODEL, values)


def signs(found: Found, looked: LookedFor, best: ScoredUnit | None = None) -> dict[str, float]:
    """What the two models are over.

    - `gone`: 1 where a name or a number of the question is not there, else 0.
    - `share`: `LookedFor.share`.
    - `maxsim`: the highest of the search; the usual one where there is none.
    - `span`: how likely the first quote has the answer, as it is read, or how much of the question its cell holds; the
      usual one where neither is known.
    - `context`: how much of the question only the headings, title, caption or header over the first quote have.
    - `margin`: `ScoredUnit.margin` of the first quote.
    """
    return {
        "gone": float(bool(looked.gone)),
        "share": looked.share,
        "maxsim": found.signals.get("maxsim", _USUAL_MAXSIM),
        "span": _USUAL_SPAN if best is None else max(best.features.get("span", _USUAL_SPAN), best.features["cell"]),
        "context": _USUAL_CONTEXT if best is None else best.features.get("context", _USUAL_CONTEXT),
        "margin": _USUAL_MARGIN if best is None else best.margin,
    }


def log_odds(likely: float) -> float:
    """Of a probability, 0 to 1; finite."""
    return math.log((likely + _LEAST) / (1.0 - likely + _LEAST))


def _logistic(model: Mapping[str, float], values: Mapping[str, float]) -> float:
    log_odds = sum(weight * values.get(name, 1.0) for name, weight in model.items())
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))
