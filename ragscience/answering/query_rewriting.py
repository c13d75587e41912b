"""Rewrites a follow-up question without an LLM: adds the words that it depends on, and nothing else.

A question leans on the turn before it where it points back ("it", "this model", "instead") or says too little by
itself ("And in 2004?"). One that names a subject of its own is standalone, whatever it begins with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragscience.records import Turn
from ragscience.text.tokenizing import terms

__all__ = ["evidence_again", "standalone"]

FRAGMENT_TERMS = 3
"""A question with fewer content words is too short to search for."""
OWN_TERMS = 2
"""A question with a name that is new and as many content words next to it has a subject of its own."""
ANTECEDENT_TERMS = 3
"""With as many content words before it, an "it" or "they" means one of them."""
MOST_HEADLESS = 4
"""Content words of a question in the passive that may leave out what it is about."""
NAMES_OF_AN_ANSWER = 4
"""Most names taken from the last answer; a longer list is its detail, not its subject."""
TURNS_BACK = 3
"""How far back a chain of fragments is followed to the question that names the subject."""

_OPENING = re.compile(r"\s*(?:and|but|so|or|what about|how about|then)\b", re.IGNORECASE)
_SENTENCE = re.compile(
    r"\s*(?:(?:what|which|who|how|why|when|where)\s+)?(?:is|are|was|were|do|does|did|can|has|have)\b", re.IGNORECASE
)
_PRONOUN = re.compile(
    r"\b(?:it(?!\s+(?:takes?|took)\s+to\b)|its|they|them|their|theirs|those|he|him|his|she|her|hers)\b", re.IGNORECASE
)
_POINTER = re.compile(
    r"\b(?:this|these|instead|former|latter)\b"
    r"|\b(?:about|after|and|as|at|before|by|did|do|does|for|from|if|in|is|like|of|on|than|to|was|when|why|with)"
    r"\s+that\b"
    r"|\b(?:that|there|too|else|ones?|the (?:same|others?))\s*[?.!]*\s*$",
    re.IGNORECASE,
)
_SUBJECT_PRONOUN = re.compile(
    r"^[^,;:]*?\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would) (?:it|they|he|she)\b"
    r"(?! (?:takes?|took) to\b)",
    re.IGNORECASE,
)
"""A pronoun as the subject of the question: what it stands for was said before, unless a clause stands before it."""
_CLAUSE = re.compile(r"\b(?:when|while|if|because|since|although|that|which|who|whose)\b", re.IGNORECASE)
_NO_HEAD = re.compile(
    r"\b(?:is|are|was|were) (?:\w+ly )?(?:used|trained|tested|evaluated|reported|chosen|set|reached|achieved|needed"
    r"|found|made|tried|compared)\b(?!.*\b(?:of|in|for|on|by|with|to|at) (?:the|a|an|this)\b)"
    r"|\btook part\b(?! in\b)",
    re.IGNORECASE,
)
"""A passive that does not say of what: "Which learning rate was used?"."""
_DEFINES = re.compile(r"\s*(?:what|who) (?:is|are|was|were) (?!the\b|their\b|its\b)", re.IGNORECASE)
"""Asks what something is: "What are dangling links?" is whole, "What is the price?" is not."""
_SOURCE = re.compile(r"\([^()\n]*\bp\.\s?\d+\)|^Found in \d+ papers?:.*$|\S+\.pdf\b", re.MULTILINE)
"""Of an answer: pages and files that it names."""
_IS_QUOTES = re.compile(r"^\W*“", re.MULTILINE)
"""What a paper says word for word: its names are the paper's detail, not what was asked about."""
_WORD = re.compile(r"[^\W_](?:[\w’'.,/+-]*\w)?")
_ASKING = frozenset(
    """
    how what which who whom whose when where why did do does done is are was were been has have had can could many much
    long often far kind
    """.split()  # noqa: SIM905  # a list of forty strings reads worse
)


def standalone(question: str, history: Sequence[Turn]) -> str:
    """The search query: the question, preceded by the words of the previous turn that it depends on.

    These are the names in the last question and in its answer, since a follow-up often asks about something that only
    the answer named. For a fragment ("And in 2004?"), or if the last question has no name, all content words of the
    last question are added. If the last question was a fragment itself, the turn before it is used too.
    """
    if not _leans(question, history):
        return question
    carried = _carried(question, history[-TURNS_BACK:])
    asked = {word.casefold() for word in _words(question)}
    return " ".join([*(word for word in dict.fromkeys(carried) if word.casefold() not in asked), question])


def evidence_again(question: str, history: Sequence[Turn]) -> tuple[int, ...]:
    """Ids of the passages of the last turn, to compete again, where the question leans on it; else none."""
    return history[-1].passages if _leans(question, history) else ()


def _carried(question: str, turns: Sequence[Turn]) -> list[str]:
    """The added words, the oldest first."""
    carried: list[str] = []
    for back, turn in enumerate(reversed(turns), start=1):
        said = "" if _IS_QUOTES.search(turn.answer) else _SOURCE.sub("", turn.answer)
        named = [*_names(turn.question), *_names(said)[:NAMES_OF_AN_ANSWER]]
        if _is_fragment(question):
            named = [*_content_words(turn.question), *named]
        elif not named:
            named = _content_words(turn.question)
        carried[:0] = named
        if not (_is_fragment(turn.question) or _leans(turn.question, turns[: len(turns) - back])):
            break
    return carried


def _leans(question: str, history: Sequence[Turn]) -> bool:
    if not history:
        return False
    pointer, pronoun = _POINTER.search(question), _PRONOUN.search(question)
    if pronoun and len(set(terms(question[: pronoun.start()]))) >= ANTECEDENT_TERMS and not _is_subject(question):
        pronoun = None
    known = {word.casefold() for turn in history for word in _words(f"{turn.question} {turn.answer}")}
    names = _names(question)
    new = [name for name in names if name.casefold() not in known]
    if new and not pointer:
        if not pronoun and _SENTENCE.match(question) and not _OPENING.match(question):
            return False
        beside = set(terms(question)) - {term for name in new for term in terms(name)}
        return len(beside) < OWN_TERMS or (pronoun is not None and pronoun.start() < question.find(new[0]))
    if pointer or pronoun or _OPENING.match(question) or _is_fragment(question):
        return True
    if names or _DEFINES.match(question):
        return False
    return _is_short(question) or bool(len(set(terms(question))) <= MOST_HEADLESS and _NO_HEAD.search(question))


def _is_subject(question: str) -> bool:
    """Whether a pronoun is the subject of the question itself: "How many steps does it use?"."""
    found = _SUBJECT_PRONOUN.match(question)
    return found is not None and not _CLAUSE.search(found[0])


def _is_short(question: str) -> bool:
    said = [word for word in _words(question) if word.casefold() not in _ASKING]
    return len(set(terms(" ".join(said)))) < FRAGMENT_TERMS


def _is_fragment(question: str) -> bool:
    """Whether it is short and not a sentence: "What are dangling links?" is one, "And in 2004?" is not."""
    return _is_short(question) and not _SENTENCE.match(question)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _content_words(text: str) -> list[str]:
    return [word for word in _words(text) if word.casefold() not in _ASKING and terms(word)]


def _names(text: str) -> list[str]:
    """Words with a capital or a digit after their first letter, or a capital there but not where a sentence begins."""
    found = []
    for match in _WORD.finditer(text):
        word, before = match.group(), text[: match.start()].rstrip()
        opens = not before or before[-1] in ".?!:;"
        marked = any(character.isupper() or character.isdigit() for character in word[1:])
        if len(word) > 1 and word[0].isalpha() and (marked or (word[0].isupper() and not opens)):
            found.append(word)
    return list(dict.fromkeys(found))
