"""An answer without an LLM: what the passages say, word for word, each quote with its page."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from ragscience.answering.units import Unit, page_parts, units_of
from ragscience.answering.words import joined_lines, terms
from ragscience.errors import ModelProblem
from ragscience.records import Citation, Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SentenceEmbedder", "extract", "quoted"]

_CANDIDATES = 48
"""Units whose vectors are made: about a second on one slow core, and past it lexical scores are near zero."""
_DENSE, _LEXICAL, _PASSAGE = 0.5, 0.35, 0.15
_AROUND = 0.2
"""Share of the better neighbour's score."""
_FIGURES = 0.1
"""For a unit with figures, where the question asks for a quantity."""
_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|often|large|big|far|fast|high|low|small|old|deep)\b|\b(?:what|which)\b.{0,60}?\b(?:number|"
    r"size|rate|accuracy|score|percentage|factor|value|error|f1|bleu|recall|precision|interval|average|settings?)\b",
    re.IGNORECASE,
)
_SAME = 0.8
"""Share of its terms that a unit may have in common with a better one before it counts as a repetition."""
_FEWEST_SHARED = 4
_FRAGMENT = 0.8
"""What a unit's score is multiplied with where the passage cuts it."""


class SentenceEmbedder(Protocol):
    """The part of `ragscience.models.protocols.Embedder` that scoring needs."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32. Raises ModelProblem."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (dimension,), float32. Raises ModelProblem."""


def extract(
    question: str, hits: Sequence[Hit], *, embedder: SentenceEmbedder | None, limit: int
) -> tuple[list[Unit], tuple[str, ...]]:
    """At most `limit` units that answer best, the best first, and notices.

    Scored by cosine with the question, by the question's terms they hold (weighted by rarity among the units), and by
    their passage's rank; without an embedder, or when it fails, by the last two. Repetitions are left out.
    """
    units = [unit for hit in hits for unit in units_of(hit)]
    lexical = _lexical(question, units)
    passage = {hit.rank: 1.0 / math.sqrt(hit.rank) for hit in hits}
    first = [lexical[i] + 0.3 * passage[unit.hit.rank] for i, unit in enumerate(units)]
    order = sorted(range(len(units)), key=lambda i: (-first[i], i))[:_CANDIDATES]
    units, lexical = [units[i] for i in order], [lexical[i] for i in order]
    dense, notices = _dense(question, units, embedder)
    own = [_DENSE * dense[i] + _LEXICAL * lexical[i] for i in range(len(units))]
    around = _around(units, own)
    asks_quantity = bool(_QUANTITY.search(question))
    scores = [
        (
            own[i]
            + _AROUND * around[i]
            + _PASSAGE * passage[unit.hit.rank]
            + (_FIGURES if asks_quantity and any(map(str.isdigit, unit.text)) else 0.0)
        )
        * (1.0 if unit.whole else _FRAGMENT)
        for i, unit in enumerate(units)
    ]
    ranked = sorted(range(len(units)), key=lambda i: (-scores[i], i))
    return _without_repetitions([units[i] for i in ranked], limit), notices


def quoted(units: Sequence[Unit]) -> tuple[str, tuple[Citation, ...]]:
    """The units as an answer, one a line: `“…” (file.pdf, p.N)`, and a citation for each page that they have words on.

    A quote is shown on one line; its citation keeps the words as they stand on the page.
    """
    lines: list[str] = []
    citations: list[Citation] = []
    for unit in units:
        chunk = unit.hit.chunk
        parts = list(page_parts(chunk, unit.start, unit.end))
        places = " ".join(f"({chunk.file}, p.{page})" for page, _, _ in parts)
        shown = f"“{joined_lines(unit.text)}”"
        if unit.lead:
            shown = f"{unit.lead} … {shown}"
        lines.append(f"{shown} {places}")
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


def _dense(
    question: str, units: Sequence[Unit], embedder: SentenceEmbedder | None
) -> tuple[list[float], tuple[str, ...]]:
    """Cosine of each unit with the question; zeros without an embedder."""
    if embedder is None or not units:
        return [0.0] * len(units), ()
    try:
        rows = embedder.embed_documents([unit.scored_text for unit in units])
        asked = embedder.embed_query(question)
    except ModelProblem as problem:
        return [0.0] * len(units), (f"Quotes are chosen by words alone, because the embedder failed: {problem}",)
    return [float(value) for value in rows @ asked], ()


def _around(units: Sequence[Unit], own: Sequence[float]) -> list[float]:
    """For each unit the better score of its neighbours in the passage: what answers often stands beside what is asked."""
    by_place = sorted(range(len(units)), key=lambda i: (units[i].hit.rank, units[i].start))
    around = [0.0] * len(units)
    for left, right in pairwise(by_place):
        if units[left].hit.rank == units[right].hit.rank:
            around[left] = max(around[left], own[right])
            around[right] = max(around[right], own[left])
    return around


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
    return len(own & others) / min(len(own), len(others)) > _SAME and len(own & others) >= _FEWEST_SHARED
