"""An element of a paper, whole, as blocks of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ragscience.ask.numbered_elements import mentioning, tables_at
from ragscience.ask.paper_text import PaperText, Paragraph, Part, paragraphs_of
from ragscience.core.records import Block
from ragscience.core.tokenizing import joined_lines

_SHORT_SECTION = 3600
"""Characters of a section that is given whole; of a longer one, the first sentence of each paragraph."""
_MOST_LINES = 24
_MOST_MENTIONS = 4
_BELOW_CAPTION = 1800
"""Characters that are given of what stands below a caption where there is no table."""
_PROSE = 350
"""Characters of a paragraph that goes on with the paper's text below a caption."""
_SHORT_PARAGRAPH = 100
"""Characters of what is left out of a long section: lines of examples, labels."""
_EXPLAINS = re.compile(r"\s*(?:where|with|here|in which|such that|for which|and)\b", re.I)


def captioned_blocks(paper: PaperText, kind: str, number: str, found: Sequence[Part]) -> list[Block]:
    """A table, figure or algorithm with its caption, and sentences that mention it."""
    blocks: list[Block] = []
    for caption in found:
        lead = joined_lines(caption.text)
        tables = tables_at(paper, caption) if kind == "table" else ()
        if tables:
            blocks.append(Block("table", _one_table(tables), paper.cite([caption, *tables]), lead))
            continue
        blocks.append(Block("quote", lead, paper.cite([caption])))
        if kind != "figure":
            blocks += _text_below(paper, caption)
    is_whole = any(block.kind == "table" for block in blocks)
    said = [one for one in mentioning(paper, kind, number) if len(one.text) > 40]
    said.sort(key=lambda one: len(one.citations[0].quote.split()) < 8)
    blocks += [
        Block("quote", one.text, one.citations, is_brief=is_whole) for one in said[: 2 if is_whole else _MOST_MENTIONS]
    ]
    return blocks


def _one_table(tables: Sequence[Part]) -> str:
    """The tables as one below the first one's header; those with another header of their own follow as they are."""
    text = tables[0].text.strip()
    for before, table in pairwise(tables):
        lines = table.text.strip().split("\n")
        if before.page != table.page:
            has_same_head = before.text.strip().split("\n")[0] == lines[0]
            lines = lines[2:] if has_same_head else [line for line in lines if set(line) - set("|- ")]
        else:
            lines = ["", *lines]
        text += "\n" + "\n".join(lines)
    return text


def _text_below(paper: PaperText, caption: Part) -> list[Block]:
    """What follows a caption on its page up to the next caption or heading, as the page has it."""
    below: list[Part] = []
    length = 0
    for part in paper.parts:
        if part.index <= caption.index:
            continue
        length += len(part.text)
        is_other = part.page != caption.page or part.kind in ("caption", "heading", "table")
        if is_other or length > _BELOW_CAPTION or (part.kind == "text" and _is_prose(part.text)):
            break
        below.append(part)
    return [Block("quote", joined_lines(part.text), paper.cite([part])) for part in below if part.kind != "footnote"]


def _is_prose(text: str) -> bool:
    return (
        len(text) > _PROSE
        and text.rstrip().endswith(".")
        and sum(letter.islower() for letter in text) > 0.7 * len(text)
    )


def equation_blocks(paper: PaperText, equation: Part) -> list[Block]:
    """The sentence that leads to an equation, the equation, and the sentence behind it that explains its symbols.

    A run of equations is one, as far as only it has the number.
    """
    places = {part.index: n for n, part in enumerate(paper.parts)}
    here = places[equation.index]
    blocks: list[Block] = []
    before = next((part for part in reversed(paper.parts[:here]) if part.kind in ("text", "list")), None)
    if before is not None and equation.page - before.page <= 1 and paper.parts[here - 1].kind != "heading":
        *_, (text, held) = Paragraph((before,)).spans()
        part, start, end = held[-1]
        blocks.append(Block("quote", text, (paper.cite_span(part, start, end),)))
    blocks.append(Block("formula", joined_lines(equation.text), paper.cite([equation])))
    after = next((part for part in paper.parts[here + 1 :] if part.kind in ("text", "list", "heading")), None)
    if after is not None and after.kind != "heading" and _explains(after.text):
        text, held = next(iter(Paragraph((after,)).spans()))
        part, start, end = held[0]
        blocks.append(Block("quote", text, (paper.cite_span(part, start, end),)))
    return blocks


def _explains(text: str) -> bool:
    return text.lstrip()[:1].islower() or bool(_EXPLAINS.match(text))


def section_blocks(paper: PaperText, parts: Sequence[Part]) -> list[Block]:
    """A section with its headings, whole where it is short, else the first sentence of each paragraph."""
    heading, *body = parts
    paragraphs = list(paragraphs_of(body))
    length = sum(len(paragraph.text) for paragraph in paragraphs)
    is_short = length <= _SHORT_SECTION
    blocks = [Block("heading", joined_lines(heading.text), paper.cite([heading]))]
    begun = {paragraph.parts[0].index: paragraph for paragraph in paragraphs}
    lines = left_out = 0
    for part in body:
        if part.kind == "heading":
            blocks.append(Block("heading", joined_lines(part.text), paper.cite([part])))
        elif part.kind == "equation" and is_short:
            blocks.append(Block("formula", joined_lines(part.text), paper.cite([part])))
        elif part.index in begun:
            paragraph = begun[part.index]
            if lines >= _MOST_LINES or (not is_short and len(paragraph.text) < _SHORT_PARAGRAPH):
                left_out += 1
                continue
            blocks.append(_whole(paper, paragraph) if is_short else _first_sentence(paper, paragraph))
            lines += 1
    while blocks[-1].kind == "heading" and len(blocks) > 1 and left_out:
        blocks.pop()
    if not is_short:
        blocks.append(Block("text", _length_note(paragraphs, left_out)))
    return blocks


def _whole(paper: PaperText, paragraph: Paragraph) -> Block:
    return Block("quote", paragraph.text, paper.cite(paragraph.parts))


def _first_sentence(paper: PaperText, paragraph: Paragraph) -> Block:
    text, held = next(iter(paragraph.spans()))
    return Block("quote", text, tuple(paper.cite_span(*span) for span in held))


def _length_note(paragraphs: Sequence[Paragraph], left_out: int) -> str:
    words = sum(len(paragraph.text.split()) for paragraph in paragraphs)
    pages = [part.page for paragraph in paragraphs for part in paragraph.parts]
    where = f"page {pages[0]}" if pages[0] == pages[-1] else f"pages {pages[0]} to {pages[-1]}"
    said = f"The section has {len(paragraphs)} paragraphs ({words:,} words) on {where}; "
    if left_out:
        return f"{said}the first sentence of {len(paragraphs) - left_out} of them is quoted."
    return f"{said}the first sentence of each is quoted."
