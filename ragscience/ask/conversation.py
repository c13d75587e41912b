"""What a turn of a conversation asks, by the turns before it: a state, and readings of the new question.

The state is what was spoken of: the papers in focus, those listed last, and the last questions. It is worked out again
from the turns each time, so that a chat, the page and an API that gets only messages understand a turn alike.

A turn is read behind those before it, "How many heads has it? → and the big one?", as the question encoder and the
reader were trained to (tools/fit_questions.py), within the papers that it names or points at, or those in focus; and as
it stands, there and in all papers. Each reading is searched for, and the one that is answered best wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragscience.core.records import Turn
from ragscience.core.tokenizing import terms
from ragscience.search.names import LEAST_SURE

if TYPE_CHECKING:
    from ragscience.search.names import MentionedPaper, PaperNames


BETWEEN_TURNS = "\u202f→\u202f"
"""Between the questions of a conversation that are searched for as one: the last is the one that is asked. With narrow
spaces, so that an arrow in a question is none of these."""
TURNS_BACK = 6
"""Turns that the state is worked out from."""
QUESTIONS_BACK = 2
"""Questions that a turn is read behind."""
BEHIND, IN_ALL = -0.5, -1.3
"""Log-odds that are added to the worth of a reading behind other questions, and of one in all papers where one is in
focus: fitted to the readings of 392 turns (docs/choices.md)."""
FEWEST_TERMS = 2
"""Content words that a turn needs to be a question by itself."""
MOST_LISTED = 12
"""Papers of an answer that "the second one" and "them" may mean."""
POLITE = frozenset(
    """
    thanks thank thx ty ok okay great good nice cool perfect awesome hi hello hey bye goodbye cheers fine well done
    helpful interesting wow alright right understood
    """.split()  # noqa: SIM905
)
SMALL_TALK = POLITE | frozenset(
    """
    you yes yep no nope sure much so very a lot morning evening got it i see that's that is all for now makes sense the
    this was what exactly just help helps useful need needed wanted want answer answers clear appreciated again
    """.split()  # noqa: SIM905
)
"""A turn of these alone, one of them a polite one, asks nothing."""
_OF_LIBRARY = re.compile(
    r"\b(?:papers|articles|studies|pdfs|library|folder|collection|in here|(?:do|have) (?:i|we))\b", re.IGNORECASE
)
"""Who says one of these may ask of all papers: "what else do I have on it?"."""
ASKING = frozenset("what which who whom whose how why when where".split())  # noqa: SIM905
PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "former": 0, "latter": -1}
_OPENING = re.compile(rf"(?:(?:{'|'.join(sorted(POLITE))})\b(?!-)[ ,.!;:]*)+(?<=[,.!;:] )", re.IGNORECASE)
"""Ends in a mark: "thanks. ", and not the "fine" of "fine-tuning"."""
WORD = re.compile(r"[^\W_](?:[\w’'.+/-]*\w)?")
PRONOUN = re.compile(r"\b(?:it|this|that|they|them)\b", re.IGNORECASE)
LISTED = re.compile(rf"\b(?P<place>{'|'.join(PLACES)}) (?:one|paper)\b|\b(?:both|they|them|their|these|those)\b", re.I)
"""What points at one or all of the papers that were listed."""


@dataclass(frozen=True, slots=True)
class DialogueState:
    """What a conversation is about after some turns."""

    focus: tuple[str, ...] = ()
    """The papers (files) that "it" means; one, most of the time."""
    listed: tuple[str, ...] = ()
    """The papers (files) of the last answer, in its order."""
    questions: tuple[str, ...] = ()
    """The last ones, the newest last."""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """A way to understand a turn."""

    text: str
    """The question, as the library itself may be asked it."""
    files: tuple[str, ...] = ()
    """The papers to look in; none: all."""
    before: tuple[str, ...] = ()
    """The questions that it is read behind."""
    prior: float = 0.0
    """What is added to the log-odds of its worth when the best reading is chosen."""
    is_only_searched: bool = False
    """Whether the library itself is not asked it: "and how many?" is not about all papers."""

    @property
    def searched(self) -> str:
        """What is searched for."""
        return BETWEEN_TURNS.join((*self.before, self.text))


def understand(
    question: str, history: Sequence[Turn], names: PaperNames, focus: Sequence[str] | None = None
) -> tuple[TurnReading, ...]:
    """The readings of `question` after `history`; `focus` (files) replaces the papers in focus, () by none.

    Of readings that are answered alike the first counts. "and base?", with too few words of its own, is read behind the
    questions before it alone.
    """
    state = state_after(history, names)
    if focus is not None:
        state = replace(state, focus=tuple(focus), listed=())
    if is_small_talk(question):
        return (TurnReading(question),)
    opening = _OPENING.match(question)
    if opening and state.questions and terms(question[opening.end() :]):  # "thanks, and who wrote it?"
        question = question[opening.end() :]
    alone = TurnReading(question)
    if not state.questions:
        return (alone,)
    named = _surely_named(question, names)
    files = _files_of(named)
    about = files or _pointed_at(question, state) or state.focus
    is_of_all = bool(files) or not about or _OF_LIBRARY.search(question) is not None
    behind = TurnReading(question, about, state.questions, BEHIND)
    readings = [behind]
    if about and not named:
        if len(set(terms(question))) < FEWEST_TERMS:
            return tuple(readings)
        readings.append(TurnReading(question, about))
    pronoun = PRONOUN.search(question, 0, named[0].start) if named else None
    if pronoun and len(state.focus) == 1 and state.focus[0] not in files:  # "how is that different from BERT?"
        both = f"{question[: pronoun.start()]}{names.short(state.focus[0])}{question[pronoun.end() :]}"
        readings.append(TurnReading(both))
    return (*readings, alone if is_of_all else replace(alone, prior=IN_ALL, is_only_searched=True))


def asked_last(question: str) -> str:
    """The question without the ones that it is read behind."""
    return question.rpartition(BETWEEN_TURNS)[2]


def held_reading(
    rewritten: str, readings: Sequence[TurnReading], question: str, spoken: str, names: PaperNames
) -> list[TurnReading]:
    """A language model's reading, within the papers of the one that names the same; none where a name is lost or new.

    `spoken` is all that was said so far.
    """
    meant = set(_files_of(_surely_named(rewritten, names)))
    same = next(
        (each for each in readings if set(_files_of(_surely_named(each.text, names)) or each.files) == meant), None
    )
    if same is None:
        return []
    known = [name.name for file in meant for name in names.of_paper(names.id_of(file))]
    known_words = re.sub(r"[_\W]+", " ", " ".join([*known, *meant])) + spoken
    is_new = any(word not in known_words.casefold() for word in _shaped_words(rewritten))
    is_lost = any(word not in rewritten.casefold() for word in _shaped_words(question))
    return [] if is_new or is_lost else [replace(same, text=rewritten, before=())]


def state_after(history: Sequence[Turn], names: PaperNames) -> DialogueState:
    """What a conversation is about after its last TURNS_BACK turns: what a turn names, else what its answer cites."""
    state = DialogueState()
    for turn in history[-TURNS_BACK:]:
        if is_small_talk(turn.question):
            continue
        cited = tuple(dict.fromkeys(one.file for one in names.files_in(turn.answer)))
        named = _files_of(_surely_named(turn.question, names))
        before = state.focus
        if set(cited[:1]) & set(before):
            named = named if set(cited[:1]) & set(named) else ()
        pointed = _pointed_at(turn.question, state)
        kept = before if set(cited) & set(before) or not cited else ()
        focus = named or pointed or (kept if set(cited[:1]) <= set(before) else _mostly(cited, turn.answer) or kept)
        questions = (*state.questions, turn.question)[-QUESTIONS_BACK:]
        state = DialogueState(tuple(focus), cited[:MOST_LISTED], questions)
    return state


def is_small_talk(question: str) -> bool:
    """Whether it asks nothing: "thanks", "hello"."""
    words = _words(question)
    return bool(words & POLITE) and words <= SMALL_TALK and not ("?" in question and words & ASKING)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in WORD.findall(text)}


def _mostly(cited: Sequence[str], answer: str) -> Sequence[str]:
    """The paper that is cited first, where no other is cited more often; none of a list of papers."""
    counts = [answer.count(f"({file}") for file in cited]
    return cited[:1] if counts and counts[0] == max(counts) and (counts[0] > 1 or len(cited) == 1) else ()


def _pointed_at(question: str, state: DialogueState) -> tuple[str, ...]:
    """The papers that "the second one" means, or "them" where none is in focus; none where nothing points."""
    found = LISTED.search(question)
    if found is None or (not found["place"] and state.focus):
        return ()
    at = PLACES[found["place"].casefold()] if found["place"] else None
    return state.listed if at is None else state.listed[at : at + 1 or None]


def _shaped_words(text: str) -> list[str]:
    """The words with a capital or a digit, as names have, but for the first."""
    words = (word for word in WORD.findall(text)[1:] if len(word) > 1)
    return [word.casefold() for word in words if any(letter.isupper() or letter.isdigit() for letter in word)]


def _surely_named(text: str, names: PaperNames) -> list[MentionedPaper]:
    return [one for one in names.in_text(text) if one.strength >= LEAST_SURE]


def _files_of(named: Sequence[MentionedPaper]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.file for one in named))
