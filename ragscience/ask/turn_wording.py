"""The words of a turn of a conversation: what it leans on, and how it is said so that it stands alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragscience.search.names import MentionedPaper, PaperNames


SURE = 0.5
"""Strength of a name from which it moves the focus to its paper."""
PRONOUNS = frozenset("it its they them their theirs he him his she her".split())  # noqa: SIM905
POINTING = frozenset("this that these those".split())  # noqa: SIM905
POINTED_AT = frozenset(
    """
    paper papers article study work model models method approach system authors author technique algorithm
    architecture one ones result results table figure section equation dataset experiment experiments
    """.split()  # noqa: SIM905
)
"""What "the …" leaves open: of which paper."""
THINGS = frozenset("paper article study work model method approach system algorithm technique".split())  # noqa: SIM905
OPENINGS = frozenset("ok okay and but so also then well now alright right sure great thanks please hmm".split())  # noqa: SIM905
CORRECTING = frozenset("no nope sorry actually rather not".split())  # noqa: SIM905
ASKING = frozenset("what which who whom whose how why when where".split())  # noqa: SIM905
HOW = frozenset("many much long often far big large fast old high".split())  # noqa: SIM905
VERBS = frozenset(
    """
    is are was were be do does did has have had can could will would should may might summarize summarise explain
    describe list show give tell compare find define name
    """.split()  # noqa: SIM905
)
_BE_AND_DO = frozenset("is are was were do does did has have had can could".split())  # noqa: SIM905
PREPOSITIONS = frozenset("on in for with at by from of under after before using without".split())  # noqa: SIM905
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "former": 0, "latter": -1}
WORD = re.compile(r"[^\W_](?:[\w’'.+/-]*\w)?")
_ASKS_WHAT_IS = re.compile(
    r"(?:what|which|who|where)(?:'s| is| are| was| were) (?:the|its|their)\b|the\b", re.IGNORECASE
)
_ASKS_ALONE = re.compile(rf"(?:who|when|where|why|how(?! (?:{'|'.join(sorted(HOW))})\b))\b", re.IGNORECASE)
""" "Who wrote X?" becomes "When wrote X?"; "what" and "how many" belong to what they ask for."""
_END_OF_PHRASE = re.compile(
    r" (?:on|in|for|with|at|by|from|of|under|after|before|using|and|or|than|does|do|is|are)\b|(?<![,;?.!])[,;?.!]*+$"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A paper that was spoken of."""

    file: str
    name: str
    """What to call it in a question."""


def is_alone(before: str, after: str) -> bool:
    """Whether a "this" or "that" between these words stands for something by itself: "how is that different"."""
    return after in VERBS | PREPOSITIONS | {""} or before in _BE_AND_DO


def with_names(text: str, papers: Sequence[Subject]) -> str:
    """The text with the papers' names for its first pronoun or "that paper", else after it."""
    name = " and ".join(paper.name for paper in papers[:3])
    found = list(WORD.finditer(text))
    if {"they", "he", "she"} & set(WORD.findall(text.casefold())):
        return text
    for at, word in enumerate(found):
        low = word[0].casefold()
        after = found[at + 1] if at + 1 < len(found) else None
        if low == "its":
            return f"{text[: word.start()]}{name}'s{text[word.end() :]}"
        before = found[at - 1][0].casefold() if at else ""
        following = after[0].casefold() if after else ""
        if low == "it" or (low in POINTING and following not in POINTED_AT and is_alone(before, following)):
            return f"{text[: word.start()]}{name}{text[word.end() :]}"
        if low in POINTING and following == "one":
            return f"{text[: word.start()]}{name}{text[word.end() + len(' one') :]}"
        if low in POINTING | {"the"} and after is not None and following in THINGS:
            return f"{text[: word.start()]}the {name} {after[0]}{text[after.end() :]}"
        if low in ORDINALS and after is not None and after[0].casefold() in ("one", "paper"):
            begin = found[at - 1].start() if at and found[at - 1][0].casefold() == "the" else word.start()
            return f"{text[:begin]}{name}{text[after.end() :]}"
    return text


def is_added(fragment: str) -> bool:
    """Whether a fragment only says more of the question before it: "on MNLI"."""
    return WORD.findall(fragment.casefold())[:1] in [[word] for word in (*PREPOSITIONS, *ASKING)]


def put_into(last: str, fragment: str, named: Sequence[MentionedPaper], names: PaperNames) -> str:
    """The last question with the fragment in the place of what it replaces: its paper, its "on …", its last name.

    "" where nothing there is like it.
    """
    bare = fragment.strip(" ?.!,")
    words = WORD.findall(bare)
    if words and words[0].casefold() in ASKING and len(words) == 1:
        own = _ASKS_ALONE.match(last)
        return f"{capital(bare)}{last[own.end() :]}" if own else f"{capital(bare)}? {last}"
    before = surely_named(last, names)
    written = list(WORD.finditer(last))
    if named:
        return put_for(last, bare, before[0]) if before else ""
    if words and words[0].casefold() in PREPOSITIONS:
        return _replaced_phrase(last, words[0], bare)
    if is_shaped(bare):
        spans = [word for word in written if (word.start() or not word[0].istitle()) and is_shaped(word[0])]
        spans = [word for word in spans if not any(one.start <= word.start() < one.end for one in before)]
        return last[: spans[-1].start()] + bare + last[spans[-1].end() :] if spans else ""
    the = re.search(r"\bthe (?=\w)", last, re.IGNORECASE)
    if the is None or words[0].casefold() == "any":
        return ""
    after = _END_OF_PHRASE.search(last, the.end())
    if any(one.start < (after.start() if after else len(last)) and the.end() < one.end for one in before):
        return ""
    return last[: the.end()] + bare.removeprefix("the ") + last[after.start() if after else len(last) :]


def put_for(last: str, name: str, replaced: MentionedPaper) -> str:
    """The last question with a name in the place of a paper's, with the rest of its word: "BERT-large"."""
    first = next((word for word in WORD.finditer(last) if word.start() <= replaced.start < word.end()), None)
    return last[: first.start()] + name + last[max(replaced.end, first.end()) :] if first else ""


def is_shaped(text: str) -> bool:
    """Whether a text has a capital or a digit, as names have."""
    return any(letter.isupper() or letter.isdigit() for letter in text)


def _replaced_phrase(last: str, preposition: str, phrase: str) -> str:
    found = [word for word in WORD.finditer(last) if word[0].casefold() == preposition.casefold()]
    if not found:
        return f"{last.rstrip(' ?.!')} {phrase}?"
    end = _END_OF_PHRASE.search(last, found[-1].end() + 1)
    return last[: found[-1].start()] + phrase + last[end.start() if end else len(last) :]


def capital(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def surely_named(text: str, names: PaperNames) -> list[MentionedPaper]:
    """The papers that a text names surely enough to move the focus."""
    return [one for one in names.in_text(text) if one.strength >= SURE]
