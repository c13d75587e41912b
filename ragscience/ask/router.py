"""Which questions are answered from the library itself: by what kind of question it is, and what it names."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module

from ragscience.ask.intents import PASSAGES, Kind, kinds
from ragscience.ask.route_records import Conditions, RouteContext, Routed
from ragscience.ask.slots import Slots, slots_of
from ragscience.core.records import Block
from ragscience.core.tokenizing import language_of, terms

_LEAST, _LEAST_OF_BARE, _LEAST_OF_HELP, _LEAST_OF_BEST = 0.7, 0.4, 0.4, 0.25
"""Probability from which on a question is none for the passages (docs/choices.md); where it names nothing but a paper
and what papers say of themselves; the least one of help on a topic of the program; and of another kind itself."""
SURE = 0.9
"""Probability from which on the passages are not asked as well."""
_ASPECTS = "aspect_route"
"""Quotes the papers, as passages would."""
_OF_ALL = ("definition", "summary")
"""Kinds that a question may be of which does nothing but name a thing."""
_SAYS_I = re.compile(r"\b(?:i|i've|my|mine|me)\b", re.IGNORECASE)


def route(question: str, context: RouteContext, files: Sequence[str] = (), *, leans: bool = False) -> Routed | None:
    """The answer from the library itself; None where a search for passages is the way.

    `files` are the papers in focus; `leans` says that the question goes on with one before it, and means no new thing.
    Raises what the library and the search raise.
    """
    from ragscience.ask import element_route

    slots = slots_of(question, context, files)
    routed = element_route.answer(slots, context)
    if routed is not None or language_of(question):
        return routed
    kind, likely = kind_of(slots, context)
    told = slots if kind is None else _with_papers(kind, slots, context)
    if leans and kind is not None and kind.by == "mentions_route":
        return None
    routed = _answered(kind, likely, told, context)
    if routed is None and not leans:
        routed = _answered(*_of_subject(slots, context), context)
        if routed is None and told is None and kind is not None and kind.by == "paper_facts":
            return _unknown_paper(slots.described)
    return routed


def _answered(kind: Kind | None, likely: float, told: Slots | None, context: RouteContext) -> Routed | None:
    """The answer of a kind of question; None without one."""
    if kind is None or told is None:
        return None
    answer: Callable[[str, Slots, RouteContext], Routed | None] = import_module(f"ragscience.ask.{kind.by}").answer
    routed = answer(kind.name, told, context)
    if routed is None or likely >= SURE or kind.by == _ASPECTS:
        return routed
    return replace(routed, likely=likely, confidence="medium" if routed.confidence == "high" else routed.confidence)


def _with_papers(kind: Kind, slots: Slots, context: RouteContext) -> Slots | None:
    """With the papers that it is about, where the kind needs some; None without any."""
    if kind.by == "paper_facts":  # "where does Smith work" is asked of his paper
        slots = slots.with_authored(context)
    if kind.needs not in ("paper", "two papers") or slots.papers:
        return slots
    slots = replace(slots, papers=slots.implied) if slots.implied else slots.with_described(context)
    return slots if slots.papers else None


def _of_subject(slots: Slots, context: RouteContext) -> tuple[Kind | None, float, Slots]:
    """As `kind_of`, with what the question is about read as one name: of a subject, a cited work or a paper."""
    for words in filter(None, dict.fromkeys((slots.subject, slots.thing))):
        told = slots.read_as_name(words, context)
        kind, likely = kind_of(told, context) if terms(told.without_names) else (None, 0.0)
        if kind is None or likely < _LEAST or kind.name in _OF_ALL:
            continue
        if kind.name == "cites" or (kind.name == "topic" and likely >= SURE and not slots.papers):
            return kind, likely, slots
        if kind.needs == "paper" and told.papers and slots.papers in ((), told.papers if kind.by == _ASPECTS else ()):
            return kind, likely, told
    return None, 0.0, slots


def _unknown_paper(name: str) -> Routed:
    """That no paper was found by the name that the question gives it, and how to look for the name itself."""
    hint = f"“Which papers mention {name}?” looks for it in the texts."
    said = f"I found no paper that goes by “{name}” or is about it. {hint}"
    return Routed("papers", f"Looked for a paper called “{name}”.", (Block("text", said),), nothing_found=True)


def kind_of(slots: Slots, context: RouteContext) -> tuple[Kind | None, float]:
    """The kind of the question, of those that what it names allows, None for one to the passages; and how likely."""
    known = context.probabilities(slots.masked)
    if not len(known):
        return None, 0.0
    papers = len(slots.papers)
    allowed = {
        "": True,
        "paper": bool(papers or slots.described or slots.implied or slots.conditions.authors),
        "two papers": max(papers, len(slots.implied)) >= 2,
        "library": not papers and (bool(slots.order[0]) or slots.conditions != Conditions() or not slots.extra),
        "thing": bool(slots.thing or papers or slots.described),
        "reader": _SAYS_I.search(slots.question) is not None,
    }
    every = {kind: float(p) for kind, p in zip(kinds(), known, strict=True)}
    chances = {kind: p for kind, p in every.items() if allowed[kind.needs] and kind.name != PASSAGES}
    lacking = max((p for kind, p in every.items() if not allowed[kind.needs]), default=0.0)
    against = next(p for kind, p in every.items() if kind.name == PASSAGES)
    best = max(chances, key=lambda kind: chances[kind])
    total = sum(chances.values())
    likely = total / (total + against)
    least = _LEAST_OF_BARE if best.by == _ASPECTS and not slots.extra else _LEAST
    is_likely = likely >= least if best.needs else chances[best] >= _LEAST_OF_HELP
    is_sure = is_likely and chances[best] > max(lacking, _LEAST_OF_BEST)
    if best.by == "paper_facts" and slots.extra:  # "in which year did PAPER's trial begin"
        likely = min(likely, _LEAST)
    return best if is_sure else None, likely if best.needs else 1.0
