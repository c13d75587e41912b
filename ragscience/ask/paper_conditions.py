"""Questions for papers by year, author and venue: "which papers by Hinton from before 2017"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragscience.core.records import Paper
from ragscience.core.tokenizing import counted
from ragscience.library.filter_selection import plain_name

__all__ = ["Asked", "Conditions", "asked_for", "fitting", "has_author", "unknown", "venue_words", "year_of"]

_Y = r"(?:19|20)\d\d"
_HEAD = re.compile(
    r"(?P<ask>how many|which|what|who|list|show|name|find|display|enumerate|are there|is there|do i have|have i|"
    r"do we have|"
    r"does (?:my|the|this) library have|what(?: is| are|['’]s)|which(?: is| are))?"
    r"(?: me| of| all| any| the| my| our| these| those| your| other| a| an| in| i| got| have| every)*? ?"
    r"(?P<order>(?:\d{1,2} |one |two |three |five |ten )?(?:newest|latest|most recent(?:ly (?:published|added))?|"
    r"oldest|"
    r"earliest|longest|shortest))?"
    rf" ?(?P<year>{_Y})? ?"
    r"(?P<noun>papers?|articles?|documents?|publications?|pdfs?|preprints?|works|studies)\b ?",
    re.IGNORECASE,
)
_FILL = re.compile(
    r"(?:in|of|from|on) (?:my|the|this|our|your) (?:library|collection|home|folder|papers?)\b|"
    r"(?:are|were|is|was|do|have|has|had|i|we|you|there|that|which|got|been|also|and|one|ones|here|came out|come out|"
    r"came|come|out|appeared|published|written|released|the|of them|it|contain|contained|stored|available|"
    r"in total|total|altogether|all|any|library|my library|the library|have the|has the)\b",
    re.IGNORECASE,
)
_YEARS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], tuple[int, int]]], ...] = (
    (
        re.compile(rf"(?:between|from|in|of) (?P<a>{_Y}) ?(?:and|to|until|till|through|[-–—]) ?(?P<b>{_Y})\b", re.I),
        lambda m: (min(int(m["a"]), int(m["b"])), max(int(m["a"]), int(m["b"]))),
    ),
    (
        re.compile(
            rf"(?:from )?(?:before|prior to|older than|"
            rf"earlier than) (?P<a>{_Y})\b",
            re.I,
        ),
        lambda m: (0, int(m["a"]) - 1),
    ),
    (re.compile(rf"(?:from )?(?:until|till|up to|by|not after) (?P<a>{_Y})\b", re.I), lambda m: (0, int(m["a"]))),
    (
        re.compile(rf"(?:from )?(?:after|newer than|later than|more recent than|younger than) (?P<a>{_Y})\b", re.I),
        lambda m: (int(m["a"]) + 1, 9999),
    ),
    (
        re.compile(
            rf"(?:from )?(?:since (?P<a>{_Y})|from (?P<b>{_Y}) (?:on|onwards?|or later)|"
            rf"(?P<c>{_Y}) or later)\b",
            re.I,
        ),
        lambda m: (int(m["a"] or m["b"] or m["c"]), 9999),
    ),
    (
        re.compile(rf"(?:(?:from|in|of|dated|year|the year) )*(?P<a>{_Y})\b", re.I),
        lambda m: (int(m["a"]), int(m["a"])),
    ),
)
_TO_NEXT = (
    r"(?=,| and\b| or\b| that\b| which\b| from\b| before\b| after\b| since\b| in\b| at\b| between\b|"
    r" published\b| come\b| came\b| were\b| was\b| is\b| are\b| until\b| who\b| with\b| use\b| mention\b|$)"
)
_NAME = r"(?P<name>[^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,4}?)"
_BY = re.compile(rf"(?:(?:co-?)?(?:written|authored|published) )?by {_NAME}(?: et al\.?)?{_TO_NEXT}", re.I)
_FROM = re.compile(rf"(?:from|of) (?!{_Y}){_NAME}{_TO_NEXT}", re.I)
_DID = re.compile(
    rf"(?:did|has|have|does|is|was|were) (?:the author )?{_NAME} (?:(?:co-?)?(?:write|written|author(?:ed)?|"
    rf"publish(?:ed)?)|"
    r"(?:an? |the )?(?:co-?)?author of)\b(?: on)?",
    re.I,
)
_VENUE = re.compile(
    r"(?P<sure>(?:published|presented|appeared|accepted|that appeared) )?(?:in|at|from) (?:the |a )?"
    r"(?P<name>[^\W\d_][\w&'’.-]*(?: (?!and\b|or\b|from\b|before\b|after\b|since\b|between\b|in\b|by\b|"
    r"that\b)[\w&'’.-]+){0,7})",
    re.I,
)
_SORT = re.compile(
    r"(?:sorted |ordered |grouped )?by (?P<key>year|date|name|title|file(?: name)?|length|pages)\b", re.I
)
_MOST = re.compile(r"(?:with|has|have|is) (?:the )?(?P<what>most|fewest) (?P<of>pages|authors)", re.I)
_IS = re.compile(
    r"(?:the )?(?P<order>newest|latest|most recent(?:ly (?:published|added))?|oldest|earliest|longest|shortest)\b", re.I
)
_VENUE_FIRST = re.compile(
    r"(?P<ask>how many|which|what|list|show|find)?(?: of| all| any| the| my| me)* ?(?P<name>[A-Z][\w&-]*) "
    r"(?=(?:papers?|articles?)\b)"
)
_NUMBERS = {"one": 1, "two": 2, "three": 3, "five": 5, "ten": 10}
_SMALL = frozenset({"of", "on", "in", "and", "the", "for", "a", "an", "to"})
_RENAMED = {"nips": "neurips"}
"""A conference that changed its acronym."""
_FILE_YEAR = re.compile(rf"(?<!\d)({_Y})(?!\d)")
_FILE_ARXIV = re.compile(r"(?<!\d)(\d\d)(?:0[1-9]|1[0-2])\.\d{4,5}(?!\d)")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the papers must be; nothing is required of an empty field."""

    years: tuple[int, int] | None = None
    """First and last, inclusive."""
    authors: tuple[str, ...] = ()
    """Parts of names; the paper has an author of each."""
    venue: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question for papers."""

    counts: bool
    """Whether it asks how many."""
    conditions: Conditions
    order: str
    """ "newest", "oldest", "longest", "shortest", "added", "most authors"; "name" or "" where none is asked for."""
    most: int
    """How many of the order are asked for; 0: all."""
    rest: str
    """What of the question is behind the conditions."""
    is_about_library: bool
    """Whether the question says that it means the papers that there are."""


def asked_for(question: str, papers: Callable[[], Sequence[Paper]]) -> Asked | None:
    """The papers that a question (as `bare` gives it) asks for; None for one that does not begin so.

    `papers` gives those of the library, whose authors and venues decide which words are one.
    """
    head = _HEAD.match(question)
    conditions, venue = Conditions(), ""
    if head is None:
        first = _VENUE_FIRST.match(question)
        if first is None or not _of_venue(papers(), first["name"]):
            return None
        venue = first["name"]
        head = _HEAD.match(f"{first['ask'] or 'which'} {question[first.end() :]}")
        if head is None:
            return None
    text = head.string[head.end() :].strip()
    ask, noun = (head["ask"] or "").casefold(), head["noun"].casefold()
    if not ask and not text and not head["order"]:
        return None  # "papers" alone
    order, most = _order(head["order"] or "", singular=not noun.endswith("s"))
    conditions = replace(conditions, venue=venue)
    if head["year"]:
        conditions = replace(conditions, years=(int(head["year"]),) * 2)
    says_library = bool(re.search(r"\b(?:my|library|collection|do i have|have i)\b", question, re.IGNORECASE))
    while text:
        conditions, order, most, left = _next(text, conditions, (order, most), papers)
        if left == text:
            break
        text = left.lstrip(" ,")
    return Asked(ask == "how many", conditions, order, most, text, says_library)


def _next(
    text: str, known: Conditions, order: tuple[str, int], papers: Callable[[], Sequence[Paper]]
) -> tuple[Conditions, str, int, str]:
    """The conditions with the one that the text begins with, and what is left of it."""
    for pattern, span in _YEARS:
        if (found := pattern.match(text)) is not None:
            return replace(known, years=span(found)), *order, text[found.end() :]
    if (found := _SORT.match(text)) is not None:
        key = {"year": "newest", "date": "newest", "length": "longest", "pages": "longest"}
        return known, key.get(found["key"].casefold(), "name"), 0, text[found.end() :]
    if (found := _MOST.match(text)) is not None:
        if found["of"].casefold() == "authors":
            return known, "most authors", 1, text[found.end() :]
        return known, "longest" if found["what"].casefold() == "most" else "shortest", 1, text[found.end() :]
    for pattern in (_DID, _BY, _FROM):
        found = pattern.match(text)
        if found is None:
            continue
        is_known = any(has_author(paper, found["name"]) for paper in papers())
        if is_known or (pattern is not _FROM and found["name"][:1].isupper()):
            return replace(known, authors=(*known.authors, found["name"])), *order, text[found.end() :]
    if (found := _IS.match(text)) is not None:
        return known, *_order(found["order"], singular=True), text[found.end() :]
    if (found := _VENUE.match(text)) is not None and (of := _venue_named(found, papers())):
        return replace(known, venue=of), *order, text[found.end("name") :][len("") :]
    found = _FILL.match(text)
    return (known, *order, text[found.end() :]) if found else (known, *order, text)


def _venue_named(found: re.Match[str], papers: Sequence[Paper]) -> str:
    """The words of a match that are a venue of some paper, or that the question calls one; else none."""
    name = found["name"]
    if re.match(r"(?:my|the|this|our|your)?\s*(?:library|collection|order|total)\b", name, re.IGNORECASE):
        return ""
    return name if _of_venue(papers, name) or (found["sure"] and name[:1].isupper()) else ""


def _order(text: str, *, singular: bool) -> tuple[str, int]:
    words = text.casefold().split()
    if not words:
        return "", 0
    most = _NUMBERS.get(words[0], int(words[0]) if words[0].isdigit() else 1 if singular else 0)
    last = " ".join(words)
    for word, order in (("added", "added"), ("longest", "longest"), ("shortest", "shortest")):
        if word in last:
            return order, most
    return ("oldest" if "oldest" in last or "earliest" in last else "newest"), most


def has_author(paper: Paper, name: str) -> bool:
    """Whether the paper has an author of that name, case, accents and dots aside; a first name may be short for his.

    "Hinton", "G. Hinton" and "Geoff Hinton" are Geoffrey Hinton.
    """
    wanted = plain_name(name).replace(".", " ").split()
    authors = [plain_name(author).replace(".", " ").split() for author in paper.metadata.authors]
    return bool(wanted) and any(
        wanted[-1] in author and all(any(_is_short(word, own) for own in author) for word in wanted[:-1])
        for author in authors
    )


def _is_short(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def year_of(paper: Paper) -> tuple[int | None, bool]:
    """(the paper's year, whether it is known only by the arXiv id or the file's name); None where nothing says it."""
    if paper.metadata.year:
        return paper.metadata.year, False
    stem = Path(paper.file).stem
    arxiv = _FILE_ARXIV.search(paper.metadata.arxiv_id or stem)
    if arxiv:
        return 2000 + int(arxiv[1]), True
    plain = _FILE_YEAR.search(stem)
    return (int(plain[1]), True) if plain else (None, True)


def venue_words(text: str) -> set[str]:
    """The words of a venue's name and its initials: of "International Conference on Machine Learning" also "icml"."""
    words = re.findall(r"[^\W\d_]++", plain_name(text))
    telling = [word for word in words if word not in _SMALL]
    initials = "".join(word[0] for word in telling)
    found = {*telling, *((initials,) if len(initials) > 2 else ())}
    return found | {_RENAMED[word] for word in found if word in _RENAMED}


def _of_venue(papers: Sequence[Paper], name: str) -> list[Paper]:
    wanted = {_RENAMED.get(word, word) for word in re.findall(r"[^\W\d_]++", plain_name(name))} - _SMALL
    wanted -= {"conference", "journal", "proceedings", "workshop"}
    if not wanted:
        return []
    found = [paper for paper in papers if wanted <= venue_words(paper.metadata.venue)]
    if len(wanted) == 1 and name.isupper():
        (acronym,) = wanted
        letters = [set(re.findall(r"[a-z]+", Path(paper.file).stem.casefold())) for paper in papers]
        found += [p for p, words in zip(papers, letters, strict=True) if acronym in words and not p.metadata.venue]
    return found


def fitting(papers: Sequence[Paper], conditions: Conditions) -> list[Paper]:
    """The papers that meet the conditions, those whose year or venue only the file's name says among them."""
    found = list(papers)
    if conditions.years:
        first, last = conditions.years
        found = [paper for paper in found if first <= (year_of(paper)[0] or first - 1) <= last]
    for name in conditions.authors:
        found = [paper for paper in found if has_author(paper, name)]
    if conditions.venue:
        venue = {paper.paper_id for paper in _of_venue(found, conditions.venue)}
        found = [paper for paper in found if paper.paper_id in venue]
    return found


def unknown(papers: Sequence[Paper], conditions: Conditions) -> list[str]:
    """What is not known of some of the papers, though the conditions ask for it: a sentence each."""
    fields: tuple[tuple[Literal["year", "authors", "venue"], bool], ...] = (
        ("year", conditions.years is not None),
        ("authors", bool(conditions.authors)),
        ("venue", bool(conditions.venue)),
    )
    found = []
    for name, is_asked in fields:
        number = sum(
            (year_of(paper)[0] is None) if name == "year" else not getattr(paper.metadata, name) for paper in papers
        )
        if is_asked and number:
            papers_word = counted(number, "paper")
            found.append(f"The {name} of {papers_word} {'are' if name == 'authors' else 'is'} not known.")
    return found
