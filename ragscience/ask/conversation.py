"""What a turn of a conversation asks, by the turns before it: a state, and readings of the new question.

The state is what was spoken of: the papers in focus, those listed last, and the last questions. It is
worked out again from the turns each time, so that a chat, the page and an API that gets only messages understand a turn
alike.

A turn has several readings: the question with a name for its pronoun, within the papers in focus; the last question
with another paper's name, or with the new words behind it; and the question as it stands. Each is searched for, and the
best answered one wins.
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


TURNS_BACK = 6
"""Turns that the state is worked out from."""
QUESTIONS_BACK = 3
"""Questions in which a name may be replaced."""
MOST_LISTED = 12
"""Papers of an answer that "the second one" and "them" may mean."""
LEANING, NOT_LEANING, NAMED = 0.8, 0.3, 0.6
"""What is added to the worth of a reading about the papers in focus: where the turn leans on them, and where it may as
well be a new question; and of both questions together."""
FRAGMENT_TERMS = 4
"""Content words up to which a turn without a verb is a fragment."""
LEANING_TERMS = 2
"""Content words up to which a question that names nothing is about the papers in focus."""
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
OF_LIBRARY = frozenset(("papers", "library"))
"""Who says one of these asks of all papers."""
JOINING = frozenset("ok okay and but so also then well now alright right sure great thanks please hmm".split())  # noqa: SIM905
CORRECTING = frozenset("no nope sorry actually rather not".split())  # noqa: SIM905
ASKING = frozenset("what which who whom whose how why when where".split())  # noqa: SIM905
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
    rf"|(?:both|(?:the|this|that|these|those)(?: two| three)?) "
    rf"(?P<part>(?:{THING}|author|architecture|result|experiment|dataset)s"
    r"|author|architecture|results?|table|figure|section|equation|dataset|experiment)"
    r"|(?<=is |as |re |do |es |id )(?P<that>this|that|these|those)"
    rf"|(?P<alone>this|that|these|those)(?=\W*$| (?:{'|'.join(sorted(VERBS | PREPOSITIONS))})\b))\b",
    re.IGNORECASE,
)
MEANING = re.compile(r"\b(?:i )?(?:mean|meant|was asking about|am asking about)\b|\binstead\b", re.IGNORECASE)
WHAT_ABOUT = re.compile(r"(?:what|how) about\b", re.IGNORECASE)


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
    questions: tuple[str, ...] = ()
    """The last ones, as they were understood, the newest first."""


@dataclass(frozen=True, slots=True)
class TurnReading:
    """A way to understand a turn."""

    text: str
    """A question that stands alone."""
    files: tuple[str, ...] = ()
    """The papers to look in; none: all."""
    prior: float = 0.0
    """What is added to its worth, 0 to 1, when the best reading is chosen."""
    is_only_searched: bool = False
    """Whether it is words to search for, and nothing that the library itself might be asked."""


@dataclass(frozen=True, slots=True)
class Understood:
    """What a turn asks."""

    kind: str
    """ "new", "follow-up", "correction" or "small talk"."""
    readings: tuple[TurnReading, ...]
    """The likeliest first."""


def understand(
    question: str, history: Sequence[Turn], names: PaperNames, focus: Sequence[str] | None = None
) -> Understood:
    """The readings of `question` after `history`; `focus` (files) replaces the papers in focus, () by none."""
    state = state_after(history, names)
    if focus is not None:
        state = replace(state, focus=_subjects(focus, names), listed=())
    return _understood(question, state, names)


def held_reading(
    rewritten: str, readings: Sequence[TurnReading], question: str, spoken: str, names: PaperNames
) -> list[TurnReading]:
    """A language model's reading, within the papers of the one that names the same; none where a name is lost or new.

    `spoken` is all that was said so far.
    """
    meant = set(_named_files(rewritten, names))
    same = next((each for each in readings if set(_named_files(each.text, names) or each.files) == meant), None)
    if same is None:
        return []
    known = [name.name for file in meant for name in names.of_paper(names.id_of(file))]
    known_words = re.sub(r"[_\W]+", " ", " ".join([*known, *meant])) + spoken
    is_new = any(word not in known_words.casefold() for word in _shaped_words(rewritten))
    is_lost = any(word not in rewritten.casefold() for word in _shaped_words(question))
    return [] if is_new or is_lost else [replace(same, text=rewritten)]


def _shaped_words(text: str) -> list[str]:
    """The words with a capital or a digit, as names have, but for the first."""
    words = (word for word in WORD.findall(text)[1:] if len(word) > 1)
    return [word.casefold() for word in words if any(letter.isupper() or letter.isdigit() for letter in word)]


# The state


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
    named = _named_files(understood.readings[0].text, names)
    meant = [each for each in understood.readings if each.files]
    if named and understood.kind == "new":
        meant = [replace(understood.readings[0], files=named)]
    best = next((each for each in meant if not cited or cited[0] in each.files), None)
    if best is None and named:
        best = TurnReading(turn.question, named)
    focus = _subjects(best.files if best is not None else _mostly(cited, turn.answer), names)
    asked = (best or understood.readings[0]).text
    return DialogueState(
        focus or (() if len(cited) > 1 and understood.kind == "new" else state.focus),
        _subjects(cited[:MOST_LISTED], names),
        tuple(dict.fromkeys((asked, *state.questions)))[:QUESTIONS_BACK],
    )


def _mostly(cited: Sequence[str], answer: str) -> Sequence[str]:
    """The paper that is cited first, where no other is cited more often; none of a list of papers."""
    counts = [answer.count(f"({file}") for file in cited]
    return cited[:1] if counts and counts[0] == max(counts) and (counts[0] > 1 or len(cited) == 1) else ()


def _subjects(files: Sequence[str], names: PaperNames) -> tuple[Subject, ...]:
    return tuple(Subject(file, names.short(file)) for file in files)


def _files(papers: Sequence[Subject]) -> tuple[str, ...]:
    return tuple(paper.file for paper in papers)


def _surely_named(text: str, names: PaperNames) -> list[MentionedPaper]:
    return [one for one in names.in_text(text) if one.strength >= LEAST_SURE]


def _named_files(text: str, names: PaperNames) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.file for one in _surely_named(text, names)))


# The readings


def _understood(question: str, state: DialogueState, names: PaperNames) -> Understood:
    words = {word.casefold() for word in WORD.findall(question)}
    plain = TurnReading(question, is_only_searched=True)
    as_it_is = Understood("new", (TurnReading(question),))
    if words & POLITE and words <= SMALL_TALK and not ("?" in question and words & ASKING):
        return Understood("small talk", (TurnReading(question),))
    if not state.questions:
        return as_it_is
    text, is_correction, is_about = _without_opening(question)
    kind, is_opened = "correction" if is_correction else "follow-up", text != question
    if (gone_to := _gone_to(text, names)) is not None:
        return Understood("new", (gone_to, TurnReading(question)))
    named = _surely_named(text, names)
    pointer = POINTER.search(text)
    if pointer and named and pointer.start() >= named[0].start:
        pointer = None
    pointed = _pointed_at(pointer, state)
    about = _files(pointed or state.focus)
    rest = text if not pointer else text[: pointer.start()] + text[pointer.end() :]
    if not text or (pointed and not WORD.search(rest)):
        return Understood(kind, (TurnReading(state.questions[0], about, LEANING), plain))
    alone = TurnReading(_capital(text) if is_opened else question)
    if words & OF_LIBRARY and not pointed:
        return Understood("new", (alone, plain) if is_opened else (alone,))
    if _is_fragment(text, is_about=is_about or is_correction):
        is_new = named and not (is_opened or is_about)
        return as_it_is if is_new else Understood(kind, (*_in_place(text, state, named, is_opened, names), plain))
    if (named and not pointed) or not about:
        return Understood("new", (alone,)) if named else as_it_is
    said = [word for word in WORD.findall(text) if word.casefold() not in ASKING | VERBS]
    is_new = not (pointed or is_opened or len(set(terms(" ".join(said)))) <= LEANING_TERMS)
    put = _with_names(text, pointer, pointed) if pointer else text
    resolved = TurnReading(put, () if named else about, NOT_LEANING if is_new else LEANING)
    return Understood("new", (TurnReading(question), resolved)) if is_new else Understood(kind, (resolved, plain))


def _gone_to(text: str, names: PaperNames) -> TurnReading | None:
    """What is asked of the paper that a turn begins with: "back to the raft paper: how long is a timeout?"."""
    marks = [(at, mark) for mark in (": ", ", ", "; ", " - ", " – ", " — ") if (at := text.find(mark)) > 0]
    head, _, asked = text.partition(min(marks)[1]) if marks else ("", "", "")
    words = [word for word in WORD.findall(asked) if word.casefold() not in ASKING | VERBS]
    is_asked = len(words) < len(WORD.findall(asked)) and len(set(terms(" ".join(words)))) >= LEANING_TERMS
    files = _named_files(head, names) if is_asked and not _surely_named(asked, names) else ()
    if files and (pointer := POINTER.search(asked)):
        asked = _with_names(asked, pointer, _subjects(files, names))
    return TurnReading(_capital(asked), files, NOT_LEANING) if files else None


def _without_opening(question: str) -> tuple[str, bool, bool]:
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


def _is_fragment(text: str, *, is_about: bool) -> bool:
    """Whether a turn is no sentence: "on MNLI?", "why?", "the base model"."""
    words = [word.casefold() for word in WORD.findall(text)]
    if len(words) == 1 and words[0] in ASKING:
        return True
    if set(words) & VERBS or POINTER.search(text) or (set(words[:2]) & ASKING and words[0] != "why"):
        return False
    return is_about or len(set(terms(text))) <= FRAGMENT_TERMS


def _in_place(
    text: str, state: DialogueState, named: Sequence[MentionedPaper], is_opened: bool, names: PaperNames
) -> list[TurnReading]:
    """A fragment as a question of its own about the papers in focus, and in the last question's words.

    A name may be a paper's or, as what the paper in focus compares with, a thing: "and BERT?".
    """
    focus, bare, last = _files(state.focus), text.strip(" ?.!,"), state.questions[0]
    first = (WORD.match(bare) or bare)[0].casefold() if bare else ""
    if named:
        for asked in state.questions:
            for one in _surely_named(asked, names):
                end = next((word.end() for word in WORD.finditer(asked) if word.start() <= one.start < word.end()), 0)
                put = asked[: one.start] + bare + asked[max(one.end, end) :]
                again = TurnReading(put, _named_files(put, names) or focus, LEANING)
                thing = [replace(again, files=focus, prior=NAMED)] if focus and focus != again.files else []
                return [again, *thing]
        return [TurnReading(last, tuple(dict.fromkeys(one.file for one in named)), LEANING)]
    together = TurnReading(f"{last} {text}", focus, NAMED, is_only_searched=True)
    if first == "why" or bare.casefold() in ASKING:
        return [TurnReading(f"{_capital(bare)}? {last}", focus, LEANING), together]
    if first in PREPOSITIONS:
        return [TurnReading(f"{last.rstrip(' ?.!')} {bare}?", focus, LEANING), together]
    stands_alone = not is_opened or len(set(terms(text))) >= FRAGMENT_TERMS
    return [TurnReading(text, focus, LEANING if stands_alone else NAMED), together]


# What a turn points at


def _pointed_at(pointer: re.Match[str] | None, state: DialogueState) -> tuple[Subject, ...]:
    """The papers that a pronoun, "that paper" or "the second one" means; none where nothing points."""
    if pointer is None:
        return ()
    if pointer["place"]:
        at = PLACES[pointer["place"].casefold()]
        return (state.listed[at],) if at < len(state.listed) else ()
    if pointer["own"] or pointer["one"]:
        return state.focus[:1]
    is_several = pointer[0].casefold() in ("they", "them", "their", "these", "those")
    return state.listed if is_several and not state.focus else state.focus


def _with_names(text: str, pointer: re.Match[str], papers: Sequence[Subject]) -> str:
    """The text with the papers' names for what points at them; as it is where people or a part of a paper are meant."""
    name = " and ".join(paper.name for paper in papers[:3])
    if not name or pointer["they"] or pointer["part"]:
        return text
    put = f"{name}'s" if pointer["own"] else f"the {name} {pointer['thing']}" if pointer["thing"] else name
    return text[: pointer.start()] + put + text[pointer.end() :]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
