"""A question about two papers or more, taken apart: what it asks of each is looked for in that paper alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ragscience.core.tokenizing import terms
from ragscience.search.named_papers import asked_about
from ragscience.search.names import MentionedPaper, PaperNames

SURE = 0.5
"""Strength of a name from which it leads to its paper."""
MOST_SIDES = 4
FEWEST_TERMS = 2
"""Content words that a clause must have besides names; one with fewer leaves out what the clause before it said."""
_CLAUSE = re.compile(
    r"[?;] |(?<!\bal)[.!] (?=[A-Z])|,? (?:and|but|or|while|whereas) (?=(?:(?:in|on|at|for|with|by|from|of|to) )?"
    r"(?:what|which|who|how|why|when|where|does|do|did|is|are|was|were)\b)",
    re.IGNORECASE,
)
_JOINED = (
    r"(?:and|or|nor|versus|vs\.?|than|(?:as )?compared (?:to|with)|(?:different |differs? )?from|as opposed to"
    r"|rather than)"
)
_CUT = re.compile(
    rf"(?:,? |\b)(?:{_JOINED} )?+(?:(?:the|that|those|one|in|of|by|for|on|with|to) ){{0,4}}+\0"
    rf"(?:,? {_JOINED}\b|,(?= \0))?+|\0",
    re.IGNORECASE,
)
_JOINS = re.compile(
    r"[,;:?/]|\b(?:and|or|nor|versus|vs|than|against|while|whereas|but|from|to|with that|as opposed|compared)\b",
    re.IGNORECASE,
)
_REST_OF_WORD = re.compile(r"^[\w-]+")
""" "-50" of "RNNsearch-50"."""
_TOGETHER = re.compile(
    r"\b(?:both|each|respectively|between|compare|compared)\b ?| ?\b(?:and|or|versus|vs\.?|than) ?(?=[?.,]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SubQuery:
    """A search: the question, and the files of the papers to look in; no file means the whole library."""

    text: str
    papers: tuple[str, ...] = ()
    words: str = field(default="", compare=False)
    """What of it is looked for in its paper: the question without the paper's name; empty: all of it."""


def in_its_papers(text: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """A search within each paper that the text surely names; in the whole library where it names none."""
    if names is None:
        return (SubQuery(text),)
    named = dict.fromkeys(one.file for one in names.in_text(text) if one.strength >= SURE)
    return sides(text, names) or tuple(SubQuery(text, (file,)) for file in named) or (SubQuery(text),)


def parts_of(question: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """The sides of a question; without any, a search for each of its clauses, where it has two or more."""
    question = " ".join(question.split())
    clauses = [question[start:end].strip(" ?.!,") for start, end in _clauses(question)]
    whole = [clause for clause in clauses if len(set(terms(clause))) >= FEWEST_TERMS]
    found = tuple(SubQuery(f"{clause[:1].upper()}{clause[1:]}") for clause in whole[:MOST_SIDES])
    return sides(question, names) or (found if len(found) > 1 else ())


def sides(question: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """A search within each paper that the question surely names, in its order; none where there are not two.

    A clause about one paper is for that paper alone; one without a paper is for the paper before it; one about several
    is for each of them, without the names of the others.
    """
    if names is None:
        return ()
    question = " ".join(question.split())
    by_paper = {
        each[0].file: each for each in asked_about(question, names) if max(one.strength for one in each) >= SURE
    }
    ordered = _joined(question, by_paper)[:MOST_SIDES]
    if len(ordered) < 2:
        return ()
    by_paper = {file: by_paper[file] for file in ordered}
    spans = _clauses(question)
    texts: dict[str, list[str]] = {file: [] for file in ordered}
    words: dict[str, list[str]] = {file: [] for file in ordered}
    current, said = ordered, ""
    for start, end in spans:
        here = [file for file in ordered if any(start <= one.start < end for one in by_paper[file])]
        current = here or current
        unnamed = _without(question, start, end, [one for each in by_paper.values() for one in each])
        for file in current:
            others = [one for other in ordered if other != file for one in by_paper[other]]
            text = _without(question, start, end, others)
            elliptic = said and len(set(terms(unnamed))) < FEWEST_TERMS
            texts[file].append(f"{said}: {text}" if elliptic else text)
            words[file].append(f"{said} {unnamed}" if elliptic else unnamed)
        said = unnamed if len(set(terms(unnamed))) >= FEWEST_TERMS else said
    return tuple(
        SubQuery(f"{' '.join(texts[file]).rstrip(' ?.,')}?", (file,), " ".join(words[file]))
        for file in ordered
        if texts[file]
    )


def _joined(question: str, by_paper: Mapping[str, Sequence[MentionedPaper]]) -> list[str]:
    """The papers in the order of their names, without those that nothing joins to the name before.

    They are things of that other paper: "How much faster is FlashAttention on GPT-2?".
    """
    firsts = sorted((min(each, key=lambda one: one.start) for each in by_paper.values()), key=lambda one: one.start)
    ordered = [firsts[0].file] if firsts else []
    for before, one in pairwise(firsts):
        if _JOINS.search(question[before.end : one.start]):
            ordered.append(one.file)
    return ordered


def _clauses(question: str) -> list[tuple[int, int]]:
    starts = [0, *(found.end() for found in _CLAUSE.finditer(question))]
    ends = [*(found.start() for found in _CLAUSE.finditer(question)), len(question)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if question[start:end].strip()]


def _without(question: str, start: int, end: int, names: Sequence[MentionedPaper]) -> str:
    """A clause without these names and the words that join them to the rest."""
    text = question
    for one in sorted(names, key=lambda one: -one.start):
        if start <= one.start and one.end <= end:
            rest = _REST_OF_WORD.sub("", text[one.end : end])
            text, end = f"{text[: one.start]}\0{rest}{text[end:]}", one.start + 1 + len(rest)
    return " ".join(_TOGETHER.sub(" ", _CUT.sub(" ", text[start:end])).split())
