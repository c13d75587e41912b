"""An answer without an LLM: what the passages say, word for word, each quote with its page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.answering.prompts import page_label
from ragscience.answering.units import Unit, page_parts, units_of
from ragscience.answering.words import joined_lines, numbers, terms
from ragscience.errors import ModelProblem
from ragscience.records import Citation, Hit

if TYPE_CHECKING:
    from ragscience.models.protocols import Embedder

__all__ = ["extract", "quoted"]

_CANDIDATES = 48
"""Units whose vectors are made: about a second on one slow core, and past it lexical scores are near zero."""
_DENSE, _LEXICAL, _PASSAGE = 0.4, 0.45, 0.15
_SAME = 0.7
"""Share of its terms that a unit may have in common with a better one before it counts as a repetition,"""
_FEWEST_SHARED = 4
"""provided that they share as many."""
_FRAGMENT = 0.8
"""What a unit's score is multiplied with where the passage cuts it."""


def extract(
    question: str, hits: Sequence[Hit], *, embedder: Embedder | None, limit: int
) -> tuple[list[Unit], tuple[str, ...]]:
    """At most `limit` units that answer best, the best first, and notices.

    Scored by cosine with the question, by the question's terms they hold (weighted by rarity among the units), and by
    their passage's rank; without an embedder, or when it fails, by the last two. Repetitions are left out; what stands
    in two overlapping passages counts once.
    """
    units = [unit for hit in hits for unit in units_of(hit)]
    lexical = _lexical(question, units)
    passage = {hit.rank: 1.0 / math.sqrt(hit.rank) for hit in hits}
    first = [lexical[i] + 0.3 * passage[unit.hit.rank] for i, unit in enumerate(units)]
    order = sorted(range(len(units)), key=lambda i: (-first[i], i))[:_CANDIDATES]
    units, lexical = [units[i] for i in order], [lexical[i] for i in order]
    dense, notices = _dense(question, units, embedder)
    scores = [
        (_DENSE * dense[i] + _LEXICAL * lexical[i] + _PASSAGE * passage[unit.hit.rank])
        * (1.0 if unit.whole else _FRAGMENT)
        for i, unit in enumerate(units)
    ]
    ranked = sorted(range(len(units)), key=lambda i: (-scores[i], i))
    return _without_repetitions([units[i] for i in ranked], limit), notices


def quoted(units: Sequence[Unit]) -> tuple[str, tuple[Citation, ...]]:
    """The units as an answer, `“…” (file.pdf, p.N)` each, and a citation for each page that they have words on.

    A quote is shown on one line, a row of a table behind the table's caption and header; its citation keeps the words
    as they stand on the page.
    """
    lines: list[str] = []
    citations: list[Citation] = []
    for unit in units:
        chunk = unit.hit.chunk
        parts = list(page_parts(chunk, unit.start, unit.end))
        places = " ".join(page_label(chunk.file, page) for page, _, _ in parts)
        lead = f"{unit.lead} … " if unit.lead else ""
        lines.append(f"“{lead}{joined_lines(unit.text)}” {places}")
        citations += [Citation(chunk.file, page, chunk.text[start:end].strip(), True) for page, start, end in parts]
    return "\n\n".join(lines), tuple(dict.fromkeys(citations))


def _lexical(question: str, units: Sequence[Unit]) -> list[float]:
    """For each unit the share, 0 to 1, of the question's terms that it holds, weighted by log(1 + units / with it)."""
    asked = set(terms(question))
    held = [asked.intersection(terms(unit.scored_text)) for unit in units]
    frequency = Counter(term for each in held for term in each)
    weight = {term: math.log(1 + len(units) / (1 + frequency[term])) for term in asked}
    total = sum(weight.values()) or 1.0
    return [sum(weight[term] for term in sorted(each)) / total for each in held]


def _dense(question: str, units: Sequence[Unit], embedder: Embedder | None) -> tuple[list[float], tuple[str, ...]]:
    """Cosine of each unit with the question; zeros without an embedder."""
    if embedder is None or not units:
        return [0.0] * len(units), ()
    try:
        rows = embedder.embed_documents([unit.scored_text for unit in units])
        asked = embedder.embed_query(question)
    except ModelProblem as problem:
        return [0.0] * len(units), (f"Quotes are chosen by words alone, because the embedder failed: {problem}",)
    return [float(value) for value in rows @ asked], ()


def _without_repetitions(ranked: Sequence[Unit], limit: int) -> list[Unit]:
    kept: list[Unit] = []
    kept_terms: list[set[str]] = []
    for unit in ranked:
        own = set(terms(unit.text))
        if own and not any(_repeats(unit, own, other, others) for other, others in zip(kept, kept_terms, strict=True)):
            kept.append(unit)
            kept_terms.append(own)
        if len(kept) == limit:
            break
    return kept


def _repeats(unit: Unit, own: set[str], other: Unit, others: set[str]) -> bool:
    (path, start, end), (other_path, other_start, other_end) = unit.place, other.place
    if path == other_path and start < other_end and other_start < end:
        return True
    if numbers(unit.text) - numbers(other.text):
        return False  # other figures are other facts, in whatever words
    shared = len(own & others)
    return shared >= _FEWEST_SHARED and shared > _SAME * min(len(own), len(others))
