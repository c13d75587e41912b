"""Questions for an element of a paper: a table, figure, equation, algorithm or section, by number or by name."""

import re
from collections.abc import Sequence
from itertools import accumulate, takewhile
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
from ragscience.ask.paper_text import PROSE, PaperText, Part
from ragscience.ask.route_records import RouteContext, Routed, label, listed
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import place_label
from ragscience.core.records import Block, Hit
from ragscience.core.tokenizing import joined_lines, terms

_LONGEST_SECTION = 3600
"""Characters of a section that are given."""
_MOST_LISTED = 12
_MOST_MENTIONS, _MOST_OF_TABLE = 4, 2
_LEAST_MENTION = 40
_MOST_BELOW = 12
"""Elements that are given of what stands below a caption where there is no table."""
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


def _captioned(paper: PaperText, kind: str, caption: Part) -> list[Block]:
    """A caption with its table; without one, but for a figure, with what follows up to the next whole paragraph."""
    tables = tables_at(paper, caption) if kind == "table" else ()
    if tables:
        head, *rows = tables[0].text.strip().split("\n")
        for table in tables[1:]:  # one goes on below the first one's header
            rows += [line for line in table.text.strip().split("\n") if line != head and set(line) - set("|- ")]
        lead, cited = joined_lines(caption.text), paper.cite([caption, *tables])
        return [Block("table", "\n".join([head, *rows]), cited, lead)]
    after = paper.parts[paper.parts.index(caption) + 1 :][:_MOST_BELOW] if kind != "figure" else ()
    ends = ("caption", "heading", "table")
    below = takewhile(
        lambda part: part.page == caption.page and part.kind not in ends and not part.text.rstrip().endswith("."), after
    )
    return _as_it_is(paper, [caption, *below])


def _as_it_is(paper: PaperText, parts: Sequence[Part]) -> list[Block]:
    kinds = {"heading": "heading", "title": "heading", "equation": "formula"}
    return [Block(kinds.get(part.kind, "quote"), joined_lines(part.text), paper.cite([part])) for part in parts]


def _equation_blocks(paper: PaperText, equation: Part) -> list[Block]:
    """The sentence before an equation, the equation, and the sentence behind it where that goes on with it."""
    before = [one for one in paper.sentences if one.citations[-1].end <= equation.start][-1:]
    after = [one for one in paper.sentences if one.citations[0].start >= equation.end][:1]
    before = [one for one in before if one.section == equation.section]
    after = [one for one in after if one.text[0].islower()]
    first, last = ([Block("quote", one.text, one.citations) for one in each] for each in (before, after))
    return [*first, *_as_it_is(paper, [equation]), *last]


def _section_blocks(paper: PaperText, parts: Sequence[Part]) -> list[Block]:
    """A section with its headings, of a long one the beginning."""
    told = [part for part in parts if part.kind in (*PROSE, "heading", "title", "equation")]
    ends = accumulate(len(part.text) for part in told)
    shown = [part for part, end in zip(told, ends, strict=True) if end - len(part.text) < _LONGEST_SECTION]
    goes_on = f"The section goes on to {place_label(paper.paper.file, told[-1].page)}." if told[len(shown) :] else ""
    return _as_it_is(paper, shown) + ([Block("text", goes_on)] if goes_on else [])


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
    texts = ((shorten(joined_lines(part.text), 160, placeholder=" …"), part) for _, part in items)
    return [Block("text", said), *(Block("item", text, paper.cite([part])) for text, part in texts)]
