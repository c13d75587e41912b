"""The quotes for a question that was searched for in parts: the parts one after the other, each with its own."""

from __future__ import annotations

from collections.abc import Sequence

from ragscience.ask.extractive import ScoredUnit, quoted
from ragscience.ask.quote_candidates import Unit
from ragscience.core.records import Block, Found

__all__ = ["ROUTE", "note", "side_by_side"]

ROUTE = "comparison"
NOTHING = "No passage was found that says it."


def side_by_side(found: Found, units: Sequence[ScoredUnit]) -> tuple[Block, ...]:
    """For each part of the question a heading and its quotes; then the quotes of no part.

    A quote belongs to the part that chose it. What the whole question chose belongs to the part that has its passage
    highest.
    """
    owners = [one.part if one.part is not None else _best_part(found, one.unit) for one in units]
    blocks: list[Block] = []
    for number, part in enumerate(found.parts):
        own = [one.unit for one, owner in zip(units, owners, strict=True) if owner == number]
        blocks.append(Block("heading", part.question[:1].upper() + part.question[1:]))
        blocks += quoted(own) or (Block("text", NOTHING),)
    return (*blocks, *quoted([one.unit for one, owner in zip(units, owners, strict=True) if owner is None]))


def _best_part(found: Found, unit: Unit) -> int | None:
    """The part that has the unit's passage in the highest place; None if no part has it."""
    number = unit.hit.chunk.chunk_id
    places = [(part.chunk_ids.index(number), i) for i, part in enumerate(found.parts) if number in part.chunk_ids]
    return min(places)[1] if places else None


def note(found: Found) -> str:
    """What was done, in one line."""
    files = {hit.chunk.chunk_id: hit.chunk.file for hit in found.hits}
    each = [{files[number] for number in part.chunk_ids if number in files} for part in found.parts]
    papers = dict.fromkeys(files[number] for part in found.parts for number in part.chunk_ids if number in files)
    if sum(map(len, each)) > len(papers):  # a paper has passages for two parts
        return "Searched for in parts."
    return f"Searched for in parts, each in its own paper: {', '.join(papers)}."
