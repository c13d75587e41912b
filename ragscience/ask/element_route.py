"""Questions for an element of a paper: a table, figure, equation, algorithm or section, by number or by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from textwrap import shorten

from ragscience.ask.numbered_elements import (
    KINDS,
    is_number,
    mentioning,
    numbered,
    numbers_in,
    of_number,
    section,
    tables_at,
)
from ragscience.ask.paper_text import PaperText, Paragraph, Part, paragraphs_of
from ragscience.ask.route_records import RouteContext, Routed, label, listed
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import has_pages, place_label
from ragscience.core.records import Block, Hit
from ragscience.core.tokenizing import counted, joined_lines, terms

_SHORT_SECTION = 3600
"""Characters of a section that is given whole; of a longer one, the first sentence of each paragraph."""
_MOST_LINES = 24
_SHORT_PARAGRAPH = 100
"""Characters of what is left out of a long section: lines of examples, labels."""
_MOST_LISTED = 12
_MOST_MENTIONS, _MOST_OF_TABLE = 4, 2
_LEAST_MENTION = 40
_MOST_BELOW = 12
"""Elements that are given of what stands below a caption where there is no table."""
_PROSE = 350
"""Characters of a paragraph that goes on with the paper's text below a caption."""
_EXPLAINS = re.compile(r"\s*(?:(?-i:[a-z])|(?:where|with|here|in which|such that|for which|and)\b)", re.I)
_PART = re.compile(
    r"\b(?P<part>abstract|introduction|conclusions?|concluding remarks|discussion|related works?|acknowledge?ments?)\b|"
    r"\b(?P<called>[\w&-]+(?: [\w&-]+){0,3}?) section\b",
    re.IGNORECASE,
)


def answer(slots: Slots, context: RouteContext) -> Routed | None:
    """The elements that a question asks for, whole, or what there is where they are not in the paper."""
    rest, wanted = slots.without_names, list[tuple[str, str]]()
    mentioned = sorted((*found, kind) for kind in KINDS for found in numbers_in(rest, kind))
    for start, end, numbers, kind in mentioned:
        rest = rest[:start] + " " * (end - start) + rest[end:]
        wanted += [(kind, number) for number in numbers]
    if not wanted and (part := _PART.search(rest)) is not None:
        rest = rest[: part.start()] + rest[part.end() :]
        wanted = [("section", part["part"] or part["called"])]
    papers = slots.papers or slots.implied or (slots.with_described(context).papers if wanted else ())
    asks_more = slots.extra & {*terms(rest)} and (len(papers) > 1 or any(kind == "section" for kind, _ in wanted))
    if not wanted or not papers or asks_more:
        return None  # it asks for something in that section
    blocks, hits, is_missing = list[Block](), list[Hit](), False
    for paper in (PaperText(context.library, paper) for paper in papers):
        own = list[Block]()
        for kind, name in wanted:
            found = _blocks(paper, kind, name)
            is_missing = is_missing or not found
            own += found or _what_there_is(paper, kind, name)
        blocks += own
        hits += paper.hits([cited for block in own for cited in block.citations], "element")
    titles = listed([f"“{label(paper, year=False)}”" for paper in papers])
    said = ", ".join(f"{kind} {name}" if is_number(name) else f"the {name.casefold()}" for kind, name in wanted)
    note = f"Looked up {said} of {titles}."
    confidence = "low" if is_missing else "high"
    return Routed("element", note, tuple(blocks), tuple(hits), confidence, for_llm=not is_missing)


def _blocks(paper: PaperText, kind: str, name: str) -> list[Block]:
    if kind == "section":
        return _section_blocks(paper, section(paper, name))
    found = of_number(paper, kind, name)
    if kind == "equation":
        return _equation_blocks(paper, found[0]) if found else []
    blocks = [block for caption in found for block in _captioned(paper, kind, caption)]
    is_whole = any(block.kind == "table" for block in blocks)
    said = [one for one in mentioning(paper, kind, name) if found and len(one.text) > _LEAST_MENTION]
    said.sort(key=lambda one: len(one.citations[0].quote.split()) < 8)
    said = said[: _MOST_OF_TABLE if is_whole else _MOST_MENTIONS]
    return blocks + [Block("quote", one.text, one.citations, is_brief=is_whole) for one in said]


def _captioned(paper: PaperText, kind: str, caption: Part) -> Iterator[Block]:
    """A caption with its table; without one, with what follows up to the next caption or heading, but of a figure."""
    tables = tables_at(paper, caption) if kind == "table" else ()
    if tables:
        yield Block("table", _one_table(tables), paper.cite([caption, *tables]), joined_lines(caption.text))
        return
    yield from _as_it_is(paper, [caption])
    after = paper.parts[paper.parts.index(caption) + 1 :] if kind != "figure" else ()
    below = takewhile(lambda part: part.page == caption.page and not _ends(part), after)
    yield from _as_it_is(paper, [part for part in below if part.kind != "footnote"][:_MOST_BELOW])


def _ends(part: Part) -> bool:
    text = part.text.rstrip()
    is_prose = len(text) > _PROSE and text.endswith(".") and sum(map(str.islower, text)) > 0.7 * len(text)
    return part.kind in ("caption", "heading", "table") or (part.kind == "text" and is_prose)


def _as_it_is(paper: PaperText, parts: Sequence[Part]) -> Iterator[Block]:
    for part in parts:
        kind = {"heading": "heading", "title": "heading", "equation": "formula"}.get(part.kind, "quote")
        yield Block(kind, joined_lines(part.text), paper.cite([part]))


def _one_table(tables: Sequence[Part]) -> str:
    """The tables as one below the first one's header; those with another header of their own follow as they are."""
    text = tables[0].text.strip()
    for before, table in pairwise(tables):
        lines = table.text.strip().split("\n")
        if before.page == table.page:
            lines = ["", *lines]
        elif before.text.strip().split("\n")[0] == lines[0]:
            lines = lines[2:]
        else:
            lines = [line for line in lines if set(line) - set("|- ")]
        text += "\n" + "\n".join(lines)
    return text


def _equation_blocks(paper: PaperText, equation: Part) -> list[Block]:
    """The sentence that leads to an equation, the equation, and the sentence behind it that explains its symbols."""
    here = paper.parts.index(equation)
    before = next((part for part in paper.parts[:here][::-1] if part.kind in ("text", "list", "heading")), None)
    after = next((part for part in paper.parts[here + 1 :] if part.kind in ("text", "list", "heading")), None)
    blocks = list(_as_it_is(paper, [equation]))
    if before is not None and before.kind != "heading" and equation.page - before.page <= 1:
        blocks.insert(0, _sentence(paper, Paragraph((before,)), -1))
    if after is not None and after.kind != "heading" and _EXPLAINS.match(after.text):
        blocks.append(_sentence(paper, Paragraph((after,)), 0))
    return blocks


def _sentence(paper: PaperText, paragraph: Paragraph, which: int) -> Block:
    text, held = list(paragraph.spans())[which]
    return Block("quote", text, tuple(paper.cite_span(*span) for span in held))


def _section_blocks(paper: PaperText, parts: Sequence[Part]) -> list[Block]:
    """A section with its headings, whole where it is short, else the first sentence of each paragraph."""
    paragraphs = {paragraph.parts[0]: paragraph for paragraph in paragraphs_of(parts)}
    is_short = sum(len(paragraph.text) for paragraph in paragraphs.values()) <= _SHORT_SECTION
    blocks, quoted = list[Block](), 0
    for part in parts:
        if part.kind in ("heading", "title") or (part.kind == "equation" and is_short):
            blocks += _as_it_is(paper, [part])
        elif (paragraph := paragraphs.get(part)) is not None and (
            is_short or (quoted < _MOST_LINES and len(paragraph.text) >= _SHORT_PARAGRAPH)
        ):
            whole = Block("quote", paragraph.text, paper.cite(paragraph.parts))
            blocks.append(whole if is_short else _sentence(paper, paragraph, 0))
            quoted += 1
    if not is_short:
        pages = sorted({part.page for part in parts})
        where = f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]} to {pages[-1]}"
        where = where if has_pages(paper.paper.file) else place_label(paper.paper.file, pages[0], pages[-1])
        which = "each" if quoted == len(paragraphs) else f"{quoted} of them"
        said = f"The section has {counted(len(paragraphs), 'paragraph')} on {where}"
        blocks.append(Block("text", f"{said}; the first sentence of {which} is quoted."))
    return blocks


def _what_there_is(paper: PaperText, kind: str, name: str) -> list[Block]:
    """That an element is missing, and those of its kind that there are."""
    title, known = f"“{label(paper.paper, year=False)}”", numbered(paper, kind)
    if not is_number(name):
        known = [("", part) for part in paper.parts if part.kind == "heading" and part.level == 1]
        said = f"{title} has no section called “{name}”{'; its sections are:' if known else '.'}"
    else:
        numbers = listed(list(dict.fromkeys(number for number, _ in known)))
        has = (
            f"it has {kind}{'s' * (len(known) > 1)} {numbers}" if known else f"no {kind}s with numbers were found in it"
        )
        said = f"{title} has no {kind} {name}; {has}."
    items = known[:_MOST_LISTED] if kind != "equation" else ()
    return [Block("text", said), *(_item(paper, part) for _, part in items)]


def _item(paper: PaperText, part: Part) -> Block:
    return Block("item", shorten(joined_lines(part.text), 160, placeholder=" …"), paper.cite([part]))
