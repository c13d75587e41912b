"""The tables, figures, equations and sections of a paper by their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragscience.ask.paper_text import PaperSentence, PaperText, Part
from ragscience.core.tokenizing import joined_lines, terms

KINDS = {
    "table": r"tables?|tab\.",
    "figure": r"figures?|figs?\b\.?",
    "algorithm": r"algorithms?|alg\.|listings?",
    "equation": r"equations?|eqns?\b\.?|eqs?\b\.?|formulas?",
    "section": r"sections?|secs?\.|§{1,2}|appendix|appendices|chapters?",
}
"""How each kind of element is written."""
_NUMBER = r"(?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2}){0,3}[a-z]?(?![\w%])|[IVX]{1,5}(?!\w)"
_CAPTIONS = {
    kind: re.compile(rf"\W{{0,3}}(?:supplementary |extended data )?(?:{KINDS[kind]})\s{{0,3}}({_NUMBER})", re.I)
    for kind in ("table", "figure", "algorithm")
}
_MENTIONS = {
    kind: re.compile(
        rf"(?<!\w)(?:{words})\s?\(?((?:{_NUMBER})(?:\)?(?:, and |, | and |–|-|/)\(?(?:{_NUMBER})){{0,4}})", re.I
    )
    for kind, words in KINDS.items()
}
_ONE_NUMBER = re.compile(_NUMBER, re.I)
_GOES_ON = re.compile(r"\s(?!and\b|or\b|of\b)[a-z]")
"""Behind the number of a sentence that begins with it, not of a caption."""
_EQUATION_NUMBER = re.compile(r"(?:^|\s)\(((?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2})?[a-z]?)\)(?=$|\s)")
_ROMAN = {"i": 1, "v": 5, "x": 10}


def numbers_in(text: str, kind: str) -> Iterator[tuple[int, int, list[str]]]:
    """(start, end, numbers) of each mention of elements of a kind: "Tables 2 and 3" has two."""
    for match in _MENTIONS[kind].finditer(text):
        yield match.start(), match.end(), _ONE_NUMBER.findall(match.group(1))


def same_number(one: str, other: str) -> bool:
    """Whether two numbers mean the same: "IV" and "4", "A.2" and "a2"."""
    return _plain(one) == _plain(other)


def _plain(number: str) -> str:
    lower = number.casefold()
    if lower.strip("ivx"):
        return re.sub(r"^([a-z])\.(?=\d)", r"\1", lower)
    values = [_ROMAN[letter] for letter in lower]
    return str(sum(-v if v < max(values[n:]) else v for n, v in enumerate(values)))


def captions(paper: PaperText, kind: str) -> list[tuple[str, Part]]:
    """(number, caption) of the tables, figures or algorithms of a paper, in its order; a number may come twice."""
    found = []
    for part in paper.parts:
        match = _CAPTIONS[kind].match(part.text) if part.kind == "caption" else None
        if match and not _GOES_ON.match(part.text, match.end()):
            found.append((match.group(1), part))
    return found


def tables_at(paper: PaperText, caption: Part) -> tuple[Part, ...]:
    """The tables that a caption is of: those next to it, and their rest on the next page; empty where none is known."""
    places = {part.index: n for n, part in enumerate(paper.parts)}
    here = places[caption.index]
    after = _tables_from(paper.parts, here + 1)
    if after:
        return after
    if here and paper.parts[here - 1].kind == "table":
        above = here - 1
        owner = paper.parts[above - 1] if above else None
        is_free = owner is None or not (owner.kind == "caption" and _CAPTIONS["table"].match(owner.text))
        return (paper.parts[above],) if is_free else ()
    return ()


def _tables_from(parts: Sequence[Part], first: int) -> tuple[Part, ...]:
    """The run of tables that begins with element `first`; one on another page belongs to it if it is as wide."""
    run: list[Part] = []
    for part in parts[first:]:
        if part.kind != "table" or (run and part.page != run[-1].page and _width(part) != _width(run[-1])):
            break
        run.append(part)
    return tuple(run)


def _width(table: Part) -> int:
    return table.text.partition("\n")[0].count("|")


def equations(paper: PaperText) -> list[tuple[str, Part]]:
    """(number, equation) of the numbered equations, in order; an element with several comes once for each."""
    return [
        (number, part)
        for part in paper.parts
        if part.kind == "equation"
        for number in _EQUATION_NUMBER.findall(part.text)
    ]


def mentioning(paper: PaperText, kind: str, number: str) -> list[PaperSentence]:
    """The sentences that mention an element."""
    return [
        sentence
        for sentence in paper.sentences
        if any(same_number(number, one) for _, _, held in numbers_in(sentence.text, kind) for one in held)
    ]


def known_numbers(numbers: Sequence[str]) -> str:
    """The numbers in words: "1 to 8", "1, 2 and A.1"; each once."""
    once = list(dict.fromkeys(numbers))
    if len(once) > 2 and once == [str(n) for n in range(1, len(once) + 1)]:
        return f"1 to {len(once)}"
    return " and ".join(filter(None, (", ".join(once[:-1]), *once[-1:])))


_SECTION_NUMBER = re.compile(
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
    numbered = [(_SECTION_NUMBER.match(part.text + " "), part) for part in paper.parts if part.kind == "heading"]
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
