"""The text of an answer from its blocks, in Markdown: the one place that says how each kind of block reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragscience.ask.extractive import ScoredUnit, quoted
from ragscience.ask.quote_candidates import Unit
from ragscience.core.paper_records import page_label
from ragscience.core.records import Block, Citation, Found, Sentence

__all__ = [
    "ROUTE",
    "as_text",
    "first_line",
    "note",
    "places",
    "quotes_of",
    "rest_of",
    "shown_text",
    "side_by_side",
]

_LINE_CHARS = 260
"""A longer first line is cut."""
_FEWEST_CHARS = 20
"""Less than this is nothing to show below it."""


def as_text(blocks: Sequence[Block]) -> str:
    """The blocks one after the other, a blank line between them; items of a list follow each other."""
    text = ""
    before = None
    for block in blocks:
        gap = "\n" if before == block.kind == "item" else "\n\n"
        text += (gap if text else "") + _block_text(block)
        before = block.kind
    return text


def shown_text(blocks: Sequence[Block]) -> str:
    """What is shown of an answer in quotes, in Markdown: the line that answers, and the quotes that carry it."""
    shown = [block for block in blocks if not block.is_brief]
    first = first_line(blocks)
    if first is None:
        return as_text(shown)
    line, key = first
    at = line.find(key) if key else -1
    marked = f"{line[:at]}**{key}**{line[at + len(key) :]}" if at >= 0 else line
    rest = rest_of(shown[0])
    return "\n\n".join(
        part for part in (f"{marked} {places(shown[0].citations[:1])}", as_text([*rest, *shown[1:]])) if part
    )


def first_line(blocks: Sequence[Block]) -> tuple[str, str] | None:
    """(The line that answers, the words in it that were asked for or ""); None where no block has one.

    A long sentence is cut around these words.
    """
    if not blocks or not blocks[0].line:
        return None
    line, key = blocks[0].line, blocks[0].key
    if len(line) > _LINE_CHARS:
        at = line.find(key) if key else 0
        start = max(0, min(at - _LINE_CHARS // 2, len(line) - _LINE_CHARS))
        start = line.find(" ", start) + 1 if start else 0
        end = line.rfind(" ", 0, start + _LINE_CHARS) if start + _LINE_CHARS < len(line) else len(line)
        line = f"{'… ' if start else ''}{line[start:end]}{' …' if end < len(line) else ''}"
    return line, key


def rest_of(block: Block) -> tuple[Block, ...]:
    """The block as it is shown below the first line: without it where it begins or ends with it; or nothing."""
    if block.kind == "table" or len(block.line) > _LINE_CHARS:
        return (block,)
    text = block.text.removeprefix(block.line).removesuffix(block.line).strip()
    return (replace(block, text=text, lead=""),) if len(text) >= _FEWEST_CHARS else ()


def quotes_of(blocks: Sequence[Block]) -> tuple[Sentence, ...]:
    """The blocks with words of a page, each as a sentence of `as_text(blocks)`: there is nothing in it to check."""
    return tuple(Sentence(_block_text(block), "quote", 1.0, block.citations[0]) for block in blocks if block.citations)


def places(citations: Sequence[Citation]) -> str:
    """`(a.pdf, p.3) (a.pdf, p.4)`, each page once."""
    return " ".join(dict.fromkeys(page_label(citation.file, citation.page) for citation in citations))


def _block_text(block: Block) -> str:
    where = places(block.citations)
    behind = f" {where}" if where else ""
    match block.kind:
        case "heading":
            return f"**{block.text}**{behind}"
        case "quote":
            return f"{_led(block.lead)}“{block.text}”{behind}"
        case "table" | "formula":
            return "\n\n".join(part for part in (block.lead + behind if block.lead else where, block.text) if part)
        case "item":
            return f"- {block.text}{behind}"
        case _:
            return f"{block.text}{behind}"


def _led(lead: str) -> str:
    """What goes before a quote: "5.3 Optimizer: ", "Table 1: Costs. "."""
    return f"{lead}{'' if lead.endswith(('.', ':', '?', '!')) else ':'} " if lead else ""


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
        own = [one for one, owner in zip(units, owners, strict=True) if owner == number]
        blocks.append(Block("heading", part.question[:1].upper() + part.question[1:]))
        blocks += quoted(own) or (Block("text", NOTHING),)
    return (*blocks, *quoted([one for one, owner in zip(units, owners, strict=True) if owner is None]))


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
