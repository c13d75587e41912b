"""The text of an answer from its blocks, in Markdown: the one place that says how each kind of block reads."""

from __future__ import annotations

from collections.abc import Sequence

from ragscience.core.page_spans import page_label
from ragscience.core.records import Block, Citation, Sentence

__all__ = ["as_text", "places", "quotes_of"]


def as_text(blocks: Sequence[Block]) -> str:
    """The blocks one after the other, a blank line between them; items of a list follow each other."""
    text = ""
    before = None
    for block in blocks:
        gap = "\n" if before == block.kind == "item" else "\n\n"
        text += (gap if text else "") + _block_text(block)
        before = block.kind
    return text


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
