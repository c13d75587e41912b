"""The quotes for a question that was searched for in parts: the parts one after the other, each with its own."""

from __future__ import annotations

from collections.abc import Sequence

from ragscience.answering.extractive import quoted
from ragscience.answering.quote_candidates import Unit
from ragscience.records import Block, Found

__all__ = ["ROUTE", "note", "side_by_side"]

ROUTE = "comparison"
NOTHING = "No passage was found that says it."


def side_by_side(found: Found, units: Sequence[Unit]) -> tuple[Block, ...]:
    """For each part of the question a heading and the quotes from its passages; then the quotes of no part."""
    left = list(units)
    blocks: list[Block] = []
    for part in found.parts:
        own = [unit for unit in left if unit.hit.chunk.chunk_id in part.chunk_ids]
        left = [unit for unit in left if unit not in own]
        blocks.append(Block("heading", part.question))
        blocks += quoted(own) or (Block("text", NOTHING),)
    return (*blocks, *quoted(left))


def note(found: Found) -> str:
    """What was done, in one line."""
    files = {hit.chunk.chunk_id: hit.chunk.file for hit in found.hits}
    papers = dict.fromkeys(files[number] for part in found.parts for number in part.chunk_ids if number in files)
    return f"Searched for in parts, each in its own paper: {', '.join(papers)}."
