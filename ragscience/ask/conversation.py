"""What a turn of a conversation asks, by the turns before it: a state, and readings of the new question.

The state is what was spoken of: the papers in focus, those before them, and the last question. It is worked out again
from the turns each time, so that a chat, the page and an API that gets only messages understand a turn alike.

A turn has several readings: the question with a name for its pronoun, within the paper in focus; the last question with
the new words in it; and always the question as it stands. Each is searched for, and the best answered one wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragscience.ask.turn_wording import (
    ASKING,
    CORRECTING,
    HOW,
    OPENINGS,
    ORDINALS,
    POINTED_AT,
    POINTING,
    PRONOUNS,
    VERBS,
    WORD,
    Subject,
    asked_of,
    capital,
    is_alone,
    put_into,
    surely_named,
    with_names,
)
from ragscience.core.records import Turn
from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.search.names import PaperNames

__all__ = ["DialogueState", "TurnReading", "Understood", "state_after", "understand"]

TURNS_BACK = 6
"""Turns that the state is worked out from."""
MOST_LISTED = 12
"""Papers of an answer that "the second one" and "them" may mean."""
FRAGMENT_TERMS = 4
"""Content words up to which a turn without a verb is a fragment."""
LEANING, NOT_LEANING = 0.35, 0.05
"""What is added to the answerability of a reading about the papers in focus: where the turn leans on them, and where it
may as well be a new question."""

_SMALL_TALK = frozenset(
    """
    thanks thank you thx ty ok okay great good nice cool perfect awesome hi hello hey bye goodbye cheers yes yep no nope
    sure fine well done much so very a lot morning evening got it i see that's that is helpful interesting wow all for
    now alright right understood makes sense
    """.split()  # noqa: SIM905
)
_POLITE = _SMALL_TALK - frozenset("you yes yep no nope sure so very a lot it i see that's that is all for now".split())  # noqa: SIM905
_POINTERS = frozenset(terms(" ".join((*ORDINALS, *POINTING, *POINTED_AT, *PRONOUNS))))
_MEANING = re.compile(r"\b(?:i )?(?:mean|meant|was asking about|am asking about)\b|\binstead\b", re.IGNORECASE)
_EXPLETIVE = re.compile(r"\bit (?:takes?|took|is (?:possible|necessary|clear|true))\b", re.IGNORECASE)
_WHAT_ABOUT = re.compile(r"(?:what|how) about\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DialogueState:
    """What a conversation is about after some turns."""

    focus: tuple[Subject, ...] = ()
    """The papers that "it" means; one, most of the time."""
    listed: tuple[Subject, ...] = ()
    """The papers of the last answer, in its order."""
    earlier: tuple[Subject, ...] = ()
    """All that were in focus, the first first."""
    question: str = ""
    """The last question, as it was understood."""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """A way to understand a turn."""

    text: str
    """A question that stands alone."""
    files: tuple[str, ...] = ()
    """The papers to look in; none: all."""
    prior: float = 0.0
    """What is added to its answerability, 0 to 1, when the best reading is chosen."""
    is_joined: bool = False
    """Whether it is the last question with the new one after it: words to search for, and no question."""


@dataclass(frozen=True, slots=True)
class Understood:
    """What a turn asks."""

    kind: str
    """ "new", "follow-up", "correction" or "small talk"."""
    readings: tuple[TurnReading, ...]
    """The likeliest first; the question as it stands is always one."""


def understand(
    question: str, history: Sequence[Turn], names: PaperNames, focus: Sequence[str] | None = None
) -> Understood:
    """The readings of `question` after `history`; `focus` (files) replaces the papers in focus, () by none."""
    state = state_after(history, names)
    if focus is not None:
        state = replace(state, focus=tuple(Subject(file, names.short(file)) for file in focus), listed=())
    return _understood(question, state, names)


def state_after(history: Sequence[Turn], names: PaperNames) -> DialogueState:
    """What a conversation is about after its last TURNS_BACK turns."""
    state = DialogueState()
    for turn in history[-TURNS_BACK:]:
        state = _after(turn, _understood(turn.question, state, names), state, names)
    return state


def _after(turn: Turn, understood: Understood, state: DialogueState, names: PaperNames) -> DialogueState:
    if understood.kind == "small talk":
        return state
    cited = list(dict.fromkeys(one.file for one in names.files_in(turn.answer)))
    first = understood.readings[0]
    named = [one.file for one in surely_named(turn.question, names)]
    if named:
        files = named
    elif first.files and (not cited or set(first.files) & set(cited)):
        files = list(first.files)
    else:
        files = cited[:1] if _is_mostly(cited[:1], turn.answer) else []
    focus = tuple(Subject(file, names.short(file)) for file in dict.fromkeys(files))
    asked = next((each.text for each in understood.readings if set(each.files) == set(files)), first.text)
    return DialogueState(
        focus or (() if len(cited) > 1 else state.focus),
        tuple(Subject(file, names.short(file)) for file in cited[:MOST_LISTED]),
        tuple(dict.fromkeys((*state.earlier, *focus))),
        asked,
    )


def _is_mostly(files: Sequence[str], answer: str) -> bool:
    """Whether most citations of an answer are of that paper."""
    return bool(files) and 2 * answer.count(f"({files[0]}") > answer.count(".pdf, p.")


def _understood(question: str, state: DialogueState, names: PaperNames) -> Understood:
    plain = TurnReading(question)
    words = [word.casefold() for word in WORD.findall(question)]
    if words and set(words) <= _SMALL_TALK and set(words) & _POLITE:
        return Understood("small talk", (plain,))
    if not state.question:
        return Understood("new", (plain,))
    rest, is_correction, is_about = _without_opening(question)
    if not rest:
        return Understood("follow-up", (TurnReading(state.question, _files(state.focus), LEANING), plain))
    named = surely_named(rest, names)
    pointed = _pointed_at(rest, state, until=named[0].start if named else len(rest))
    opened = rest != question
    if pointed and len(WORD.findall(rest)) <= 3 and not set(terms(rest)) - _POINTERS:
        return Understood(
            "follow-up", (TurnReading(f"What is {pointed[0].name} about?", _files(pointed), LEANING), plain)
        )
    if _is_fragment(rest, is_about=is_about or is_correction):
        kind = "correction" if is_correction else "follow-up"
        is_new = bool(named) and not (opened or is_about)
        if is_new:
            return Understood("new", (plain,))
        about = tuple(Subject(one.file, one.name) for one in named) or pointed or state.focus
        text = put_into(state.question, rest, named, names)
        readings = [TurnReading(text, _files(about), LEANING, text.endswith(f": {rest.strip(' ?.!,')}?"))]
        if not named and about:
            readings.append(TurnReading(asked_of(rest, about), _files(about), LEANING - 0.05))
        return Understood(kind, (*readings, plain))
    if pointed:
        files = () if named else _files(pointed)
        resolved = TurnReading(with_names(rest, pointed), files, LEANING)
        return Understood("follow-up", (resolved, *([] if named else _in_context(rest, state)), plain))
    if named:
        return Understood("new", (replace(plain, text=capital(rest)),) if opened else (plain,))
    if not state.focus:
        return Understood("new", (plain,))
    prior = LEANING if opened or _is_short(rest) else NOT_LEANING
    kept = TurnReading(asked_of(rest, state.focus), _files(state.focus), prior)
    if prior == LEANING:
        return Understood("follow-up", (kept, *_in_context(rest, state), plain))
    return Understood("new", (plain, kept))


def _in_context(rest: str, state: DialogueState) -> list[TurnReading]:
    """A short question with the last one before it, which says what it is about: "layers of X: how many units"."""
    if len(set(terms(rest))) > FRAGMENT_TERMS or not state.focus:
        return []
    return [TurnReading(f"{state.question.rstrip(' ?.!')}: {rest}", _files(state.focus), LEANING - 0.02, True)]


def _files(papers: Sequence[Subject]) -> tuple[str, ...]:
    return tuple(paper.file for paper in papers)


def _without_opening(question: str) -> tuple[str, bool, bool]:
    """(the question without "ok and …" or "no, I meant …", whether it corrects, whether it says "what about")."""
    text, is_correction = question.strip(), False
    while (word := WORD.match(text)) is not None and word[0].casefold() in OPENINGS | CORRECTING:
        is_correction |= word[0].casefold() in CORRECTING
        text = text[word.end() :].lstrip(" ,.!;:-–—")
    meant = _MEANING.search(text)
    if meant and (is_correction or meant.start() == 0):
        text, is_correction = (text[: meant.start()] + text[meant.end() :]).strip(" ,.!;:-–—"), True
    about = _WHAT_ABOUT.match(text)
    return text[about.end() :].strip() if about else text, is_correction, about is not None


def _is_fragment(text: str, *, is_about: bool) -> bool:
    """Whether a turn is no sentence: "on MNLI?", "why?", "the base model"."""
    words = [word.casefold() for word in WORD.findall(text)]
    if len(words) == 1 and words[0] in ASKING:
        return True
    if set(words) & (VERBS | PRONOUNS) or (words and words[0] in ASKING and len(words) > 3):
        return False
    return is_about or words[:1] == [] or len(set(terms(text))) <= FRAGMENT_TERMS


def _is_short(text: str) -> bool:
    said = [word for word in WORD.findall(text) if word.casefold() not in ASKING | VERBS | HOW]
    return len(set(terms(" ".join(said)))) <= 2


def _pointed_at(text: str, state: DialogueState, until: int) -> tuple[Subject, ...]:
    """The papers that a pronoun, "that paper" or "the second one" before `until` means; none where nothing points."""
    words = [word.casefold() for word in WORD.findall(_EXPLETIVE.sub(" ", text))]
    before_name = len(WORD.findall(_EXPLETIVE.sub(" ", text[:until])))
    for word, after in zip(words, [*words[1:], ""], strict=False):
        if word in ORDINALS and after in ("one", "paper", "ones", "") and len(state.listed or state.earlier) > 1:
            listed = state.listed if len(state.listed) > 1 else state.earlier
            at = ORDINALS[word]
            return (listed[at],) if at < len(listed) else ()
    beside = list(zip(["", *words], words, [*words[1:], ""], strict=False))[:before_name]
    has_pronoun = bool(set(words[:before_name]) & PRONOUNS) or any(
        (word in POINTING and (after in POINTED_AT or is_alone(before, after)))
        or (word == "the" and after in POINTED_AT)
        for before, word, after in beside
    )
    if not has_pronoun:
        return ()
    several = bool({"they", "them", "these", "those", "their"} & set(words)) and not state.focus
    return state.listed if several else state.focus
