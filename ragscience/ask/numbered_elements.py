"""The tables, figures, equations and sections of a paper by their numbers, and sections by their names."""

import re
from collections.abc import Iterator
from itertools import takewhile

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
_MENTIONS = {
    kind: re.compile(
        rf"(?<!\w)(?:{words})\s?\(?((?:{_NUMBER})(?:\)?(?:, and |, | and |–|-|/)\(?(?:{_NUMBER})){{0,4}})", re.I
    )
    for kind, words in KINDS.items()
}
_ONE_NUMBER = re.compile(_NUMBER, re.I)
_CAPTIONS = {
    kind: re.compile(
        rf"^\W{{0,3}}(?:supplementary |extended data )?(?:{KINDS[kind]})\s{{0,3}}((?>{_NUMBER}))"
        r"(?!\s(?!and\b|or\b|of\b)(?-i:[a-z]))",
        re.I,
    )
    for kind in ("table", "figure", "algorithm")
}
"""A caption; a sentence that begins with the number of a table goes on in small letters."""
_PLACES = {
    "equation": ("equation", re.compile(r"(?:^|\s)\(((?:[A-Z]\.?)?\d{1,3}(?:\.\d{1,2})?[a-z]?)\)(?=$|\s)")),
    "section": (
        "heading",
        re.compile(
            r"^\s*(?:section |appendix |chapter )?"
            r"((?:[A-Z]\.?)?\d{1,2}(?:\.\d{1,2}){0,3}|[A-Z](?=[.\s:]|$)|[IVX]{1,5}(?=[.\s]|$))\.?(?=\s|$)",
            re.I,
        ),
    ),
    **{kind: ("caption", pattern) for kind, pattern in _CAPTIONS.items()},
}
"""The kind of the element that has the number, and how the number stands in it."""
_ROMAN = {"i": 1, "v": 5, "x": 10}


def is_number(name: str) -> bool:
    """Whether an element is named by its number: "3.1", "IV", "A"."""
    return len(name) == 1 or _ONE_NUMBER.fullmatch(name) is not None


def numbers_in(text: str, kind: str) -> Iterator[tuple[int, int, list[str]]]:
    """(start, end, numbers) of each mention of elements of a kind: "Tables 2 and 3" has two."""
    for match in _MENTIONS[kind].finditer(text):
        yield match.start(), match.end(), _ONE_NUMBER.findall(match.group(1))


def numbered(paper: PaperText, kind: str) -> list[tuple[str, Part]]:
    """(number, caption, equation or heading) of the elements of a kind, in order; a number may come twice."""
    place, pattern = _PLACES[kind]
    return [(found[1], part) for part in paper.parts if part.kind == place for found in pattern.finditer(part.text)]


def of_number(paper: PaperText, kind: str, number: str) -> list[Part]:
    """The captions, equations or headings with that number: "IV" is "4", "A.2" is "a2"."""
    return [part for one, part in numbered(paper, kind) if _plain(one) == _plain(number)]


def _plain(number: str) -> str:
    lower = number.casefold()
    if lower.strip("ivx"):
        return re.sub(r"^([a-z])\.(?=\d)", r"\1", lower)
    values = [_ROMAN[letter] for letter in lower]
    return str(sum(-v if v < max(values[n:]) else v for n, v in enumerate(values)))


def mentioning(paper: PaperText, kind: str, number: str) -> list[PaperSentence]:
    """The sentences that mention an element."""
    return [
        sentence
        for sentence in paper.sentences
        if any(_plain(number) == _plain(one) for _, _, held in numbers_in(sentence.text, kind) for one in held)
    ]


def tables_at(paper: PaperText, caption: Part) -> tuple[Part, ...]:
    """The tables that a caption is of: those behind it, also on the next page if as wide, else the one before it."""
    here = paper.parts.index(caption)
    run = list(takewhile(lambda part: part.kind == "table", paper.parts[here + 1 :]))
    bars = [part.text.partition("\n")[0].count("|") for part in run]
    own = [part for part, width in zip(run, bars, strict=True) if part.page == run[0].page or width == bars[0]]
    before = paper.parts[max(0, here - 2) : here]
    is_above = [part.kind for part in before[-1:]] == ["table"] and before[0].kind != "caption"
    return tuple(own) or (before[-1:] if is_above else ())


def section(paper: PaperText, name: str) -> tuple[Part, ...]:
    """The section of that number or name, with its heading; empty for none."""
    if is_number(name):
        heads = of_number(paper, "section", name)
        return _below(paper, heads[0]) if heads else ()
    wanted = name.casefold()
    if wanted == "abstract" and (found := [part for part in paper.parts if part.kind == "abstract"]):
        return tuple(found)
    words = set(terms(wanted))
    words_of = {part: set(terms(joined_lines(part.text))) for part in paper.parts if part.kind == "heading"}
    fitting = [head for head in words_of if words and words <= words_of[head]]
    best = min(fitting, key=lambda head: (head.level, len(words_of[head])), default=None)
    return _below(paper, best) if best else ()


def _below(paper: PaperText, heading: Part) -> tuple[Part, ...]:
    """A heading and what follows up to the next one that is not deeper."""
    after = paper.parts[paper.parts.index(heading) + 1 :]
    return (heading, *takewhile(lambda part: part.kind != "heading" or part.level > heading.level, after))
