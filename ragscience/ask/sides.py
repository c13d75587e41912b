"""A question about two papers or more, taken apart: what it asks of each is looked for in that paper alone."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, zip_longest

from ragscience.core.records import Found, Hit, QuestionPart
from ragscience.core.tokenizing import terms
from ragscience.search.named_papers import asked_about
from ragscience.search.names import LEAST_SURE, MentionedPaper, PaperNames

MOST_SIDES = 4
FEWEST_TERMS = 2
"""Content words that a clause must have besides names; one with fewer leaves out what the clause before it said."""
_CLAUSE = re.compile(
    r"[?;] |[.!] (?=[A-Z])|,? (?:and|but|or|while|whereas) "
    r"(?=(?:what|which|who|whose|how|why|when|where|does|do|did|is|are|was|were)\b)",
    re.IGNORECASE,
)
_VERSUS = re.compile(r",? (?:versus|vs\.?|against|(?:as |when )?compared (?:to|with)) ", re.IGNORECASE)
_LISTED = re.compile(r", (?:and )?| and | or ", re.IGNORECASE)
_JOINS = re.compile(
    r"\b(?:versus|vs|than|against|while|whereas|but|from|as opposed to|compared (?:to|with)|with that|and|n?or|to)\b|"
    r"[,;:?/]|[.!] (?=[A-Z])",
    re.IGNORECASE,
)
"""What stands between two papers that are asked about alike."""
_BREAK = re.compile(r"[,:;]|\b(?:of|in|on|for|with|by|at|from|between)\b", re.IGNORECASE)
_COMPARING = re.compile(
    r"^compare\b|\b(?:both|each|respectively|versus|vs\b\.?|than|against|and|or|compared (?:to|with))\b|"
    r"^how (?:do|does|did) (?=.{1,200} (?:differ|compare)\b)|"
    r"\b(?:differ|compare)s?\b(?: in)?|\b(?:what (?:is|are) )?the differences? (?:between|in|of)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SubQuery:
    """A search: the question, and the files of the papers to look in; no file means the whole library."""

    text: str
    papers: tuple[str, ...] = ()


def in_its_papers(text: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """A search within each paper that the text surely names; in the whole library where it names none."""
    if names is None:
        return (SubQuery(text),)
    named = dict.fromkeys(one.file for one in names.in_text(text) if one.strength >= LEAST_SURE)
    return sides(text, names) or tuple(SubQuery(text, (file,)) for file in named) or (SubQuery(text),)


def parts_of(question: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """The sides of a question; without any, a search for each of its clauses, where it has two or more."""
    clauses = [clause.strip(" ?.!,") for clause in _CLAUSE.split(" ".join(question.split()))]
    whole = [clause for clause in clauses if len(set(terms(clause))) >= FEWEST_TERMS][:MOST_SIDES]
    found = tuple(SubQuery(f"{clause[:1].upper()}{clause[1:]}") for clause in whole)
    return sides(question, names) or (found if len(found) > 1 else ())


def sides(question: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """The question as it is asked of each paper that it surely names, in its order; none where there are not two.

    Each has it without the names of the others, and without the words that compare.
    """
    if names is None:
        return ()
    question = " ".join(question.split()).rstrip(" ?.,!")
    by_paper = {
        each[0].file: each for each in asked_about(question, names) if max(one.strength for one in each) >= LEAST_SURE
    }
    files = _joined(question, by_paper)[:MOST_SIDES]
    if len(files) < 2:
        return ()
    called = {file: {one.name for one in by_paper[file]} for file in files}
    others = ({name for other in files if other != file for name in called[other]} for file in files)
    asked = (_of_one(question, called[file], each) for file, each in zip(files, others, strict=True))
    return tuple(SubQuery(text, (file,)) for text, file in zip(asked, files, strict=True))


def _of_one(question: str, own: Collection[str], others: Collection[str]) -> str:
    """The question without what is asked of others alone, their names, and the words that compare."""
    clauses = _CLAUSE.split(question)
    whole = [each for each in clauses if any(name in each for name in own)]
    if len({*terms(" ".join(whole))} - {*terms(" ".join(own))}) >= FEWEST_TERMS:
        clauses = [each for each in clauses if each in whole or not any(name in each for name in others)]
    text = " ".join(clauses)
    for name in sorted(others, key=len, reverse=True):
        text = text.replace(name, "")
    text = " ".join(_COMPARING.sub(" ", text).split()).rstrip(" ?.,")
    return f"{text[:1].upper()}{text[1:]}?"


def compared(question: str) -> tuple[str, tuple[str, ...]]:
    """(What is asked of both, the words for each) of two things that are set against each other; else ("", ())."""
    question = " ".join(question.split()).rstrip(" ?.,!")
    head, colon, rest = question.partition(": ")
    versus = _VERSUS.split(rest if colon else question)
    things = versus if len(versus) == 2 else _LISTED.split(rest)
    if not colon and len(versus) == 2:
        head, things[0] = _shared_head(versus[0])
    return (head, tuple(things)) if len(things) == 2 and all(map(terms, (head, *things))) else ("", ())


def _start(name: MentionedPaper) -> int:
    return name.start


def _joined(question: str, by_paper: Mapping[str, Sequence[MentionedPaper]]) -> list[str]:
    """The papers in the order of their names, without those that nothing joins to the name before.

    They are things of that other paper: "How much faster is FlashAttention on GPT-2?".
    """
    firsts = sorted((min(each, key=_start) for each in by_paper.values()), key=_start)
    ordered = [firsts[0].file] if firsts else []
    for before, one in pairwise(firsts):
        if _JOINS.search(question[before.end : one.start]):
            ordered.append(one.file)
    return ordered


def _shared_head(head: str) -> tuple[str, str]:
    """(What is asked of all papers, what belongs to the first alone) of the words before its name."""
    end = max((found.end() for found in _BREAK.finditer(head)), default=len(head))
    return (head[:end], head[end:]) if terms(head[:end]) else (head, "")


def in_turn(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The best passage of each list, then the second of each, and so on, every passage once."""
    once: dict[int, Hit] = {}
    for hit in filter(None, chain.from_iterable(zip_longest(*lists))):
        once.setdefault(hit.chunk.chunk_id, hit)
    return list(once.values())


def together(whole: Found, others: Sequence[Found], hits: Sequence[Hit], parts: Sequence[Found] = ()) -> Found:
    """Searches as one: `whole` with `hits`, ranked from 1, and what all of them took and warned of.

    Of two `parts` of its question or more the one that is answered worst says how near the passages come, where that is
    nearer.
    """
    everything, timings = (whole, *others), Counter[str]()
    for each in everything:
        timings.update(each.timings_ms)
    parts = [part for part in parts if part.hits]
    near = [part.signals.get("maxsim", 0.0) for part in parts]
    is_nearer = len(near) > 1 and min(near) > whole.signals.get("maxsim", 1.0)
    return replace(
        whole,
        signals={**whole.signals, "maxsim": min(near)} if is_nearer else whole.signals,
        hits=tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)),
        parts=tuple(QuestionPart(part.question, part.hits) for part in parts) if len(parts) > 1 else (),
        warnings=tuple(dict.fromkeys(chain.from_iterable(each.warnings for each in everything))),
        timings_ms={name: round(value, 3) for name, value in timings.items()},
        stages=tuple(chain.from_iterable(each.stages for each in everything)),
    )
