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

from ragscience.core.records import Turn
from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.search.names import MentionedPaper, PaperNames

__all__ = ["DialogueState", "TurnReading", "Understood", "state_after", "understand"]

TURNS_BACK = 6
"""Turns that the state is worked out from."""
SURE = 0.5
"""Strength of a name from which it moves the focus to its paper."""
MOST_LISTED = 12
"""Papers of an answer that "the second one" and "them" may mean."""
FRAGMENT_TERMS = 4
"""Content words up to which a turn without a verb is a fragment."""
LEANING, NOT_LEANING = 0.35, 0.05
"""What is added to the answerability of a reading about the papers in focus: where the turn leans on them, and where it
may as well be a new question."""

_PRONOUNS = frozenset("it its they them their theirs he him his she her".split())  # noqa: SIM905
_POINTING = frozenset("this that these those".split())  # noqa: SIM905
_POINTED_AT = frozenset(
    """
    paper papers article study work model models method approach system authors author technique algorithm
    architecture one ones result results table figure section equation dataset experiment experiments
    """.split()  # noqa: SIM905
)
"""What "the …" leaves open: of which paper."""
_THINGS = frozenset("paper article study work model method approach system algorithm technique".split())  # noqa: SIM905
_OPENINGS = frozenset("ok okay and but so also then well now alright right sure great thanks please hmm".split())  # noqa: SIM905
_CORRECTING = frozenset("no nope sorry actually rather not".split())  # noqa: SIM905
_SMALL_TALK = frozenset(
    """
    thanks thank you thx ty ok okay great good nice cool perfect awesome hi hello hey bye goodbye cheers yes yep no nope
    sure fine well done much so very a lot morning evening got it i see that's that is helpful interesting wow all for
    now alright right understood makes sense
    """.split()  # noqa: SIM905
)
_POLITE = _SMALL_TALK - frozenset("you yes yep no nope sure so very a lot it i see that's that is all for now".split())  # noqa: SIM905
_ASKING = frozenset("what which who whom whose how why when where".split())  # noqa: SIM905
_HOW = frozenset("many much long often far big large fast old high".split())  # noqa: SIM905
_VERBS = frozenset(
    """
    is are was were be do does did has have had can could will would should may might summarize summarise explain
    describe list show give tell compare find define name
    """.split()  # noqa: SIM905
)
_BE_AND_DO = frozenset("is are was were do does did has have had can could".split())  # noqa: SIM905
_PREPOSITIONS = frozenset("on in for with at by from of under after before using without".split())  # noqa: SIM905
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "former": 0, "latter": -1}
_POINTERS = frozenset(terms(" ".join((*_ORDINALS, *_POINTING, *_POINTED_AT, *_PRONOUNS))))
_WORD = re.compile(r"[^\W_](?:[\w’'.+/-]*\w)?")
_MEANING = re.compile(r"\b(?:i )?(?:mean|meant|was asking about|am asking about)\b|\binstead\b", re.IGNORECASE)
_EXPLETIVE = re.compile(r"\bit (?:takes?|took|is (?:possible|necessary|clear|true))\b", re.IGNORECASE)
_WHAT_ABOUT = re.compile(r"(?:what|how) about\b", re.IGNORECASE)
_ASKS_WHAT_IS = re.compile(
    r"(?:what|which|who|where)(?:'s| is| are| was| were) (?:the|its|their)\b|the\b", re.IGNORECASE
)
_END_OF_PHRASE = re.compile(
    r"\s+(?:on|in|for|with|at|by|from|of|under|after|before|using|and|or|than|does|do|is|are)\b|[,;?.!]*$"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A paper that was spoken of."""

    file: str
    name: str
    """What to call it in a question."""


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
    named = [one.file for one in _named(turn.question, names)]
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
    words = [word.casefold() for word in _WORD.findall(question)]
    if words and set(words) <= _SMALL_TALK and set(words) & _POLITE:
        return Understood("small talk", (plain,))
    if not state.question:
        return Understood("new", (plain,))
    rest, is_correction, is_about = _without_opening(question)
    if not rest:
        return Understood("follow-up", (TurnReading(state.question, _files(state.focus), LEANING), plain))
    named = _named(rest, names)
    pointed = _pointed_at(rest, state, until=named[0].start if named else len(rest))
    opened = rest != question
    if pointed and len(_WORD.findall(rest)) <= 3 and not set(terms(rest)) - _POINTERS:
        return Understood(
            "follow-up", (TurnReading(f"What is {pointed[0].name} about?", _files(pointed), LEANING), plain)
        )
    if _is_fragment(rest, is_about=is_about or is_correction):
        kind = "correction" if is_correction else "follow-up"
        is_new = bool(named) and not (opened or is_about)
        if is_new:
            return Understood("new", (plain,))
        about = tuple(Subject(one.file, one.name) for one in named) or pointed or state.focus
        readings = [TurnReading(_put_into(state.question, rest, named, names), _files(about), LEANING)]
        if not named and about:
            readings.append(TurnReading(_about(rest, about), _files(about), LEANING - 0.05))
        return Understood(kind, (*readings, plain))
    if pointed:
        files = () if named else _files(pointed)
        resolved = TurnReading(_with_names(rest, pointed), files, LEANING)
        return Understood("follow-up", (resolved, *([] if named else _in_context(rest, state)), plain))
    if named:
        return Understood("new", (replace(plain, text=_capital(rest)),) if opened else (plain,))
    if not state.focus:
        return Understood("new", (plain,))
    prior = LEANING if opened or _is_short(rest) else NOT_LEANING
    kept = TurnReading(_about(rest, state.focus), _files(state.focus), prior)
    if prior == LEANING:
        return Understood("follow-up", (kept, *_in_context(rest, state), plain))
    return Understood("new", (plain, kept))


def _in_context(rest: str, state: DialogueState) -> list[TurnReading]:
    """A short question with the last one before it, which says what it is about: "layers of X: how many units"."""
    if len(set(terms(rest))) > FRAGMENT_TERMS or not state.focus:
        return []
    return [TurnReading(f"{state.question.rstrip(' ?.!')}: {rest}", _files(state.focus), LEANING - 0.02)]


def _named(text: str, names: PaperNames) -> list[MentionedPaper]:
    return [one for one in names.in_text(text) if one.strength >= SURE]


def _files(papers: Sequence[Subject]) -> tuple[str, ...]:
    return tuple(paper.file for paper in papers)


def _without_opening(question: str) -> tuple[str, bool, bool]:
    """(the question without "ok and …" or "no, I meant …", whether it corrects, whether it says "what about")."""
    text, is_correction = question.strip(), False
    while (word := _WORD.match(text)) is not None and word[0].casefold() in _OPENINGS | _CORRECTING:
        is_correction |= word[0].casefold() in _CORRECTING
        text = text[word.end() :].lstrip(" ,.!;:-–—")
    meant = _MEANING.search(text)
    if meant and (is_correction or meant.start() == 0):
        text, is_correction = (text[: meant.start()] + text[meant.end() :]).strip(" ,.!;:-–—"), True
    about = _WHAT_ABOUT.match(text)
    return text[about.end() :].strip() if about else text, is_correction, about is not None


def _is_fragment(text: str, *, is_about: bool) -> bool:
    """Whether a turn is no sentence: "on MNLI?", "why?", "the base model"."""
    words = [word.casefold() for word in _WORD.findall(text)]
    if len(words) == 1 and words[0] in _ASKING:
        return True
    if set(words) & (_VERBS | _PRONOUNS) or (words and words[0] in _ASKING and len(words) > 3):
        return False
    return is_about or words[:1] == [] or len(set(terms(text))) <= FRAGMENT_TERMS


def _is_short(text: str) -> bool:
    said = [word for word in _WORD.findall(text) if word.casefold() not in _ASKING | _VERBS | _HOW]
    return len(set(terms(" ".join(said)))) <= 2


def _pointed_at(text: str, state: DialogueState, until: int) -> tuple[Subject, ...]:
    """The papers that a pronoun, "that paper" or "the second one" before `until` means; none where nothing points."""
    words = [word.casefold() for word in _WORD.findall(_EXPLETIVE.sub(" ", text))]
    before_name = len(_WORD.findall(_EXPLETIVE.sub(" ", text[:until])))
    for word, after in zip(words, [*words[1:], ""], strict=False):
        if word in _ORDINALS and after in ("one", "paper", "ones", "") and len(state.listed or state.earlier) > 1:
            listed = state.listed if len(state.listed) > 1 else state.earlier
            at = _ORDINALS[word]
            return (listed[at],) if at < len(listed) else ()
    beside = list(zip(["", *words], words, [*words[1:], ""], strict=False))[:before_name]
    has_pronoun = bool(set(words[:before_name]) & _PRONOUNS) or any(
        (word in _POINTING and (after in _POINTED_AT or _is_alone(before, after)))
        or (word == "the" and after in _POINTED_AT)
        for before, word, after in beside
    )
    if not has_pronoun:
        return ()
    several = bool({"they", "them", "these", "those", "their"} & set(words)) and not state.focus
    return state.listed if several else state.focus


def _is_alone(before: str, after: str) -> bool:
    """Whether a "this" or "that" between these words stands for something by itself: "how is that different"."""
    return after in _VERBS | _PREPOSITIONS | {""} or before in _BE_AND_DO


def _with_names(text: str, papers: Sequence[Subject]) -> str:
    """The text with the papers' names for its first pronoun or "that paper", else after it."""
    name = " and ".join(paper.name for paper in papers[:3])
    found = list(_WORD.finditer(text))
    for at, word in enumerate(found):
        low = word[0].casefold()
        after = found[at + 1] if at + 1 < len(found) else None
        if low == "its":
            return f"{text[: word.start()]}{name}'s{text[word.end() :]}"
        before = found[at - 1][0].casefold() if at else ""
        following = after[0].casefold() if after else ""
        if low == "it" or (low in _POINTING and following not in _POINTED_AT and _is_alone(before, following)):
            return f"{text[: word.start()]}{name}{text[word.end() :]}"
        if low in _POINTING and following == "one":
            return f"{text[: word.start()]}{name}{text[word.end() + len(' one') :]}"
        if low in _POINTING | {"the"} and after is not None and following in _THINGS:
            return f"{text[: word.start()]}the {name} {after[0]}{text[after.end() :]}"
        if low in _ORDINALS and after is not None and after[0].casefold() in ("one", "paper"):
            begin = found[at - 1].start() if at and found[at - 1][0].casefold() == "the" else word.start()
            return f"{text[:begin]}{name}{text[after.end() :]}"
    return _about(text, papers)


def _about(text: str, papers: Sequence[Subject]) -> str:
    """The question of these papers: "which optimizer was used in BERT?"."""
    name = " and ".join(paper.name for paper in papers[:3])
    bare = text.rstrip(" ?.!")
    of = "of" if _ASKS_WHAT_IS.match(bare) else "in"
    return _capital(f"{bare} {of} {name}{'?' * text.rstrip().endswith('?')}")


def _put_into(last: str, fragment: str, named: Sequence[MentionedPaper], names: PaperNames) -> str:
    """The last question with the fragment in the place of what it replaces: its paper, its "on …", its last name."""
    bare = fragment.strip(" ?.!,")
    words = _WORD.findall(bare)
    if words and words[0].casefold() in _ASKING and len(words) == 1:
        return f"{_capital(bare)}? {last}"
    before = _named(last, names)
    if named and before:
        return last[: before[0].start] + bare + last[before[0].end :]
    if words and words[0].casefold() in _PREPOSITIONS:
        return _replaced_phrase(last, words[0], bare)
    is_name = any(letter.isupper() or letter.isdigit() for letter in bare)
    spans = [
        word
        for word in _WORD.finditer(last)
        if word.start() and any(c.isupper() or c.isdigit() for c in word[0]) and not _is_in(word, before)
    ]
    if is_name and spans:
        return last[: spans[-1].start()] + bare + last[spans[-1].end() :]
    of = re.search(r"\b(?:is|are|was|were|the) (?:the |a |an )?(?=\w)", last, re.IGNORECASE)
    if not is_name and of:
        end = _END_OF_PHRASE.search(last, of.end())
        return last[: of.end()] + bare.removeprefix("the ") + last[end.start() if end else len(last) :]
    return f"{last.rstrip(' ?.!')}: {bare}?"


def _replaced_phrase(last: str, preposition: str, phrase: str) -> str:
    found = [word for word in _WORD.finditer(last) if word[0].casefold() == preposition.casefold()]
    if not found:
        return f"{last.rstrip(' ?.!')} {phrase}?"
    end = _END_OF_PHRASE.search(last, found[-1].end() + 1)
    return last[: found[-1].start()] + phrase + last[end.start() if end else len(last) :]


def _is_in(word: re.Match[str], named: Sequence[MentionedPaper]) -> bool:
    return any(one.start <= word.start() < one.end for one in named)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
