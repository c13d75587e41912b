"""How well a run of sentences, or a row of a table, answers a question.

Features, each 0 to 1 unless said otherwise, weighted and summed:

- `meaning`: for each word piece of the question the best cosine in the run (MaxSim: Khattab and Zaharia 2020, SIGIR),
  or in the caption and header of a row, weighted by how rare the piece's word is among the passages; up from -1.
  Without token vectors, whether the run has the word.
- `words`: the question's terms that it holds, `context` those that only its headings, title, caption or header hold,
  both weighted by rarity; `named`: whether the question names the paper.
- `rank`: 1 over the root of its passage's rank.
- `span`: how likely the words that answer are in it (models/minilm.py), where it was read.
- `cell`: of a row of a table, how much of the question its name and one column's together hold.
- `noise`: thanks, an author's address, an appendix of samples; half for a caption. Its weight is negative.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

from ragscience.ask.cells import AskedRow, asked_rows, same_table, table_span
from ragscience.ask.conversation import asked_last
from ragscience.ask.quote_candidates import CAPTION, Unit, follows, table_head_end
from ragscience.core.tokenizing import joined_lines, terms
from ragscience.models.model_protocols import Reader
from ragscience.search.reranking import TokenMatches

_WEIGHTS = {
    "meaning": 1.0,
    "words": 0.35,
    "context": 0.35,
    "named": 0.45,
    "rank": 0.25,
    "cell": 0.6,
    "noise": -0.6,
    "span": 1.1,
}
"""Round numbers on a plateau: docs/choices.md."""
_EARLIER = 0.4
"""What a term counts that only an earlier question of the conversation has."""
_LEAD_SHARE = 0.9
"""What a match in the caption or header of a row counts of one in the row."""
_WORD = re.compile(r"[^\W_]++(?:[-'’.][^\W_]++|,\d++)*+")
_SAMPLES = re.compile(
    r"› (?:[A-Z][. ]|[\d. ]*+Appendix)[^\n]{0,120}\b"
    r"(?:samples|completions?|generations|prompts|examples|trajector(?:y|ies)|transcripts)\b",
    re.IGNORECASE,
)
"""Sections of an appendix that print what models, people or data sets say."""
_THANKS = re.compile(r"\b(?:thank(?:s|ful)?|acknowledg(?:e|es|ements?|ments?)|grateful)\b", re.IGNORECASE)
_ADDRESS = re.compile(
    r"[\w.]@\w|\bP\. ?O\. ?Box\b|\b(?:author information|correspondence (?:to|address)|corresponding author)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as its units are compared with it."""

    weights: Mapping[str, float]
    """The rarity of each term of the question among the units, as shares of their sum, in an order of their own."""
    tokens: tuple[tuple[frozenset[str], float], ...]
    """For each word piece that is matched the terms of its word, and its weight; the weights' sum is 1."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence or row with what its comparison needs."""

    unit: Unit
    terms: frozenset[str]
    """Of its words, and of a row's caption and header."""
    held: frozenset[str]
    """Those of the question's terms that its words have;"""
    above: frozenset[str]
    """that its caption and header, its headings or the paper's title have."""
    cosines: tuple[float, ...]
    """For each of `Asked.tokens`."""
    noise: float
    named: float
    row: AskedRow | None
    """Of a row of a table how it answers, where that can be told."""


def pieces_of(question: str, units: Sequence[Unit], matches: TokenMatches | None) -> tuple[Asked, list[Piece]]:
    """The question, and the units that have a word at all, in their order."""
    above = {text: _terms_of(text) for unit in units for text in (unit.hit.chunk.header, unit.lead)}
    worded = [(unit, text, _terms_of(text)) for unit in units for text in [joined_lines(unit.text)]]
    asked_terms = frozenset(terms(question))
    weights = _rarity(asked_terms, [asked_terms & (own | above[unit.lead]) for unit, _, own in worded])
    last = frozenset(terms(asked_last(question)))
    weights = {term: weight * (1.0 if term in last else _EARLIER) for term, weight in weights.items()}
    total = sum(weights.values()) or 1.0
    weights = {term: weight / total for term, weight in weights.items()}
    asked = Asked(weights, _tokens(question, weights, matches))
    names = {paper: _terms_of(" ".join(said)) for paper, said in (matches.names if matches else {}).items()}
    any_name = frozenset[str]().union(*names.values())
    rows = _rows(question, asked, units)
    pieces = []
    for unit, text, own in worded:
        lead, chunk = above[unit.lead], unit.hit.chunk
        if own:
            headings = (above[chunk.header] - any_name) | names.get(chunk.paper_id, frozenset())
            pieces.append(
                Piece(
                    unit=unit,
                    terms=own | lead,
                    held=own & asked_terms,
                    above=(lead | headings) & asked_terms,
                    cosines=_cosines(unit, own, asked, matches),
                    noise=max(_noise(text), float(bool(_SAMPLES.search(chunk.header)))),
                    named=float(chunk.paper_id in names),
                    row=rows.get(unit.place),
                )
            )
    return asked, pieces


def _rows(question: str, asked: Asked, units: Sequence[Unit]) -> dict[tuple[str, int, int], AskedRow | None]:
    """By its place how each row of a table answers."""
    tables: dict[tuple[int, int], list[Unit]] = {}
    for unit in units:
        if unit.is_row:
            tables.setdefault((unit.hit.chunk.chunk_id, table_span(unit)[0]), []).append(unit)
    found: dict[tuple[str, int, int], AskedRow | None] = {}
    for rows in tables.values():
        answers = asked_rows(question, asked.tokens, rows)
        found |= zip((row.place for row in rows), answers, strict=True)
    return found


def features_of(run: Sequence[Piece], asked: Asked) -> dict[str, float]:
    """The features of pieces that follow each other in a passage."""
    own = run[0].held.union(*(piece.held for piece in run[1:]))
    around = run[0].above - own
    best = reduce(lambda one, other: tuple(map(max, one, other)), (piece.cosines for piece in run))
    return {
        "meaning": sum(weight * cosine for (_, weight), cosine in zip(asked.tokens, best, strict=True)),
        "words": _held(asked.weights, own),
        "context": _held(asked.weights, around),
        "named": run[0].named,
        "rank": 1.0 / math.sqrt(run[0].unit.hit.rank),
        "cell": max(piece.row.fit if piece.row else 0.0 for piece in run),
        "noise": max(piece.noise for piece in run),
    }


def score_of(features: Mapping[str, float]) -> float:
    """The weighted sum."""
    return sum(weight * features.get(name, 0.0) for name, weight in _WEIGHTS.items())


@lru_cache(maxsize=1 << 15)
def _terms_of_word(word: str) -> frozenset[str]:
    return frozenset(terms(word))


def _terms_of(text: str) -> frozenset[str]:
    return frozenset[str]().union(*map(_terms_of_word, _WORD.findall(text)))


def _cosines(unit: Unit, own: frozenset[str], asked: Asked, matches: TokenMatches | None) -> tuple[float, ...]:
    passage = matches.passages.get(unit.hit.chunk.chunk_id) if matches is not None else None
    if passage is None:
        return tuple(float(bool(word & own)) for word, _ in asked.tokens)
    cosines = passage.best(unit.start, unit.end)
    if not unit.lead:
        return cosines
    above = passage.best(None, table_head_end(unit.hit.chunk.text))
    return tuple(max(one, _LEAD_SHARE * other) for one, other in zip(cosines, above, strict=True))


def _tokens(
    question: str, weights: Mapping[str, float], matches: TokenMatches | None
) -> tuple[tuple[frozenset[str], float], ...]:
    words = [(match.span(), frozenset(terms(match.group())) & weights.keys()) for match in _WORD.finditer(question)]
    places = matches.asked if matches is not None and matches.asked else [span for span, word in words if word]
    of_piece = [
        next((i for i, ((a, b), _) in enumerate(words) if a <= start and end <= b), -1) for start, end in places
    ]
    pieces = Counter(of_piece)
    heavy = [max((weights[term] for term in words[i][1]), default=0.0) / pieces[i] if i >= 0 else 0.0 for i in of_piece]
    total = sum(heavy)
    if not total:
        heavy, total = [1.0] * len(places), float(len(places) or 1)
    return tuple(
        (words[i][1] if i >= 0 else frozenset(), weight / total) for i, weight in zip(of_piece, heavy, strict=True)
    )


def _noise(text: str) -> float:
    if _THANKS.search(text) or _ADDRESS.search(text):
        return 1.0
    return 0.5 * bool(CAPTION.match(text))


def _rarity(asked: frozenset[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """For each term asked log(1 + texts / (1 + those with it)), as shares of their sum; sorted, so that sums agree."""
    frequency = Counter(term for each in texts for term in asked & each)
    weight = {term: math.log(1 + len(texts) / (1 + frequency[term])) for term in sorted(asked)}
    total = sum(weight.values()) or 1.0
    return {term: value / total for term, value in weight.items()}


def _held(weights: Mapping[str, float], text: frozenset[str]) -> float:
    return sum(value for term, value in weights.items() if term in text)


READ_TEXTS = 8
"""Texts that are read for a question."""
READ_CHARS = 600
"""Length up to which a run is read with its neighbours: what it announces, or means by "it", is beside it."""


@dataclass(frozen=True, slots=True)
class PieceReading:
    """What was read in a piece."""

    probability: float
    """How likely the answer is there, 0 to 1."""
    answer: str
    """Its words, on one line; empty where they are of the caption or header of a row."""


def read_pieces(
    question: str, pieces: Sequence[Piece], runs: Sequence[tuple[int, int]], read: Reader
) -> dict[int, PieceReading]:
    """The readings of the best runs and what is beside them, no piece twice, by piece: where the best span ends.

    `runs` has the first and the last piece of each, the best first. Of a table one row is read. Raises ModelProblem.
    """
    chosen: list[tuple[int, int]] = []
    taken, rows = set[int](), list[Unit]()
    for first, last in runs:
        unit = pieces[first].unit
        is_read = any(same_table(unit, other) for other in rows)
        if not is_read and taken.isdisjoint(range(first, last + 1)):
            first, last = _widened(pieces, first, last, taken)
            chosen.append((first, last))
            taken.update(range(first, last + 1))
            rows += [unit] if unit.is_row else []
        if len(chosen) == READ_TEXTS:
            break
    texts = [[joined_lines(piece.unit.text) for piece in pieces[first : last + 1]] for first, last in chosen]
    leads = [pieces[first].unit.lead for first, _ in chosen]
    shown = [" ".join(filter(None, (lead, *parts))) for lead, parts in zip(leads, texts, strict=True)]
    readings: dict[int, PieceReading] = {}
    for (first, last), text, parts, span in zip(chosen, shown, texts, read(question, shown), strict=True):
        begin = len(text)
        for number in range(last, first - 1, -1):  # where each piece begins in the text, from its end
            begin -= len(parts[number - first]) + (begin < len(text))
            if span.end > begin or number == first:
                answer = _whole_words(text, max(begin, span.start), span.end)
                readings[number] = PieceReading(span.probability, answer)
                break
    return readings


def _widened(pieces: Sequence[Piece], first: int, last: int, taken: Collection[int]) -> tuple[int, int]:
    """The run with what follows it and what is before it in turn, but for `taken`, up to READ_CHARS; a row is alone."""
    sides = [] if pieces[first].unit.is_row else [1, -1]
    while sides:
        side = sides.pop(0)
        low, high = (first, last + 1) if side > 0 else (first - 1, last)
        new, joint = (high, high) if side > 0 else (low, first)
        if not 0 <= new < len(pieces) or new in taken or not follows(pieces[joint - 1].unit, pieces[joint].unit):
            continue
        if pieces[high].unit.end - pieces[low].unit.start <= READ_CHARS:
            first, last = low, high
            sides.append(side)
    return first, last


def _whole_words(text: str, start: int, end: int) -> str:
    """`text[start:end]`, from blank to blank but for the marks around it: "12 km/h" where a model says "12 km"."""
    if start >= end:
        return ""
    before, after = text.rfind(" ", 0, start + 1) + 1, text.find(" ", end)
    return text[before : len(text) if after < 0 else after].strip(" .,;:!?()“”\"'[]")
