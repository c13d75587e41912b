"""A question taken apart by its words: clauses, and the things that it sets side by side. It knows no papers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ragscience.ask.paper_mentions import Word, is_name, words
from ragscience.core.tokenizing import terms

__all__ = ["PREPOSITION", "Differs", "cut", "is_elliptic", "side_by_side"]

Differs: TypeAlias = Callable[[str, str], bool]
"""Whether two texts name different things, both of which have a name."""

LEAST_TERMS = 2
"""Least number of content words in a part: "how and why" is one question."""
LONGEST_PHRASE = 5
"""Words of a phrase with a name in it: "the original big Transformer model"."""

_ASKING = r"(?:what|which|who|whom|whose|how|why|when|where)"
PREPOSITION = r"(?:in|on|at|for|with|by|from|of|to|after|before|under)"
_VERB = r"(?:does|do|did|is|are|was|were|can|could|has|have|had|will|would)"
_JOINED = r"(?:and|but|or|while|whereas)"
_BREAK = re.compile(
    rf"[?;]\s+|(?<!\bal)[.!]\s+(?=(?-i:[A-Z]))|,?\s+{_JOINED}\s+(?=(?:{PREPOSITION}\s+)?{_ASKING}\b)"
    rf"|,\s+(?=(?:{PREPOSITION}\s+)?{_ASKING}\b)|,\s+{_JOINED}\s+(?={_VERB}\b)",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(r"(?i:what|who)\s+(?:is|are|was|were)\s+(?:(?:an?|the)\s+)?\w*[A-Z]\w*(?:-\w+)*[\s,]*")
"""A question that asks for a name alone."""
_OPENING = re.compile(rf"^(?:for|in|on|with|according to|given)\b[^,?]*,\s+(?={_ASKING}\b)", re.IGNORECASE)
_TRAILING = re.compile(rf"(?:(?<![\s,;?.])[\s,;?.]++)?+(?:\b{_JOINED})?[\s,;?.]*+$", re.IGNORECASE)
_AGAINST = re.compile(
    r"(?P<cut>)(?:(?<!\s)\s++(?:,\s++)?+|,\s++)"
    r"(?:versus|vs\.?|as opposed to|in contrast (?:to|with)|(?:compared|relative) (?:to|with)|than"
    r"|rather than)\s+",
    re.IGNORECASE,
)
_ONLY_THAN = re.compile(r"^[\s,]*than\b", re.IGNORECASE)
_OF_SOMETHING = re.compile(rf"\b{PREPOSITION}\b", re.IGNORECASE)
"""Behind "than": what the other thing has ("than that of X") is compared; "faster than X" is one question."""
_BEGINS_ANEW = re.compile(
    rf"(?:{PREPOSITION}|{_ASKING}|that|those|the|an?|their|its|both|compare)\b|(?-i:[^\W_a-z])|\w+(?-i:[A-Z\d-])",
    re.IGNORECASE,
)
"""Behind "and" another thing begins, not only another verb."""
_SAME_AS = re.compile(r"\bsame\b(?P<thing>[^,;:?]*?)(?P<cut>)\s+as\s+", re.IGNORECASE)
_AND = re.compile(r"(?P<cut>)(?:(?<!\s)\s++(?:,\s++)?+|,\s++)(?:and|or)\s+", re.IGNORECASE)
_COMPARED_WITH = re.compile(r"^compare\b.*?(?P<cut>)\s+(?:with|to)\s+", re.IGNORECASE)
_DIFFERING = re.compile(r"\b(?:differ|compare)\b.*$", re.IGNORECASE)
_LEFT_OUT = re.compile(
    rf"\bones?(?=\s+{PREPOSITION}\b|\W*$)|\bthat of\b|\bhow many\s+(?:{PREPOSITION}|{_VERB})\b", re.IGNORECASE
)
"""A noun that the clause before has: "which one for X", "and that of Y", "how many with Z"."""
_TOGETHER = re.compile(r"\b(?:both|each|respectively|between|either)\s+", re.IGNORECASE)
_EACH_DOES = re.compile(r"\b(does|did) each\b", re.IGNORECASE)
_COORDINATORS = frozenset({"and", "or", "nor", "versus", "vs", "than"})
_RELATIVE = frozenset({"that", "which", "who"})
_DETERMINERS = frozenset({"the", "a", "an", "their", "its", "both", "either", "neither", "between", "each"})
_PREPOSITIONS = frozenset(PREPOSITION.strip("(?:)").split("|"))
_ENDING = _PREPOSITIONS | frozenset(
    """
    and or nor but versus vs than that which who what how why when where while was were is are do does did has have had
    can could will would use uses used using differ differs compare compared both each take takes took get gets got
    make makes made give gives gave reach reaches report reports as if
    """.split()  # noqa: SIM905  # a list of fifty strings reads worse
)


def cut(question: str, differ: Differs) -> list[str]:
    """The clauses of `question` that ask something each, with what opens it ("For GPT-3, …") before every one.

    It is cut where another question begins, and at "versus", "the same … as" or "and" where `differ` says that there
    is another thing on each side, unless these are items of one list: then `side_by_side` takes it apart.
    """
    opening = _OPENING.match(question)
    context = opening[0] if opening else ""
    text = question[len(context) :]
    starts = [0]
    for found in _BREAK.finditer(text):
        before, behind = text[starts[-1] : found.start()], text[found.end() :]
        is_whole = len(set(terms(before))) >= LEAST_TERMS or _WHAT_IS.fullmatch(before)
        if is_whole and len(set(terms(behind))) >= LEAST_TERMS:
            starts.append(found.end())
    ends = [*starts[1:], len(text)]
    pieces = (_TRAILING.sub("", text[start:end]) for start, end in zip(starts, ends, strict=True))
    return [context + half for piece in pieces for half in _halves(piece, differ)]


def _halves(clause: str, differ: Differs) -> list[str]:
    """Splits a clause about one thing and then another into two; what differs applies to both."""
    if side_by_side(clause):
        return [clause]
    for pattern in (_AGAINST, _SAME_AS, _AND, _COMPARED_WITH):
        for found in pattern.finditer(clause):
            left, right = clause[: found.start("cut")], clause[found.end() :]
            if not (differ(left, right) and terms(left) and terms(right)):
                continue
            if _ONLY_THAN.search(found[0]) and not _OF_SOMETHING.search(right):
                continue
            if pattern is _AND and not _BEGINS_ANEW.match(right):
                continue
            if pattern is _SAME_AS:
                return [left, f"{found['thing'].strip()} {right}"]
            shared = _DIFFERING.search(right)
            return [f"{left} {shared[0]}" if shared else left, right]
    return [clause]


def is_elliptic(clause: str) -> bool:
    """Whether a clause, without the names of papers, leaves out what the one before it has said: "which one for"."""
    return len(set(terms(clause))) < LEAST_TERMS or bool(_LEFT_OUT.search(clause))


def side_by_side(clause: str) -> list[tuple[str, str]]:
    """For each name of the clause's first list of names ("RETRO, GPT-2 and BERT", "in X or in Y"): (clause, name).

    In each clause one name replaces the list, so that the whole question applies to each name. [] without a list;
    words that are not names ("precision and recall") are not a list.
    """
    read = words(clause)
    for index, word in enumerate(read):
        coordinator = word.text.casefold()
        if coordinator not in _COORDINATORS or not 0 < index < len(read) - 1:
            continue
        last = _phrase_behind(read, index + 1, clause)
        first = last and _phrase_before(read, index - 1, clause, with_preposition=_is_preposition(read[last.start]))
        if not first or not last or (coordinator == "than" and not is_name(read[index - 1].bare)):
            continue
        items = [first, last]
        while coordinator == "and" and (before := _listed_before(read, items[0], clause)):
            items.insert(0, before)
        head, tail = clause[: read[items[0].start].start], clause[read[last.stop - 1].end :]
        named = [_TOGETHER.sub("", clause[read[item.start].start : read[item.stop - 1].end]) for item in items]
        each = _EACH_DOES.sub(r"\1 it", _TOGETHER.sub("", head)), _EACH_DOES.sub(r"\1 it", tail)
        return [(_about_one(each[0], item, _TOGETHER.sub("", each[1])), item) for item in named]
    return []


def _about_one(head: str, item: str, tail: str) -> str:
    """The clause with one item; "the A paper and the B paper" has its noun once for each."""
    noun = item.rsplit(" ", 1)[-1]
    if tail.lstrip().startswith(f"{noun} "):
        tail = tail.lstrip()[len(noun) :]
    return " ".join(f"{head}{item}{tail}".split())


def _phrase_behind(read: Sequence[Word], at: int, clause: str) -> range | None:
    """The words of the phrase that begins at `at`, up to the last name in it; None where it has no name."""
    end = at
    for index in range(at, min(at + LONGEST_PHRASE, len(read))):
        if index > at and (_is_broken(read, index, clause) or read[index].text.casefold() in _ENDING):
            break
        if is_name(read[index].bare):
            end = index + 1
    return range(at, end) if end > at else None


def _phrase_before(
    read: Sequence[Word], at: int, clause: str, *, with_preposition: bool = False, nameless: bool = False
) -> range | None:
    """The words of the phrase that ends at `at`, its article included; None where it has no name.

    With `nameless` an article is enough: "the sepsis classifier".
    """
    start, lower = at + 1, ""
    while start and at - start < LONGEST_PHRASE:
        lower = read[start - 1].text.casefold()
        if lower in _RELATIVE and start <= at:
            holder = _phrase_before(read, start - 2, clause) if start > 1 else None
            start = holder.start if holder else start
            break
        if lower in _ENDING or (start <= at and _is_broken(read, start, clause)):
            break
        start -= 1
        if lower in _DETERMINERS:
            break
    if not ((nameless and lower in _DETERMINERS) or any(is_name(word.bare) for word in read[start : at + 1])):
        return None
    if with_preposition and start and _is_preposition(read[start - 1]):
        start -= 1
    return range(start, at + 1)


def _listed_before(read: Sequence[Word], first: range, clause: str) -> range | None:
    """The item of a list that a comma sets before `first`; "ResNet on ImageNet" is one item."""
    if first.start < 1 or "," not in clause[read[first.start - 1].end : read[first.start].start]:
        return None
    item = _phrase_before(read, first.start - 1, clause, nameless=True)
    if item and item.start > 1 and _is_preposition(read[item.start - 1]) and not _is_preposition(read[first.start]):
        holder = _phrase_before(read, item.start - 2, clause)
        return range(holder.start, item.stop) if holder else item
    return item


def _is_preposition(word: Word) -> bool:
    return word.text.casefold() in _PREPOSITIONS


def _is_broken(read: Sequence[Word], index: int, clause: str) -> bool:
    """Whether there is punctuation between a word and the one before it."""
    return bool(clause[read[index - 1].end : read[index].start].strip())
