"""`--brief`: an answer in one line."""

from __future__ import annotations

from itertools import takewhile

from ragscience.core.answer_records import PASSAGES
from ragscience.core.records import Answer, Block
from ragscience.engine.asked_words import excerpt
from ragscience.engine.markdown_tables import asked_rows, read_table
from ragscience.engine.printable import plain
from ragscience.engine.source_list import cited_label

__all__ = ["block_words", "brief_line"]

_LONGEST = 240
"""Characters of the words, which are cut at a word's end."""


def brief_line(answer: Answer) -> str:
    """The best quote, or what a route begins with, with its pages; then the confidence. A refusal says that it is one.

    Of a table it is the row that was asked for.
    """
    question = f"{answer.question} {answer.found.question}"
    blocks = list(answer.blocks)
    if answer.route == PASSAGES:
        blocks = [block for block in blocks if block.kind not in ("text", "heading")]
    if not blocks:
        return excerpt(question, plain(answer.text), _LONGEST)
    first = next((block for block in blocks if block.kind != "heading"), blocks[0])
    behind = blocks[blocks.index(first) + 1 :]
    is_list = first.kind in ("text", "item")
    items = list(takewhile(lambda block: block.kind == "item", behind)) if is_list else []
    words = excerpt(question, block_words(first, question), _LONGEST)
    if items:
        listed = "; ".join(block.text for block in items)
        words = excerpt("", f"{words}{'; ' if first.kind == 'item' else ' '}{plain(listed)}", _LONGEST)
    pages = dict.fromkeys(cited_label(one.file, one.page) for block in (first, *items[:1]) for one in block.citations)
    sure = [f"[confidence: {answer.confidence}]"] if answer.confidence else []
    return " ".join([f"“{words}”" if first.kind == "quote" else words, *pages, *sure])


def block_words(block: Block, question: str) -> str:
    """The block's words; of a table the row that was asked for, "Adam: Rate 0.001; Steps 100", or the caption."""
    if block.kind != "table":
        return plain(block.text)
    table = read_table(plain(block.text))
    rows = asked_rows(question, table)
    if not rows:
        return plain(block.lead or block.text)
    label, *cells = table.rows[rows[0]]
    named = (f"{name} {cell}".strip() for name, cell in zip(table.header[1:], cells, strict=True) if cell)
    return f"{label}: {'; '.join(named)}"
