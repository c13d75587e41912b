"""What a turn of a conversation asks, by the turns before it: a state, and readings of the new question.

The state is what was spoken of: the papers in focus, those before them, and the last question. It is
worked out again from the turns each time, so that a chat, the page and an API that gets only messages understand a turn
alike.

A turn has several readings: the question with a name for its pronoun, within the papers in focus; the last question
with the new words in the place of those most like them; both questions together; and the question as it stands, but
where a pronoun or a missing verb shows that it goes on. Each is searched for, and the best answered one wins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragscience.ask import turn_wording as wording
from ragscience.core.records import Turn
from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.search.names import MentionedPaper, PaperNames


TURNS_BACK = 6
"""Turns that the state is worked out from."""
QUESTIONS_BACK = 3
"""Questions that a fragment may be put into."""
MOST_LISTED = 12
"""Papers of an answer that "the second one" and "them" may mean."""
SURE = 0.5
"""Strength of a name from which it moves the focus to its paper."""
LEANING, NOT_LEANING, NAMED = 0.8, 0.3, 0.6
SURELY_LEANING = 3
"""Things up to which a turn with a pronoun or without a verb says is about the papers in focus alone."""
SELF_SAID = 0.15
LEAST_LEANING = 0.35
"""What is added to the worth of a reading about the papers in focus: where the turn leans on them, and where it may as
well be a new question; and of both questions together."""
LEAST_ALIKE = 0.45
"""Likeness of a word to the one that it is put in the place of, 0 to 1."""


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
    questions: tuple[str, ...] = ()
    """The last ones, as they were understood, the newest first."""

    @property
    def question(self) -> str:
        """The last question."""
        return next(iter(self.questions), "")


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
    before: str = ""
    """The question that it goes on with: passages that are found for both count more."""


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
    meant = _papers_meant(TurnReading(rewritten), names)
    same = next((each for each in readings if _papers_meant(each, names) == meant), None)
    if same is None:
        return []
    known = spoken.casefold() + " ".join(_called(Subject(file, ""), names) for file in meant).casefold()
    is_new = any(word not in known for word in _shaped_words(rewritten))
    is_lost = any(word not in rewritten.casefold() for word in _shaped_words(question))
    return [] if is_new or is_lost else [replace(same, text=rewritten)]


def _shaped_words(text: str) -> list[str]:
    return [word.casefold() for word in wording.WORD.findall(text)[1:] if len(word) > 1 and wording.is_shaped(word)]


def _papers_meant(reading: TurnReading, names: PaperNames) -> frozenset[str]:
    return frozenset(_named_files(reading.text, names) or reading.files)


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
        tuple(dict.fromkeys((*state.earlier, *focus))),
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
    return [one for one in names.in_text(text) if one.strength >= SURE]


def _named_files(text: str, names: PaperNames) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.file for one in _surely_named(text, names)))


def _called(paper: Subject, names: PaperNames) -> str:
    known = " ".join(name.name for name in names.of_paper(names.id_of(paper.file)))
    return re.sub(r"[_\W]+", " ", f"{known} {paper.file}")


# The readings


def _understood(question: str, state: DialogueState, names: PaperNames) -> Understood:
    words = [word.casefold() for word in wording.WORD.findall(question)]
    if words and set(words) <= wording.SMALL_TALK and set(words) & wording.POLITE:
        return Understood("small talk", (TurnReading(question),))
    if not state.question:
        return Understood("new", (TurnReading(question),))
    text, is_correction, is_about = wording.without_opening(question)
    is_opened = text != question
    lead, text = _lead(text, state, names)
    state = replace(state, focus=lead) if lead else state
    kind, plain = "correction" if is_correction else "follow-up", TurnReading(question, is_only_searched=True)
    named = _surely_named(text, names)
    pointer = wording.POINTER.search(text, 0, named[0].start if named else len(text))
    pointed = _pointed_at(pointer, state)
    rest = text if not pointer else text[: pointer.start()] + text[pointer.end() :]
    if not text or (pointed and not wording.WORD.search(rest)):
        about = lead or pointed or state.focus
        again = TurnReading(f"What is {about[0].name} about?" if about else state.question, _files(about), LEANING)
        return Understood(kind, (again, plain))
    if set(words) & wording.OF_LIBRARY and not pointed:
        return Understood("new", (TurnReading(wording.capital(text)), plain) if is_opened else (TurnReading(question),))
    if wording.is_fragment(text, is_about=is_about or is_correction):
        if named and not (is_opened or is_about):
            return Understood("new", (TurnReading(question),))
        return Understood(kind, (*_in_place(text, state, named, names, is_opened=is_opened), plain))
    about = pointed or state.focus
    if named and not pointed:
        return Understood("new", (TurnReading(wording.capital(text) if is_opened else question),))
    if not about:
        return Understood("new", (TurnReading(question),))
    files, said = () if named else _files(about), wording.said(text)
    is_new = not (pointed or lead or is_opened or said <= 2)
    prior = NOT_LEANING if is_new else max(LEANING - SELF_SAID * max(0, said - 1), LEAST_LEANING)
    leans = (
        (pointed or not set(wording.WORD.findall(text.casefold())) & wording.VERBS) and files and said <= SURELY_LEANING
    )
    before = state.question if leans and not lead else ""
    resolved = TurnReading(_with_names(text, pointer, pointed) if pointer else text, files, prior, before=before)
    if is_new:
        return Understood("new", (TurnReading(question), resolved))
    return Understood(kind, (resolved,) if leans else (resolved, plain))


def _in_place(
    text: str, state: DialogueState, named: Sequence[MentionedPaper], names: PaperNames, *, is_opened: bool
) -> list[TurnReading]:
    """A fragment as a question of its own about the papers in focus, and in the last question's words.

    A name may be a paper's or, as what the paper in focus compares with, a thing: "and BERT?".
    """
    focus, bare = _files(state.focus), text.strip(" ?.!,")
    own = tuple(dict.fromkeys(one.file for one in named))
    puts = next((put for last in state.questions if (put := _put_into(last, bare, named, names))), [])
    if not puts and wording.begins_with(bare, wording.PREPOSITIONS):
        puts = [f"{state.question.rstrip(' ?.!')} {bare}?"]
    readings = [TurnReading(put, _named_files(put, names) or focus, LEANING) for put in puts]
    if named:
        again = readings or [TurnReading(state.question, own, LEANING)]
        return [
            *again,
            *(replace(each, files=focus, prior=NAMED) for each in again[:1] if focus and focus != each.files),
        ]
    if not wording.begins_with(bare, wording.PREPOSITIONS | wording.ASKING):
        stands_alone = not is_opened or wording.said(text) >= wording.FRAGMENT_TERMS
        readings.append(TurnReading(text, focus, LEANING if stands_alone else NAMED))
    return [*readings, TurnReading(f"{state.question} {text}", focus, NAMED, is_only_searched=True)]


def _put_into(last: str, bare: str, named: Sequence[MentionedPaper], names: PaperNames) -> list[str]:
    """The question with a fragment put for what it replaces: its papers, the word most like it, its "on …".

    Empty where nothing there is like it.
    """
    words = wording.WORD.findall(bare)
    if len(words) == 1 and bare.casefold() in wording.ASKING:
        first = last.partition(" ")[0]
        is_whole = set(wording.WORD.findall(last.casefold())) & wording.VERBS or first.casefold() in wording.ALONE
        put = last[len(first) :] if first.casefold() in wording.ALONE else f"? {last}"
        return [wording.capital(bare) + put] if is_whole else []
    if named:
        spans = [wording.whole_word(last, one) for one in _surely_named(last, names)]
        return [last[:start] + bare + last[end:] for start, end in spans]
    preposition = words[0] if wording.begins_with(bare, wording.PREPOSITIONS) else ""
    thing = bare[len(preposition) :].strip()
    like = max(_things(last, names), key=lambda word: wording.likeness(word[0], thing), default=None)
    if like is not None and wording.likeness(like[0], thing) >= LEAST_ALIKE:
        return [last[: like.start()] + thing + last[like.end() :]]
    found = [word for word in wording.WORD.finditer(last) if word[0].casefold() == preposition.casefold()]
    if not found:
        return []
    end = wording.END_OF_PHRASE.search(last, found[-1].end() + 1)
    return [last[: found[-1].start()] + bare + last[end.start() if end else len(last) :]]


def _things(text: str, names: PaperNames) -> list[re.Match[str]]:
    """The words of a question that are written as names are, or joined, besides those of papers."""
    named = [wording.whole_word(text, one) for one in _surely_named(text, names)]
    return [
        word
        for word in wording.WORD.finditer(text)
        if word.start() and (wording.is_shaped(word[0]) or "-" in word[0])
        if not any(start <= word.start() < end for start, end in named)
    ]


# What a turn points at


def _lead(text: str, state: DialogueState, names: PaperNames) -> tuple[tuple[Subject, ...], str]:
    """(the papers that a turn goes to before it asks, what it asks): "back to the raft paper: who wrote it?"."""
    found = wording.LEAD.match(text)
    if found is None or not (found["back"] or (found["end"] and wording.WORD.search(text, found.end()))):
        return (), text
    papers = _subjects(_named_files(found["of"], names), names)
    if not papers:
        words = set(terms(found["of"])) - set(terms("paper one now"))
        spoken_of = dict.fromkeys((*reversed(state.earlier), *state.listed))
        papers = tuple(one for one in spoken_of if words and words <= set(terms(_called(one, names))))[:1]
    return (papers, text[found.end() :]) if papers else ((), text)


def _pointed_at(pointer: re.Match[str] | None, state: DialogueState) -> tuple[Subject, ...]:
    """The papers that a pronoun, "that paper" or "the second one" means; none where nothing points."""
    if pointer is None:
        return ()
    if pointer["place"]:
        listed = state.listed if len(state.listed) > 1 else state.earlier
        at = wording.PLACES[pointer["place"].casefold()]
        return (listed[at],) if at < len(listed) else ()
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
