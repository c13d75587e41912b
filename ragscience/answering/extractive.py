"""An answer without an LLM: what the passages say, word for word, each quote with its page."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from ragscience.answering.question_needs import QuestionNeeds, needs_of
from ragscience.answering.quote_candidates import Unit, continued, units_of
from ragscience.answering.quote_headings import without_headings
from ragscience.errors import ModelProblem
from ragscience.records import Block, Citation, Found, Hit
from ragscience.text.page_spans import page_parts
from ragscience.text.tokenizing import numbers, terms

if TYPE_CHECKING:
    from ragscience.models.model_protocols import Embedder

__all__ = ["Choice", "ScoredUnit", "extract", "extract_parts", "lead_line", "quoted"]

_CANDIDATES = 12
"""Units embedded per question; docs/choices.md measures larger numbers."""
_WEIGHTS = {"meaning": 0.4, "words": 0.45, "rank": 0.15, "number": 0.1}
"""Weights of a unit's features (`ScoredUnit`), chosen in docs/choices.md."""
_FRAGMENT = 0.85
"""What a unit's score is multiplied with where the passage cuts it."""
_LIKENESS = 0.4
"""What a unit loses that has all its terms in common with one chosen before it; less, the fewer they share."""
_SAME = 0.7
"""Share of its terms that a unit may have in common with a better one before it counts as a repetition,"""
_FEWEST_SHARED = 4
"""provided that they share as many."""
_ENOUGH_NUMBERS = 3
_ASKS_FOR_A_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|often|large|big|far|fast|high|low|small)|by (?:how much|what factor)|at what|"
    r"(?:what|which)\b.{0,40}\b(?:number|share|percentage|rate|size|factor|score|accuracy|value|error|estimates?))\b",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A unit with what its choice needs."""

    unit: Unit
    terms: frozenset[str]
    """Of its words and its lead."""
    own: frozenset[str]
    """Of its words alone."""
    numbers: frozenset[str]


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A unit that was chosen, and why: for whoever judges how sure an answer is."""

    unit: Unit
    score: float
    """By which it was chosen, higher is better; comparable between the units of all questions."""
    features: Mapping[str, float]
    """The summands of the score before their weights, by name: `words` (share of the question's terms that it holds,
    weighted by rarity, 0 to 1), `meaning` (likeness to the question, -1 to 1; 0 without a model), `rank` (1 over the
    root of its passage's rank), `number` (0 to 1; 0 unless the question asks for one)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The units that are quoted of what a search found."""

    needs: QuestionNeeds
    """What the question asks for."""
    units: tuple[ScoredUnit, ...]
    """The best first."""
    warnings: tuple[str, ...] = ()


def extract(question: str, hits: Sequence[Hit], *, embedder: Embedder | None, limit: int) -> Choice:
    """At most `limit` units that answer best.

    A unit is scored by its cosine with the question, by the question's terms that it holds (weighted by rarity among
    the units), by its passage's rank, and, if the question asks for a number, by its numbers that are not in the
    question. Without an embedder, or if it fails, the other terms decide.

    Units are selected one by one by maximal marginal relevance (Carbonell and Goldstein 1998, SIGIR); duplicates are
    left out, and a unit in two overlapping passages counts once. Each quote is then extended by the text after it
    (`quote_candidates.continued`).
    """
    everything = [_candidate(unit) for hit in hits for unit in units_of(hit)]
    candidates = [one for one in everything if one.own]
    asked = frozenset(terms(question))
    weight = _rarity(asked, [one.terms for one in candidates])
    rank = [1.0 / math.sqrt(one.unit.hit.rank) for one in candidates]
    first = [_held(weight, one.terms) + 0.3 * rank[i] for i, one in enumerate(candidates)]
    order = sorted(range(len(candidates)), key=lambda i: (-first[i], i))[:_CANDIDATES]
    candidates, rank = [candidates[i] for i in order], [rank[i] for i in order]
    cosine, warnings = _cosines(question, [one.unit.scored_text for one in candidates], embedder)
    wants_number, given = bool(_ASKS_FOR_A_NUMBER.search(question)), numbers(question)
    scored = []
    for i, one in enumerate(candidates):
        features = {"words": _held(weight, one.own), "meaning": cosine[i], "rank": rank[i], "number": 0.0}
        if wants_number:
            features["number"] = min(1.0, len(one.numbers - given) / _ENOUGH_NUMBERS)
        score = sum(_WEIGHTS[name] * value for name, value in features.items())
        scored.append(ScoredUnit(one.unit, score if one.unit.whole else score * _FRAGMENT, features))
    chosen = [scored[i] for i in _chosen(candidates, [one.score for one in scored], limit)]
    longer = continued([one.unit for one in chosen])
    units = tuple(replace(one, unit=unit) for one, unit in zip(chosen, longer, strict=True))
    return Choice(needs_of(question), units, warnings)


def extract_parts(found: Found, *, embedder: Embedder | None, limit: int) -> Choice:
    """As `extract`, for what `found` found, with what its whole question needs.

    Where the question was searched for in parts, the parts choose in turn, each among its own passages, and the whole
    question after them; a place that was chosen before is passed over.
    """
    whole = extract(found.question, found.hits, embedder=embedder, limit=limit)
    if not found.parts:
        return whole
    each = [
        extract(
            part.question,
            [hit for hit in found.hits if hit.chunk.chunk_id in part.chunk_ids],
            embedder=embedder,
            limit=limit,
        )
        for part in found.parts
    ]
    chosen: list[ScoredUnit] = []
    for one in chain.from_iterable(zip_longest(*(choice.units for choice in (*each, whole)))):
        if one is not None and not any(_overlap(one.unit, other.unit) for other in chosen):
            chosen.append(one)
    warnings = dict.fromkeys(warning for choice in (*each, whole) for warning in choice.warnings)
    return Choice(whole.needs, tuple(chosen[:limit]), tuple(warnings))


def quoted(units: Sequence[Unit]) -> tuple[Block, ...]:
    """A quote for each unit, in their order, with a citation for each page that it has words on.

    A quote is on one line, a row of a table behind the table's caption and header; its citation keeps the words as they
    are on the page.
    """
    blocks: list[Block] = []
    for unit in units:
        parts = page_parts(unit.hit.chunk, unit.start, unit.end)
        citations = tuple(_citation(unit, page, start, end) for page, start, end in parts)
        headings, words = without_headings(unit.text, unit.hit.chunk.section)
        blocks.append(Block("quote", words, citations, unit.lead or headings))
    return tuple(blocks)


def lead_line(units: Sequence[Unit]) -> str:
    """The papers that the quotes are from, in the order of `quoted`: "Found in 2 papers: a.pdf, b.pdf"."""
    papers = list(dict.fromkeys(unit.hit.chunk.file for unit in units))
    return f"Found in {len(papers)} paper{'s' * (len(papers) != 1)}: {', '.join(papers)}"


def _citation(unit: Unit, page: int, start: int, end: int) -> Citation:
    chunk = unit.hit.chunk
    words = chunk.text[start:end]
    begin = chunk.start + start + len(words) - len(words.lstrip())
    quote = words.strip()
    return Citation(chunk.file, page, quote, True, chunk.path, begin, begin + len(quote))


def _candidate(unit: Unit) -> _Candidate:
    own = frozenset(terms(unit.text))
    return _Candidate(unit, own | frozenset(terms(unit.lead)), own, numbers(unit.text))


def _rarity(asked: frozenset[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """For each term asked log(1 + texts / (1 + those with it)), as shares of their sum; sorted, so that sums agree."""
    frequency = Counter(term for each in texts for term in asked & each)
    weight = {term: math.log(1 + len(texts) / (1 + frequency[term])) for term in sorted(asked)}
    total = sum(weight.values()) or 1.0
    return {term: value / total for term, value in weight.items()}


def _held(weight: dict[str, float], text: frozenset[str]) -> float:
    return sum(value for term, value in weight.items() if term in text)


def _cosines(question: str, texts: Sequence[str], embedder: Embedder | None) -> tuple[list[float], tuple[str, ...]]:
    """Cosine of each text with the question; zeros without an embedder."""
    if embedder is None or not texts:
        return [0.0] * len(texts), ()
    try:
        rows = embedder.embed_documents(texts)
        asked = embedder.embed_query(question)
    except ModelProblem as problem:
        return [0.0] * len(texts), (f"Quotes are chosen by words alone, because the embedder failed: {problem}",)
    return [float(value) for value in rows @ asked], ()


def _chosen(candidates: Sequence[_Candidate], scores: Sequence[float], limit: int) -> list[int]:
    """Numbers of the candidates that are quoted, in the order of their choice."""
    chosen: list[int] = []
    likeness = [0.0] * len(candidates)
    left = list(range(len(candidates)))
    while left and len(chosen) < limit:
        best = max(left, key=lambda i: (scores[i] - _LIKENESS * likeness[i], -i))
        chosen.append(best)
        left = [i for i in left if i != best and not _repeats(candidates[i], candidates[best])]
        for i in left:
            ours, others = candidates[i].terms, candidates[best].terms
            likeness[i] = max(likeness[i], len(ours & others) / len(ours | others))
    return chosen


def _overlap(one: Unit, other: Unit) -> bool:
    (path, start, end), (other_path, other_start, other_end) = one.place, other.place
    return path == other_path and start < other_end and other_start < end


def _repeats(one: _Candidate, other: _Candidate) -> bool:
    if _overlap(one.unit, other.unit):
        return True
    if one.numbers - other.numbers:
        return False  # other figures are other facts, in whatever words
    shared = len(one.own & other.own)
    return shared >= _FEWEST_SHARED and shared > _SAME * min(len(one.own), len(other.own))
