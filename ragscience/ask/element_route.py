"""Questions for an element of a paper: a table, figure, equation, algorithm or section, by number or by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ragscience.ask.element_blocks import captioned_blocks, equation_blocks, section_blocks
from ragscience.ask.numbered_elements import (
    KINDS,
    abstract_of,
    captions,
    equations,
    known_numbers,
    named_section,
    numbered_section,
    numbers_in,
    same_number,
    section_names,
)
from ragscience.ask.paper_text import PaperText, Part
from ragscience.ask.route_records import RouteContext, Routed, label
from ragscience.ask.slots import Slots
from ragscience.core.records import Block
from ragscience.core.tokenizing import joined_lines, terms

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
