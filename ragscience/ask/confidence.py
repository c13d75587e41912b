"""How sure it is that the quotes answer the question, and what of it is missing: names, numbers and other words.

A question whose words are borrowed from a paper finds that paper's passages whether they answer it or not. What tells
is whether the thing asked for is there: "the LC50 of fruits" where the paper speaks of roots. So each thing of the
question is looked for in the papers that it is about, and a number in the passages found of them.

Logistic models over six signs, of which two are about presence: likeness as a whole does not tell a question that a
paper answers from one that it nearly answers. Fitted and measured by `tools/fit_confidence.py`; figures:
docs/choices.md.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ragscience.ask.conversation import asked_last
from ragscience.ask.extractive import ScoredUnit
from ragscience.core.records import Found, Hit
from ragscience.core.tokenizing import STOP_WORDS, language_of, tokenize
from ragscience.search.first_pass import asked_terms
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


_WORD = re.compile(r"\d++(?:[.,]\d++)*+(?![^\W_])|[^\W_]++(?:[-'’.][^\W_]++)*+")
_SHORTEST_STEM = 3
"""Letters of a term that may be a part of another word."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A word of a question that its answer must be about."""

    text: str
    kind: str
    """ "name" (with a capital or a letter beside a digit), "number" or "word"."""
    is_there: bool
    """Whether it occurs in the papers, a number in the passages found of them."""


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
    no paper. It is high only where the first quote has such words. Of a question in parts `best` is the least sure one.
    """
    likely = probability(signs(found, looked, best))
    has_key = best is not None and bool(best.key)
    is_aside = best is not None and best.features.get("noise") == 1.0 and not looked.names_a_paper
    if likely < LOW or looked.share <= _FEW or is_aside or (looked.gone and not has_key):
        return "low", missing_sentences(looked.gone, looked.files)
    return "high" if likely >= HIGH and (best is None or has_key) else "medium", ()


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


# What is missing


def things_of(
    question: str,
    subject: Collection[tuple[int, int]],
    presence: WordPresence,
    paper_ids: Sequence[int],
    hits: Sequence[Hit],
) -> tuple[Thing, ...]:
    """The names, numbers and other content words of the question, each once, none within the spans of `subject`.

    They are looked for in the papers `paper_ids` and in `hits`, passages of them.
    """
    near = frozenset(term for hit in hits for term in tokenize(hit.chunk.searched))
    words: dict[str, tuple[str, str, list[str]]] = {}
    for match in _WORD.finditer(question):
        word, terms = match[0].removesuffix("'s").removesuffix("’s"), list(dict.fromkeys(tokenize(match[0])))
        has_digit, has_letter = (any(map(kind, word)) for kind in (str.isdigit, str.isalpha))
        is_name = any(map(str.isupper, word[match.start() == 0 :])) or (has_digit and has_letter)
        kind = "name" if is_name else "number" if has_digit else "word"
        is_of_subject = any(start <= match.start() and match.end() <= end for start, end in subject)
        is_general = kind == "word" and (len(word) < 3 or not asked_terms(word))
        if terms and not (is_of_subject or is_general or match[0].casefold() in STOP_WORDS):
            words.setdefault(word.casefold(), (word, kind, terms))
    counts = presence.passages_with([term for _, _, terms in words.values() for term in terms], paper_ids)

    def is_there(word: str, kind: str, terms: Sequence[str]) -> bool:
        """A compound is there as one word, or, without a digit, in its parts."""
        held = [term in near if kind == "number" else bool(counts[term]) or _has(near, term) for term in terms]
        return held[0] or (len(held) > 1 and not any(map(str.isdigit, word)) and all(held[1:]))

    return tuple(Thing(word, kind, is_there(word, kind, terms)) for word, kind, terms in words.values())


def missing_sentences(things: Sequence[Thing], files: Sequence[str]) -> tuple[str, ...]:
    """That `things` do not occur, for the user; `files` are the papers that were looked through."""
    marked = [f"‘{thing.text}’" for thing in things]
    said = " and ".join([", ".join(marked[:-1]), marked[-1]]) if len(marked) > 1 else "".join(marked)
    return (f"{said} {'do' if len(things) > 1 else 'does'} not occur in {' or '.join(files)}.",) if things else ()


def _has(text: Collection[str], term: str) -> bool:
    """Whether the text has the term, a compound with it ("CO2": "CO2eq"), or another form ("eradicated")."""
    if term in text or len(term) < _SHORTEST_STEM:
        return term in text
    stem = term[: max(5, len(term) - 3)] if len(term) > 5 and term.isalpha() else term
    return any(other.startswith(stem) or other.endswith(term) for other in text)
