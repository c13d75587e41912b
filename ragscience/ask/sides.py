"""A question about two papers or more, taken apart: what it asks of each is looked for in that paper alone."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, zip_longest

from ragscience.core.records import Found, Hit, QuestionPart
from ragscience.core.tokenizing import terms
from ragscience.search.named_papers import asked_about
from ragscience.search.names import LEAST_SURE, NOUN, MentionedPaper, PaperNames

MOST_SIDES = 4
FEWEST_TERMS = 2
"""Content words that a clause must have besides names; one with fewer leaves out what the clause before it said."""
_CLAUSE = re.compile(
    r"[?;] |[.!] (?=(?-i:[A-Z]))|,? (?:and|but|or|while|whereas) "
    r"(?=(?:(?:in|at|on|of|for|from|by|(?:up )?to) )?(?:what|which|who|whose|how)\b"
    r"|(?:why|when|where|does|do|did|is|are|was|were)\b)",
    re.IGNORECASE,
)
_ASKING = frozenset("what which who whose how why when where does do did is are was were".split())  # noqa: SIM905
"""One of these is the first or the second word of a question: "in which"."""
_VERSUS = re.compile(r",? (?:versus|vs\.?|against|(?:as |when )?compared (?:to|with)) ", re.IGNORECASE)
_AGAINST = frozenset("vs versus than against while whereas but compared opposed".split())  # noqa: SIM905
_LISTED = re.compile(r", (?:and )?| and | or ", re.IGNORECASE)
_PREPOSITION = re.compile(r"^(?:of|in|on|for|with|by|at|from) ", re.IGNORECASE)
_IS_NAMED = re.compile(rf"[A-Z\d]|\b{NOUN}\b")
"""A thing that may be a paper's: with a capital or a digit, or called a paper."""
_AND = re.compile(r",? and ", re.IGNORECASE)
_JOINS = re.compile(
    r"\b(?:versus|vs(?!\.)|than|against|while|whereas|but|from|as opposed to|compared (?:to|with)|with that|and)\b|"
    r"\b(?:n?or|to)\b|\bvs\.|[,;:?/]|[.!] (?=[A-Z])",
    re.IGNORECASE,
)
"""What stands between two papers that are asked about alike."""
_BREAK = re.compile(r"[,:;]|\b(?:of|in|on|for|with|by|at|from|between)\b", re.IGNORECASE)
_COMPARING = re.compile(
    r"^compare\b|\b(?:both|each|respectively)\b|"
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
    found = tuple(SubQuery(f"{clause[:1].upper()}{clause[1:]}") for clause in _clauses(question))
    return sides(question, names) or (found if len(found) > 1 else ())


def _clauses(question: str) -> list[str]:
    clauses = (clause.strip(" ?.!,") for clause in _CLAUSE.split(" ".join(question.split())))
    return [clause for clause in clauses if len(set(terms(clause))) >= FEWEST_TERMS][:MOST_SIDES]


def sides(question: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """The question as it is asked of each paper that it surely names, in its order; none where there are not two.

    Each has what stands before and behind all names, and what stands with its own.
    """
    if names is None:
        return ()
    question = " ".join(question.split()).rstrip(" ?.,!")
    by_paper = {
        each[0].file: each for each in asked_about(question, names) if max(one.strength for one in each) >= LEAST_SURE
    }
    named, joints = _joined(question, by_paper)
    if len(named) < 2:
        return ()
    spans = [(one.start, _end_of_word(question, one.end)) for one in named]
    asked = [" ".join(_COMPARING.sub(" ", text).split()).strip(" ,") for text in _of_each(question, spans, joints)]
    return tuple(
        SubQuery(f"{text[:1].upper()}{text[1:]}?", (one.file,)) for one, text in zip(named, asked, strict=True)
    )


def _of_each(question: str, named: Sequence[tuple[int, int]], joints: Sequence[tuple[int, int]]) -> list[str]:
    """The question of each name: `joints` are where the words between two names stand that join them.

    What stands behind the last name is asked of all where nothing stands behind the others: "BERT and GPT-2 were
    trained on". What stands with a later name is asked behind the first words, or alone where it is a question of its
    own; where it says nothing new, the first name's question is asked of it.
    """
    ends = [*(start for start, _ in joints), len(question)]
    begins = [0, *(end for _, end in joints)]
    (start, end), (last, last_end) = named[0], named[-1]
    behind = [question[b:e].strip(" ,") for (_, b), e in zip(named[:-1], ends[:-1], strict=True)]
    before, tail = question[ends[-2] : last], question[last_end:]
    is_alike = all(tail.lstrip().startswith(each) for each in behind)
    if is_alike and not (terms(before) or _BREAK.search(before.lstrip(" ,")) or _AGAINST & _words(before)):
        tail = tail.lstrip().removeprefix(behind[0])
    else:
        tail = ""
    first, head = question[: ends[0]], _shared_head(question[:start])[0].split()
    asked = [f"{first} {tail}"]
    for (a, b), begin, stop in zip(named[1:], begins[1:], ends[1:], strict=True):
        own = question[begin:stop]
        new = {*terms(question[begin:a]), *terms("" if tail else question[b:stop])} - {*terms(first)}
        is_whole = bool(_ASKING & _words(own, 2))
        if is_whole and len(new) >= FEWEST_TERMS:
            asked.append(own)
        elif new and not is_whole:
            words = own.split()
            same = next((count for count in (3, 2, 1) if head[-count:] == words[:count]), 0)
            asked.append(" ".join([*head[: len(head) - same], *words]))
        else:
            asked.append(f"{question[:start]}{question[a:b]}{question[end : ends[0]]} {tail}")
    return asked


def _words(text: str, most: int | None = None) -> frozenset[str]:
    """The first words, in lower case and without the marks around them."""
    return frozenset(word.strip(".,") for word in text.casefold().split()[:most])


def _end_of_word(text: str, at: int) -> int:
    """Where a word ends that a name is only the beginning of: "RNNsearch-50"."""
    return next((i for i in range(at, len(text)) if not (text[i].isalnum() or text[i] in "-_")), len(text))


def compared(question: str) -> tuple[tuple[str, str], ...]:
    """(What is asked, the words for what it is asked of) of two things that are set side by side; else nothing.

    "Recall: A versus B", "A and B: which recall?", "the recall of A and of B" where both have a name or are papers, and
    two clauses that are questions of their own.
    """
    question = " ".join(question.split()).rstrip(" ?.,!")
    clauses = _clauses(question)
    if len(clauses) == 2:
        return tuple((f"{clause}?", clause) for clause in clauses)
    head, colon, rest = question.partition(": ")
    for asked, listed in ((head, rest), (rest, head)) if colon else (("", question),):
        things = _VERSUS.split(listed)
        is_apart = len(things) == 2 or asked is head
        things = things if len(things) == 2 else (_LISTED if asked is head else _AND).split(listed)
        if len(things) == 2 and not colon:
            asked, things[0] = _shared_head(things[0])
        things = [_PREPOSITION.sub("", thing.strip()) for thing in things]
        is_apart |= all(map(_IS_NAMED.search, things))
        if len(things) == 2 and is_apart and all(map(terms, (asked, *things))):
            return tuple((f"{asked} {thing}?", thing) for thing in things)
    return ()


def _start(name: MentionedPaper) -> int:
    return name.start


def _joined(
    question: str, by_paper: Mapping[str, Sequence[MentionedPaper]]
) -> tuple[list[MentionedPaper], list[tuple[int, int]]]:
    """(Their first names in their order, the places of the words that join them).

    A paper that nothing joins to the name before is a thing of that other paper: "How much faster is FlashAttention on
    GPT-2?".
    """
    firsts = sorted((min(each, key=_start) for each in by_paper.values()), key=_start)
    named, joints = firsts[:1], list[tuple[int, int]]()
    for before, one in pairwise(firsts):
        found = [joint.span() for joint in _JOINS.finditer(question, before.end, one.start)]
        if found and len(named) < MOST_SIDES:
            named.append(one)
            joints.append(found[-1])
    return named, joints


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
    """Searches as one: `whole` with `hits`, ranked from 1, its `parts`, and what all of them took and warned of."""
    everything, timings = (whole, *others), Counter[str]()
    for each in everything:
        timings.update(each.timings_ms)
    parts = [part for part in parts if part.hits]
    return replace(
        whole,
        hits=tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)),
        parts=tuple(QuestionPart(part.question, part.hits) for part in parts) if len(parts) > 1 else (),
        warnings=tuple(dict.fromkeys(chain.from_iterable(each.warnings for each in everything))),
        timings_ms={name: round(value, 3) for name, value in timings.items()},
        stages=tuple(chain.from_iterable(each.stages for each in everything)),
    )
