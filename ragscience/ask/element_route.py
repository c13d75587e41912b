"""Questions for an element of a paper: a table, figure, equation, algorithm or section, by number or by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from ragscience.ask.numbered_elements import (
    KINDS,
    abstract_of,
    captions,
    equations,
    known_numbers,
    mentioning,
    named_section,
    numbered_section,
    numbers_in,
    same_number,
    section_names,
    tables_at,
)
from ragscience.ask.paper_text import PaperText, Paragraph, Part, paragraphs_of
from ragscience.ask.route_records import RouteContext, Routed, label
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import has_pages, place_label
from ragscience.core.records import Block
from ragscience.core.tokenizing import joined_lines, terms

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
        blocks.append(Block("text", _length_note(paper.paper.file, paragraphs, left_out)))
    return blocks


def _whole(paper: PaperText, paragraph: Paragraph) -> Block:
    return Block("quote", paragraph.text, paper.cite(paragraph.parts))


def _first_sentence(paper: PaperText, paragraph: Paragraph) -> Block:
    text, held = next(iter(paragraph.spans()))
    return Block("quote", text, tuple(paper.cite_span(*span) for span in held))


def _length_note(file: str, paragraphs: Sequence[Paragraph], left_out: int) -> str:
    words = sum(len(paragraph.text.split()) for paragraph in paragraphs)
    pages = [part.page for paragraph in paragraphs for part in paragraph.parts]
    where = f"page {pages[0]}" if pages[0] == pages[-1] else f"pages {pages[0]} to {pages[-1]}"
    where = where if has_pages(file) else place_label(file, pages[0], pages[-1])
    said = f"The section has {len(paragraphs)} paragraphs ({words:,} words) on {where}; "
    if left_out:
        return f"{said}the first sentence of {len(paragraphs) - left_out} of them is quoted."
    return f"{said}the first sentence of each is quoted."


_MOST_LISTED = 12
_FRAME_WORDS = """
    what which does do is are was were in of from the a an show me give display print explain describe tell about
    report reports say says said show shows shown mean means contain contains content contents look like for by
    paper papers article study authors please can you could i want to see read summarize summary summarise
    according and with its it this that present presents list caption number whole full text detail details
"""
"""Words that ask for an element and say nothing of what is in it."""
_PART = re.compile(
    r"\b(?P<part>abstract|introduction|conclusions?|concluding remarks|discussion|related works?|acknowledge?ments?)\b|"
    r"\b(?P<called>[\w&-]+(?: [\w&-]+){0,3}?) section\b",
    re.IGNORECASE,
)


@cache
def _frame() -> frozenset[str]:
    return frozenset(terms(_FRAME_WORDS))


def answer(slots: Slots, context: RouteContext) -> Routed | None:
    """The elements that a question asks for, whole, or what there is where they are not in the paper."""
    question = slots.without_names
    mentioned = [(start, end, kind, numbers) for kind in KINDS for start, end, numbers in numbers_in(question, kind)]
    if mentioned:
        return _by_number(slots, sorted(mentioned), context)
    return _by_name(slots, context)


def _by_number(
    slots: Slots, mentioned: Sequence[tuple[int, int, str, list[str]]], context: RouteContext
) -> Routed | None:
    rest = slots.without_names
    for start, end, _, _ in reversed(mentioned):
        rest = rest[:start] + " " * (end - start) + rest[end:]
    others = {*terms(rest)} - _frame()
    wanted = [(kind, number) for _, _, kind, numbers in mentioned for number in numbers]
    papers = slots.papers or slots.implied or slots.with_described(context).papers
    if not papers or (others and (len(papers) > 1 or any(kind == "section" for kind, _ in wanted))):
        return None  # it asks for something in that section
    blocks: list[Block] = []
    missing = False
    texts = [PaperText(context.library, paper) for paper in papers]
    for paper in texts:
        for kind, number in wanted:
            found = _blocks(paper, kind, number)
            missing = missing or not found
            blocks += found or _what_there_is(paper, kind, number)
    said = ", ".join(f"{kind} {number}" for kind, number in wanted)
    note = f"Looked up {said} of {_names(texts)}."
    return _routed(note, blocks, texts, "low" if missing else "high")


def _blocks(paper: PaperText, kind: str, number: str) -> list[Block]:
    if kind == "section":
        parts = numbered_section(paper, number)
        return section_blocks(paper, parts) if parts else []
    if kind == "equation":
        found = [part for one, part in equations(paper) if same_number(one, number)]
        return equation_blocks(paper, found[0]) if found else []
    with_number = [part for one, part in captions(paper, kind) if same_number(one, number)]
    return captioned_blocks(paper, kind, number, with_number) if with_number else []


def _what_there_is(paper: PaperText, kind: str, number: str) -> list[Block]:
    """That an element is missing, and those of its kind that there are."""
    title = label(paper.paper, year=False)
    known = (
        section_names(paper) if kind == "section" else equations(paper) if kind == "equation" else captions(paper, kind)
    )
    if not known:
        others = [_said(other, captions(paper, other)) for other in ("table", "figure", "algorithm") if other != kind]
        has = " and ".join(filter(None, others))
        said = f"“{title}” has no {kind} {number}: no {kind}s with numbers were found in it"
        return [Block("text", f"{said}; it has {has}." if has else f"{said}.")]
    has = _said(kind, known)
    blocks = [Block("text", f"“{title}” has no {kind} {number}; it has {has}.")]
    if kind != "equation":
        blocks += [_item(paper, part) for _, part in known[:_MOST_LISTED]]
    return blocks


def _said(kind: str, known: Sequence[tuple[str, Part]]) -> str:
    numbers = known_numbers([number for number, _ in known])
    return f"{kind}{'s' * (len(known) > 1)} {numbers}" if known else ""


def _item(paper: PaperText, part: Part) -> Block:
    text = joined_lines(part.text)
    return Block("item", text if len(text) <= 160 else text[:157].rsplit(" ", 1)[0] + " …", paper.cite([part]))


def _by_name(slots: Slots, context: RouteContext) -> Routed | None:
    papers = slots.papers or slots.implied
    match = _PART.search(slots.without_names)
    if match is None or not papers:
        return None
    rest = slots.without_names[: match.start()] + slots.without_names[match.end() :]
    if {*terms(rest)} - _frame():
        return None  # it asks for something in that section
    name = match["part"] or match["called"]
    texts = [PaperText(context.library, paper) for paper in papers]
    blocks: list[Block] = []
    missing = False
    for paper in texts:
        parts = abstract_of(paper) if name.casefold() == "abstract" else named_section(paper, name)
        missing = missing or not parts
        blocks += section_blocks(paper, parts) if parts else _no_such_section(paper, name)
    return _routed(f"Looked up the {name.casefold()} of {_names(texts)}.", blocks, texts, "low" if missing else "high")


def _no_such_section(paper: PaperText, name: str) -> list[Block]:
    heads = [part for part in paper.parts if part.kind == "heading" and part.level == 1][:_MOST_LISTED]
    said = f"“{label(paper.paper, year=False)}” has no section called “{name}”"
    return [Block("text", f"{said}; its sections are:" if heads else f"{said}."), *(_item(paper, one) for one in heads)]


def _names(texts: Sequence[PaperText]) -> str:
    return " and ".join(f"“{label(text.paper, year=False)}”" for text in texts)


def _routed(note: str, blocks: Sequence[Block], texts: Sequence[PaperText], confidence: str) -> Routed:
    hits = [
        hit
        for text in texts
        for hit in text.hits(
            [one for each in blocks for one in each.citations if one.path == text.paper.path], "element"
        )
    ]
    return Routed("element", note, tuple(blocks), tuple(hits), confidence, for_llm=confidence == "high")
