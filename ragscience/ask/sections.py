"""The sections of a paper, by number and by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragscience.ask.numbered_elements import same_number
from ragscience.ask.paper_text import PaperText, Part
from ragscience.core.tokenizing import joined_lines, terms

__all__ = ["abstract_of", "named_section", "numbered_section", "section_names"]

_NUMBER = re.compile(
    r"\s*(?:section |appendix |chapter )?"
    r"((?:[A-Z]\.?)?\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?=[.\s:])|[IVX]{1,5}(?=[.\s]))\.?\s",
    re.I,
)
_SAME_SECTION = (
    {"conclusion", "conclusions", "concluding remarks", "concluding", "summary"},
    {"method", "methods", "methodology", "approach", "materials and methods"},
    {"result", "results", "experiments", "evaluation", "findings"},
    {"limitation", "limitations", "weaknesses"},
    {"related work", "related works", "previous work", "background"},
)


def section_names(paper: PaperText) -> list[tuple[str, Part]]:
    """(number, heading) of the numbered sections, in order."""
    numbered = [(_NUMBER.match(part.text + " "), part) for part in paper.parts if part.kind == "heading"]
    return [(match.group(1), part) for match, part in numbered if match]


def numbered_section(paper: PaperText, number: str) -> tuple[Part, ...]:
    """The heading with that number and all below it; empty where there is none."""
    for one, heading in section_names(paper):
        if same_number(one, number):
            return _below(paper, heading)
    return ()


def named_section(paper: PaperText, name: str) -> tuple[Part, ...]:
    """The section whose heading has that name, or one that means the same; the highest one. Empty for none."""
    wanted = name.casefold()
    group = next((group for group in _SAME_SECTION if wanted in group), {wanted})
    names = [frozenset(terms(each)) for each in sorted(group, key=lambda each: each != wanted)]
    heads = [part for part in paper.parts if part.kind == "heading"]
    for one in names:
        fitting = [head for head in heads if one and one <= _words(head)]
        if fitting:
            return _below(paper, min(fitting, key=lambda head: (head.level, len(_words(head)))))
    return ()


def _words(head: Part) -> set[str]:
    return set(terms(joined_lines(head.text)))


def abstract_of(paper: PaperText) -> tuple[Part, ...]:
    """The abstract, its heading first where it has one; empty where it is not known."""
    found = [part for part in paper.parts if part.kind == "abstract"]
    if not found:
        return named_section(paper, "abstract")
    before: Sequence[Part] = [part for part in paper.parts if part.index < found[0].index and part.kind == "heading"]
    if before and "abstract" in before[-1].text.casefold():
        return (before[-1], *found)
    titles = [part for part in paper.parts if part.kind == "title"][:1]
    return (*titles, *found)


def _below(paper: PaperText, heading: Part) -> tuple[Part, ...]:
    """A heading and what follows up to the next one that is not deeper."""
    section = [heading]
    for part in paper.parts:
        if part.index <= heading.index:
            continue
        if part.kind == "heading" and part.level <= heading.level:
            break
        section.append(part)
    return tuple(section)
