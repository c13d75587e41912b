"""The blocks of an answer from the quotes that were chosen, and its text from its blocks, in Markdown."""

from collections.abc import Sequence
from dataclasses import replace

from ragscience.ask.cells import caption_of, lead_and_words, same_table, table_with
from ragscience.ask.extractive import ScoredUnit
from ragscience.ask.quote_candidates import Unit
from ragscience.core.paper_records import page_label, page_parts
from ragscience.core.records import Block, Citation, Found, Sentence
from ragscience.core.sentences import BETWEEN_CELLS, below_of, first_line, formulas_named, leading_of
from ragscience.core.tokenizing import joined_lines

_SHOWN, _SHOWN_OF_SIDE = 2, 3
"""Quotes that are shown, of each side of a comparison, too; the others are for who asks for all."""


def quoted(units: Sequence[ScoredUnit], most: int = _SHOWN) -> tuple[Block, ...]:
    """A quote for each unit, in their order, with a citation for each page that it has words on.

    A quote is on one line; rows of one Markdown table are one block, under its caption and header. Citations keep the
    words as they are on the page. The first block says which of its words answer.
    """
    blocks: list[Block] = []
    left = list(units)
    while left:
        chosen, number = left.pop(0), len(blocks)
        unit, extra = chosen.unit, number >= most
        line, key, beside = (chosen.line, chosen.key, chosen.beside) if number == 0 else ("", "", "")
        if unit.is_row:
            others = [other for other in left if same_table(unit, other.unit)]
            rows = list({row.place: row for row in (unit, *(other.unit for other in others))}.values())
            left = [other for other in left if other not in others]
            line = line and BETWEEN_CELLS.join(filter(None, dict.fromkeys((line, *(other.line for other in others)))))
            citations = tuple(citation for row in rows for citation in _citations(row))
            blocks.append(Block("table", table_with(rows), citations, caption_of(unit), extra, line, key))
            continue
        lead, words = lead_and_words(unit)
        line = line and (line if line in words else words)
        # What stands first is the place of the line.
        cited = tuple(sorted(_citations(unit), key=lambda one: line not in joined_lines(one.quote)))
        blocks.append(Block("quote", words, cited, lead, extra, line, key, beside))
    return tuple(blocks)


def _citations(unit: Unit) -> tuple[Citation, ...]:
    parts = page_parts(unit.hit.chunk, unit.start, unit.end)
    return tuple(_citation(unit, page, start, end) for page, start, end in parts)


def _citation(unit: Unit, page: int, start: int, end: int) -> Citation:
    chunk = unit.hit.chunk
    words = chunk.text[start:end]
    begin = chunk.start + start + len(words) - len(words.lstrip())
    quote = words.strip()
    return Citation(chunk.file, page, quote, True, chunk.path, begin, begin + len(quote))


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
    """What is shown of an answer in quotes, in Markdown: the lines that answer, and the quotes that carry them."""
    leading = leading_of(blocks)
    lines = []
    for block in leading:
        line, key = first_line(block)
        marked = line.replace(key, f"**{key}**", 1) if key else line
        lines.append(f"{marked} {places(block.citations[:1])}")
    return "\n\n".join([*lines, *filter(None, [as_text(below_of(blocks))])])


def quotes_of(blocks: Sequence[Block]) -> tuple[Sentence, ...]:
    """The blocks with words of a page, each as a sentence of `as_text(blocks)`: there is nothing in it to check."""
    return tuple(Sentence(_block_text(block), "quote", 1.0, block.citations[0]) for block in blocks if block.citations)


def places(citations: Sequence[Citation]) -> str:
    """`(a.pdf, p.3) (a.pdf, p.4)`, each page once."""
    return " ".join(dict.fromkeys(page_label(citation.file, citation.page) for citation in citations))


def _block_text(block: Block) -> str:
    where = places(block.citations)
    behind = f" {where}" if where else ""
    text = formulas_named(block.text, block.citations[0].page) if block.citations else block.text
    match block.kind:
        case "heading":
            return f"**{text}**{behind}"
        case "quote":
            lead = f"{block.lead}{'' if block.lead.endswith(('.', ':', '?', '!')) else ':'} " if block.lead else ""
            return f"{lead}“{text}”{behind}"
        case "formula" if not block.lead:
            return f"{text}{behind}"
        case "table" | "formula":
            return "\n\n".join(part for part in (block.lead + behind if block.lead else where, text) if part)
        case "item":
            return f"- {text}{behind}"
        case _:
            return f"{text}{behind}"


ROUTE = "comparison"


def side_by_side(units: Sequence[ScoredUnit]) -> tuple[Block, ...]:
    """The best quote of each part of the question, in their order, then the others; three of each are shown."""
    parts = sorted({one.part for one in units})
    each = [quoted([one for one in units if one.part == part], _SHOWN_OF_SIDE) for part in parts]
    others = [block for side in each for block in side[1:]]
    return (*(side[0] for side in each), *(replace(block, line="", key="", beside="") for block in others))


def note(found: Found) -> str:
    """What was done, in one line."""
    files = {hit.chunk.chunk_id: hit.chunk.file for hit in found.hits}
    papers = dict.fromkeys(files[number] for part in found.parts for number in part.chunk_ids if number in files)
    own = f", each in its own paper: {', '.join(papers)}" if len(papers) >= len(found.parts) else ""
    return f"Searched for in parts{own}."
