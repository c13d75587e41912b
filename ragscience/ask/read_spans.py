"""Where the pieces of passages answer a question, as a model reads them (models/span_reader.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.ask.quote_candidates import Unit
from ragscience.ask.quoted_tables import same_table
from ragscience.core.tokenizing import joined_lines

if TYPE_CHECKING:
    from ragscience.ask.unit_scores import Piece
    from ragscience.models.span_reader import AnswerSpan


Reader = Callable[[str, Sequence[str]], "list[AnswerSpan]"]
"""For a question and texts the best span of each. Raises ModelProblem."""
READ_TEXTS = 8
"""Texts that are read for a question, of up to 400 characters each."""


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
    """The readings of the best runs that have no piece in common, by piece: where the best span of a run ends.

    `runs` has the first and the last piece of each, the best first. Of a table one row is read. Raises ModelProblem.
    """
    chosen: list[tuple[int, int]] = []
    taken, rows = set[int](), list[Unit]()
    for first, last in runs:
        unit = pieces[first].unit
        is_read = unit.is_row and any(same_table(unit, other) for other in rows)
        if not is_read and taken.isdisjoint(range(first, last + 1)):
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


def _whole_words(text: str, start: int, end: int) -> str:
    """`text[start:end]`, from blank to blank but for the marks around it: "12 km/h" where a model says "12 km"."""
    if start >= end:
        return ""
    before, after = text.rfind(" ", 0, start + 1) + 1, text.find(" ", end)
    return text[before : len(text) if after < 0 else after].strip(" .,;:!?()“”\"'[]")
