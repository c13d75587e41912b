"""Rewrites a follow-up question without an LLM: a pronoun becomes the name that it means, or a topic is put first.

A question leans on the turn before it where it points back ("it", "this model", "instead") or says too little by
itself ("And in 2004?"). One that names a subject of its own is standalone, whatever it begins with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.core.records import Turn
from ragscience.core.tokenizing import terms

__all__ = ["evidence_again", "has_pronoun", "standalone"]

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
TURNS_BACK = 6
"""How far back a chain of follow-ups is followed to the question that names the subject."""
MOST_WORDS = 8
"""Content words that come along, the last ones."""

_OPENING = re.compile(r"\s*(?:and|but|so|or|what about|how about|then)\b", re.IGNORECASE)
_CONJUNCTION = re.compile(r"\s*(?:and|but|so|or|then)\b[\s,]*+(?=\S)", re.IGNORECASE)
_COMMAND = re.compile(
    r"\s*(?:please )?(?:summari[sz]e|sum up|(?:an? )?(?:summary|overview) of|compare|define)"
    r" (?!(?:the|this|that|it|its|them|their|these|those|both|all)\b)\w",
    re.IGNORECASE,
)
"""Says what to do with something of its own: "Summarize lora.pdf"."""
_DO = re.compile(r"\s*(?:please )?(?:explain|describe|list|show|give|name|find|tell)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|of|about|explain|describe|summari[sz]e|define)"
    r" (?:(?P<the>the) )?(?P<name>[^\W_](?:[\w+-]*\w)?)",
    re.IGNORECASE,
)
"""Where a question names what it is about."""
_SENTENCE = re.compile(
    r"\s*(?:(?:what|which|who|how|why|when|where)\s+)?(?:is|are|was|were|do|does|did|can|has|have)\b", re.IGNORECASE
)
_PRONOUN = re.compile(
    r"\b(?:it(?!\s+(?:takes?|took)\s+to\b)|its|they|them|their|theirs|those|he|him|his|she|her|hers)\b", re.IGNORECASE
)
_POINTER = re.compile(
    r"\b(?:this|these|instead|former|latter)\b"
    r"|\b(?:about|after|and|as|at|before|by|compare|contrast|did|do|does|explain|for|from|if|in|is|like|of|on|than|to"
    r"|was|when|why|with)"
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
_OWNED = frozenset({"its", "their", "theirs", "his", "hers"})
_ASKING = frozenset(
    """
    how what which who whom whose when where why did do does done is are was were been has have had can could many much
    long often far kind
    """.split()  # noqa: SIM905  # a list of forty strings reads worse
)

_TELLING = frozenset("explain describe list show give name find tell please".split())  # noqa: SIM905  # as above
"""Words that say what to do, not of what."""


@dataclass(frozen=True, slots=True)
class _Topic:
    """What the questions so far were about."""

    subject: str = ""
    """The name that a pronoun means; empty where that is not clear."""
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Content words of the last question, and of those before it that it leans on."""


def standalone(question: str, history: Sequence[Turn]) -> str:
    """The question in words that need no history: what is searched for, and shown as what was searched for.

    A pronoun becomes the name that the last question is about: "How many steps does it use?" is "How many steps does
    LoRA use?". Where that is not clear, a topic stands first: the names in the last question and in its answer, since a
    follow-up often asks about something that only the answer named ("Haarlem, Goldgar: What did it cost?"). For a
    fragment ("And in 2004?"), or if the last question has no name, it has the content words of the last question. A
    question that leans itself goes on with the topic of the one before it.
    """
    if not _leans(question, history):
        return question
    topic, recent = _Topic(), history[-TURNS_BACK:]
    for at, turn in enumerate(recent):
        topic = _topic_after(turn, topic if _leans(turn.question, recent[:at]) else _Topic())
    return _worded(question, topic, recent[-1].question)


def evidence_again(question: str, history: Sequence[Turn]) -> tuple[int, ...]:
    """Ids of the passages of the last turn, to compete again, where the question leans on it; else none."""
    return history[-1].passages if _leans(question, history) else ()


def has_pronoun(question: str) -> bool:
    """Whether it has a pronoun that stands for something said before."""
    return _pronoun(question) is not None


def _topic_after(turn: Turn, before: _Topic) -> _Topic:
    words = tuple(_content_words(turn.question))
    is_whole = _pronoun(turn.question) is not None and before.subject  # the name takes the pronoun's place
    return _Topic(
        _subject_of(turn.question) or before.subject,
        tuple(dict.fromkeys((*before.names, *_names(turn.question), *_names_of_answer(turn)))),
        words if is_whole else (*before.words, *words)[-MOST_WORDS:],
    )


def _names_of_answer(turn: Turn) -> list[str]:
    said = "" if _IS_QUOTES.search(turn.answer) else _SOURCE.sub("", turn.answer)
    return _names(said)[:NAMES_OF_AN_ANSWER]


def _subject_of(question: str) -> str:
    """The name that a question is about; empty for none, or where a noun may follow it ("the T4 ligase")."""
    names = _names(question)
    for found in _SUBJECT.finditer(question):
        name = found["name"]
        if name in names and not (found["the"] and not name[1:].islower()):
            return name
    return ""


def _worded(question: str, topic: _Topic, last: str) -> str:
    asked = {word.casefold() for word in _words(question)}
    pronoun, begin = _pronoun(question), _opening(question)
    whole, between = question[begin:], ", "
    if pronoun is not None and topic.subject and topic.subject.casefold() not in asked:
        named = f"{topic.subject}'s" if pronoun[0].casefold() in _OWNED else topic.subject
        whole = f"{question[begin : pronoun.start()]}{named}{question[pronoun.end() :]}"
        carried = [name for name in _names(last) if name != topic.subject]
    else:
        carried = list(topic.names)
        if _is_fragment(question) or not carried:
            carried, between = [*topic.words, *carried], " "
    more = [word for word in dict.fromkeys(carried) if word.casefold() not in asked]
    whole = f"{whole[:1].upper()}{whole[1:]}"
    return f"{between.join(more)}: {whole}" if more else whole


def _opening(question: str) -> int:
    """Where the question begins behind an "And"."""
    found = _CONJUNCTION.match(question)
    return found.end() if found else 0


def _pronoun(question: str) -> re.Match[str] | None:
    """A pronoun that stands for something said before."""
    pronoun = _PRONOUN.search(question)
    if pronoun and len(set(terms(question[: pronoun.start()]))) >= ANTECEDENT_TERMS and not _is_subject(question):
        return None
    return pronoun


def _leans(question: str, history: Sequence[Turn]) -> bool:
    if not history:
        return False
    pointer, pronoun = _POINTER.search(question), _pronoun(question)
    if _COMMAND.match(question) and not pointer and not pronoun:
        return False
    known = {word.casefold() for turn in history for word in _words(f"{turn.question} {turn.answer}")}
    names = _names(question)
    new = [name for name in names if name.casefold() not in known]
    if new and not pointer:
        whole = _SENTENCE.match(question) or _DO.match(question)
        if not pronoun and whole and not _OPENING.match(question):
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
    return [word for word in _words(text) if word.casefold() not in _ASKING | _TELLING and terms(word)]


def _names(text: str) -> list[str]:
    """Words with a capital or a digit after their first letter, or a capital there but not where a sentence begins."""
    found = []
    for match in _WORD.finditer(text):
        word, before = match.group(), text[: match.start()].rstrip()
        opens = not before or before[-1] in ".?!:;"
        marked = any(character.isupper() or character.isdigit() for character in word[1:])
        word = word.removesuffix("'s").removesuffix("’s")
        if len(word) > 1 and word[0].isalpha() and (marked or (word[0].isupper() and not opens)):
            found.append(word)
    return list(dict.fromkeys(found))
