"""The words of a turn: which of them ask, point, join or correct, and whether it is a sentence."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.search.names import MentionedPaper

FRAGMENT_TERMS = 4
"""Content words up to which a turn without a verb is a fragment."""
SMALL_TALK = frozenset(
    """
    thanks thank you thx ty ok okay great good nice cool perfect awesome hi hello hey bye goodbye cheers yes yep no nope
    sure fine well done much so very a lot morning evening got it i see that's that is helpful interesting wow all for
    now alright right understood makes sense
    """.split()  # noqa: SIM905
)
POLITE = SMALL_TALK - frozenset("you yes yep no nope sure so very a lot it i see that's that is all for now".split())  # noqa: SIM905
OF_LIBRARY = frozenset(("papers", "library"))
"""Who says one of these asks of all papers."""
JOINING = frozenset("ok okay and but so also then well now alright right sure great thanks please hmm".split())  # noqa: SIM905
CORRECTING = frozenset("no nope sorry actually rather not".split())  # noqa: SIM905
ASKING = frozenset("what which who whom whose how why when where".split())  # noqa: SIM905
ALONE = frozenset(("who", "when", "where", "why"))
""" "Who wrote X?" becomes "When wrote X?"; "what" and "how many" belong to what they ask for."""
HOW = frozenset("many much long often far big large fast old high".split())  # noqa: SIM905
VERBS = frozenset(
    """
    is are was were be do does did has have had can could will would should may might summarize summarise explain
    describe list show give tell compare find define name
    """.split()  # noqa: SIM905
)
PREPOSITIONS = frozenset("on in for with at by from of under after before using without".split())  # noqa: SIM905
PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "former": 0, "latter": -1}
WORD = re.compile(r"[^\W_](?:[\w’'.+/-]*\w)?")
THING = "paper|article|study|work|model|method|approach|system|algorithm|technique"
POINTER = re.compile(
    r"\b(?:(?P<own>its)|(?P<one>it)(?! (?:takes?|took|is (?:possible|necessary|clear|true))\b)"
    r"|(?P<they>they|them|their|theirs|he|him|his|she|her)"
    rf"|(?:the |this |that )?(?P<place>{'|'.join(PLACES)})(?: (?:one|paper)s?\b|(?=\W*$))"
    rf"|(?:the|this|that|these|those) (?P<thing>{THING})"
    r"|(?:this|that|these|those) ones?"
    rf"|(?:the|this|that|these|those) (?P<part>(?:{THING}|author|architecture|result|experiment|dataset)s"
    r"|author|architecture|results?|table|figure|section|equation|dataset|experiment)"
    r"|(?<=is |as |re |do |es |id )(?P<that>this|that|these|those)"
    rf"|(?P<alone>this|that|these|those)(?=\W*$| (?:{'|'.join(sorted(VERBS | PREPOSITIONS))})\b))\b",
    re.IGNORECASE,
)
LEAD = re.compile(
    r"(?P<back>(?:(?:let's |let us )?(?:go|going|return|come) )?back to )?(?P<of>(?:[^\s,:;.…–—]+ ){0,5}[^\s,:;.…–—]+)"
    r"\s*(?P<end>[,:;.…–—]+|\s-|$)\s*",
    re.IGNORECASE,
)
""" "Go back to LoRA", and "in the raft paper: …"."""
MEANING = re.compile(r"\b(?:i )?(?:mean|meant|was asking about|am asking about)\b|\binstead\b", re.IGNORECASE)
WHAT_ABOUT = re.compile(r"(?:what|how) about\b", re.IGNORECASE)
END_OF_PHRASE = re.compile(
    r" (?:on|in|for|with|at|by|from|of|under|after|before|using|and|or|than|does|do|is|are)\b|(?<![,;?.!])[,;?.!]*+$"
)


def begins_with(text: str, words: frozenset[str]) -> bool:
    """Whether the first word of a text is one of these."""
    first = WORD.match(text)
    return first is not None and first[0].casefold() in words


def likeness(one: str, other: str) -> float:
    """How alike two words are written, 0 to 1: half by their letters, half by their runs of capitals and digits."""
    shape, like = (re.sub("[a-z]+", "a", re.sub("[A-Z]+", "A", re.sub("[0-9]+", "0", word))) for word in (one, other))
    return (SequenceMatcher(None, one, other).ratio() + SequenceMatcher(None, shape, like).ratio()) / 2


def is_shaped(text: str) -> bool:
    """Whether a text has a capital or a digit, as names have."""
    return any(letter.isupper() or letter.isdigit() for letter in text)


def capital(text: str) -> str:
    """The text with a capital first."""
    return text[:1].upper() + text[1:]


def without_opening(question: str) -> tuple[str, bool, bool]:
    """(the question without "ok and …" or "no, I meant …", whether it corrects, whether it says "what about")."""
    text, is_correction = question.strip(), False
    while (word := WORD.match(text)) is not None and word[0].casefold() in JOINING | CORRECTING:
        is_correction |= word[0].casefold() in CORRECTING
        text = text[word.end() :].lstrip(" ,.!;:-–—")
    meant = MEANING.search(text)
    if meant and (is_correction or meant.start() == 0):
        text, is_correction = (text[: meant.start()] + text[meant.end() :]).strip(" ,.!;:-–—"), True
    about = WHAT_ABOUT.match(text)
    return text[about.end() :].strip() if about else text, is_correction, about is not None


def is_fragment(text: str, *, is_about: bool) -> bool:
    """Whether a turn is no sentence: "on MNLI?", "why?", "the base model"."""
    words = [word.casefold() for word in WORD.findall(text)]
    if len(words) == 1 and words[0] in ASKING:
        return True
    if set(words) & VERBS or POINTER.search(text) or set(words[:2]) & ASKING:
        return False
    return is_about or len(set(terms(text))) <= FRAGMENT_TERMS


def said(text: str) -> int:
    """How many things a question says itself, besides what asks."""
    said = [word for word in WORD.findall(text) if word.casefold() not in ASKING | VERBS | HOW]
    return len(set(terms(" ".join(said))))


def whole_word(text: str, name: MentionedPaper) -> tuple[int, int]:
    """Where a name stands, with the rest of its word: "BERT-large"."""
    word = next((word for word in WORD.finditer(text) if word.start() <= name.start < word.end()), None)
    return (word.start(), max(name.end, word.end())) if word else (name.start, name.end)
