"""What a turn of a conversation asks, by the turns before it: a state, and readings of the new question.

The state is what was spoken of: the papers in focus, those before them, and the last question. It is worked out again
from the turns each time, so that a chat, the page and an API that gets only messages understand a turn alike.

A turn has several readings: the question with a name for its pronoun, within the paper in focus; the last question with
the new words in it; and the question as it stands, but where a pronoun or a missing verb shows that it goes on. Each is
searched for, and the best answered one wins.
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
    THINGS,
    VERBS,
    WORD,
    Subject,
    capital,
    is_added,
    is_alone,
    is_shaped,
    put_for,
    put_into,
    surely_named,
    with_names,
)
from ragscience.core.records import Turn
from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.search.names import MentionedPaper, PaperNames


TURNS_BACK = 6
"""Turns that the state is worked out from."""
MOST_LISTED = 12
"""Papers of an answer that "the second one" and "them" may mean."""
FRAGMENT_TERMS = 4
"""Content words up to which a turn without a verb is a fragment."""
LEANING, NOT_LEANING = 0.8, 0.1
SURELY_LEANING = 3
"""Things up to which a turn with a pronoun or without a verb says is about the papers in focus alone."""
SELF_SAID = 0.15
LEAST_LEANING = 0.35
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
_POINTERS = frozenset((*ORDINALS, *POINTING, *THINGS, *PRONOUNS, "the", "one", "ones"))
_OF_LIBRARY = frozenset(("papers", "library"))
"""Who says one of these asks of all papers."""
_GOES_TO = re.compile(
    r"(?:(?:let's |let us )?(?:go|going|return|come) )?back to ([^,:;.…–—]+?)(?= - |[,:;.…–—]|$)", re.IGNORECASE
)
_BEFORE = re.compile(r"((?:[^\s,:;.…–—]+\s+){0,5}[^\s,:;.…–—]+)\s*(?:[,:;…–—]|\.\.|\s-)\s+(?=\S+\s+\S)")
""" "Go back to LoRA", and "in the raft paper: …"."""
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
    questions: tuple[str, ...] = ()
    """The last question, as it was understood; before it those that it only adds to."""

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
    """What is added to its answerability, 0 to 1, when the best reading is chosen."""
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
        state = replace(state, focus=tuple(Subject(file, names.short(file)) for file in focus), listed=())
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
    is_new = any(word not in known for word in _shaped(rewritten))
    is_lost = any(word not in rewritten.casefold() for word in _shaped(question))
    return [] if is_new or is_lost else [replace(same, text=rewritten)]


def _shaped(text: str) -> list[str]:
    return [word.casefold() for word in WORD.findall(text)[1:] if len(word) > 1 and is_shaped(word)]


def _papers_meant(reading: TurnReading, names: PaperNames) -> frozenset[str]:
    return frozenset([one.file for one in surely_named(reading.text, names)] or reading.files)


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
    named = tuple(dict.fromkeys(one.file for one in surely_named(turn.question, names)))
    meant = [each for each in understood.readings if each.files]
    if understood.kind == "new":
        meant = [TurnReading(turn.question, named)] if named else meant
    best = next((each for each in meant if not cited or cited[0] in each.files), None)
    if best is None and named:
        best = TurnReading(turn.question, named)
    files = best.files if best is not None else tuple(_mostly(cited, turn.answer))
    focus = tuple(Subject(file, names.short(file)) for file in files)
    same = [each for each in understood.readings if each.files == files] or understood.readings
    asked = max(same, key=lambda each: each.prior).text
    return DialogueState(
        focus or (() if len(cited) > 1 and understood.kind == "new" else state.focus),
        tuple(Subject(file, names.short(file)) for file in cited[:MOST_LISTED]),
        tuple(dict.fromkeys((*state.earlier, *focus))),
        (asked, *(() if set(WORD.findall(asked.casefold())) & VERBS else state.questions)),
    )


def _mostly(cited: Sequence[str], answer: str) -> Sequence[str]:
    """The paper that is cited first, where no other is cited more often; none of a list of papers."""
    counts = [answer.count(f"({file}") for file in cited]
    return cited[:1] if counts and counts[0] == max(counts) and (counts[0] > 1 or len(cited) == 1) else ()


def _understood(question: str, state: DialogueState, names: PaperNames) -> Understood:
    words = [word.casefold() for word in WORD.findall(question)]
    if words and set(words) <= _SMALL_TALK and set(words) & _POLITE:
        return Understood("small talk", (TurnReading(question),))
    if not state.question:
        return Understood("new", (TurnReading(question),))
    rest, is_correction, is_about = _without_opening(question)
    opened = rest != question
    lead, rest = _lead(rest, state, names)
    if lead:
        state = replace(state, focus=lead)
    kind, plain = "correction" if is_correction else "follow-up", TurnReading(question, is_only_searched=True)
    if not rest and lead:
        return Understood(kind, (_what_about(lead), plain))
    if not rest:
        return Understood(kind, (TurnReading(state.question, _files(state.focus), LEANING), plain))
    named = surely_named(rest, names)
    pointed = _pointed_at(rest, state, until=named[0].start if named else len(rest))
    if set(words) & _OF_LIBRARY and not pointed:
        return Understood("new", (TurnReading(capital(rest)), plain) if opened else (TurnReading(question),))
    if pointed and len(WORD.findall(rest)) <= 3 and not set(WORD.findall(rest.casefold())) - _POINTERS:
        return Understood(kind, (_what_about(pointed), plain))
    if _is_fragment(rest, is_about=is_about or is_correction):
        if named and not (opened or is_about):
            return Understood("new", (TurnReading(question),))
        return Understood(kind, (*_in_place(rest, state, named, names, opened=opened), plain))
    if named and not pointed:
        return Understood("new", (TurnReading(capital(rest) if opened else question),))
    about = pointed or state.focus
    if not about:
        return Understood("new", (TurnReading(question),))
    files = () if named else _files(about)
    said = _said(rest)
    if not (pointed or lead or opened or said <= 2):
        return Understood("new", (TurnReading(question), TurnReading(rest, files, NOT_LEANING)))
    prior = max(LEANING - SELF_SAID * max(0, said - 1), LEAST_LEANING)
    leans = (pointed or not set(WORD.findall(rest.casefold())) & VERBS) and files and said <= SURELY_LEANING
    before = state.questions[-1] if leans and not lead else ""
    resolved = TurnReading(with_names(rest, pointed) if pointed else rest, files, prior, before=before)
    return Understood(kind, (resolved,) if leans else (resolved, plain))


def _what_about(papers: Sequence[Subject]) -> TurnReading:
    return TurnReading(f"What is {papers[0].name} about?", _files(papers), LEANING)


def _in_place(
    rest: str, state: DialogueState, named: Sequence[MentionedPaper], names: PaperNames, *, opened: bool
) -> list[TurnReading]:
    """A fragment as a question of its own about the papers in focus, and in the last question's words.

    A name may be a paper's or, as what the paper in focus compares with, a thing: "and BERT?".
    """
    into = next(((put, last) for last in state.questions if (put := put_into(last, rest, named, names))), None)
    joined = f"{state.question.rstrip(' ?.!')}: {rest}"
    about = tuple(dict.fromkeys(Subject(one.file, one.name) for one in named))
    if not named:
        found = [TurnReading(into[0] if into else joined, _files(state.focus), LEANING, into is None)]
        if state.focus and not (is_added(rest) or (opened and is_shaped(rest))):
            stands_alone = not opened or _said(rest) >= FRAGMENT_TERMS
            found.insert(0, TurnReading(rest, _files(state.focus), LEANING + 0.05 if stands_alone else 0.0))
        return found
    if into:
        bare = rest.strip(" ?.!,")
        others = [put_for(into[1], bare, one) for one in surely_named(into[1], names)[1:]]
        return [
            TurnReading(text, tuple(dict.fromkeys(one.file for one in (*named, *surely_named(text, names)))), LEANING)
            for text in dict.fromkeys((into[0], *filter(None, others)))
        ]
    of_paper = TurnReading(state.question, _files(about), LEANING)
    return [of_paper, TurnReading(joined, _files(state.focus or about), LEANING, is_only_searched=True)]


def _lead(rest: str, state: DialogueState, names: PaperNames) -> tuple[tuple[Subject, ...], str]:
    """(the papers that a turn goes to before it asks, what it asks): "back to the raft paper: who wrote it?"."""
    found = _GOES_TO.match(rest) or _BEFORE.match(rest)
    if found is None:
        return (), rest
    papers = tuple(dict.fromkeys(Subject(one.file, names.short(one.file)) for one in surely_named(found[1], names)))
    if not papers:
        words = set(terms(found[1])) - _POINTERS - set(terms("paper go back to now"))
        spoken_of = dict.fromkeys((*reversed(state.earlier), *state.listed))
        papers = tuple(one for one in spoken_of if words and words <= set(terms(_called(one, names))))[:1]
    asked = rest[found.end() :].strip(" ,.:;-–—…")
    return (papers, asked) if papers and (asked or found.re is _GOES_TO) else ((), rest)


def _called(paper: Subject, names: PaperNames) -> str:
    known = " ".join(name.name for name in names.of_paper(names.id_of(paper.file)))
    return re.sub(r"[_\W]+", " ", f"{known} {paper.file}")


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
    if set(words) & (VERBS | PRONOUNS) or set(words[:2]) & ASKING:
        return False
    return is_about or words[:1] == [] or len(set(terms(text))) <= FRAGMENT_TERMS


def _said(text: str) -> int:
    """How many things a question says itself, besides what asks."""
    said = [word for word in WORD.findall(text) if word.casefold() not in ASKING | VERBS | HOW]
    return len(set(terms(" ".join(said))))


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
