"""Questions for what a paper is about as a whole: a summary, its contributions, findings, methods or limitations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragscience.ask.paper_text import PaperSentence, PaperText
from ragscience.ask.route_records import RouteContext, Routed, label
from ragscience.ask.slots import Slots
from ragscience.ask.summary_cues import ASPECTS
from ragscience.ask.summary_quotes import SummaryQuotes
from ragscience.core.records import Block, Hit

_BY_NAME = {aspect.name: aspect for aspect in ASPECTS}
_MOST = 6
_MOST_LIMITS = 8
_MOST_PAPERS = 6
_BEGINNING = 3
"""Sentences from which a summary begins where none says what the paper does."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """Quotes that say what the papers are about, or what was asked of it, by what they say."""
    if len(slots.extra) > (kind != "comparison"):
        return None  # it asks for something in them: the passages say more
    texts = [PaperText(context.library, paper) for paper in slots.papers[:_MOST_PAPERS]]
    if kind != "comparison":
        return _routed(context, texts, kind)
    routed = _routed(context, texts, "summary")
    if routed is None:
        return None
    note = "Says what each paper is about: the question names nothing to compare them by."
    return replace(routed, route="comparison", note=note, confidence="medium")


def _routed(context: RouteContext, texts: Sequence[PaperText], what: str) -> Routed | None:
    blocks: list[Block] = []
    hits: list[Hit] = []
    confidences = []
    for paper in texts:
        parts = _parts(SummaryQuotes(paper, context.names), what, is_short=len(texts) > 1)
        if not parts and what == "summary":
            parts = [("Beginning", list(paper.sentences[:_BEGINNING]))]
        chosen = [sentence for _, sentences in parts for sentence in sentences]
        if len(texts) > 1:
            blocks.append(Block("heading", label(paper.paper, year=False), (), ""))
        confidences.append(_confidence(parts, what))
        blocks += _blocks(parts, has_headings=len(texts) == 1)
        hits += paper.hits([cited for sentence in chosen for cited in sentence.citations], "summary")
    if not hits:
        return None  # no sentence says so in words that are known here
    titles = " and ".join(f"“{label(paper.paper, year=False)}”" for paper in texts)
    note = f"Chose sentences of {titles} by where they stand and what they announce."
    worst = next(level for level in ("low", "medium", "high") if level in confidences)
    return Routed("summary", note, tuple(blocks), tuple(hits), worst, for_llm=True)


def _parts(quotes: SummaryQuotes, what: str, *, is_short: bool) -> list[tuple[str, list[PaperSentence]]]:
    """What to say under which heading, for a summary or for one thing asked for."""
    if what == "contributions":
        listed = quotes.contributions(_MOST)
        if listed:
            return [("Contributions", listed)]
        return _of_aspects(quotes, (("Method", 3), ("Results", 3)))
    if what == "limitations":
        listed = quotes.limitations(2 if is_short else _MOST_LIMITS)
        return [("Limits", listed)] if listed else _of_aspects(quotes, (("Limits", 4),))
    if what == "findings":
        return _of_aspects(quotes, (("Results", 2 if is_short else _MOST),))
    if what == "aims":
        return _of_aspects(quotes, (("Method", 1), ("Question", 3)))
    if is_short:
        return _of_aspects(quotes, (("Method", 2), ("Results", 2)))
    return _of_aspects(quotes, (("Method", 2), ("Results", 3), ("Limits", 2), ("Question", 1), ("Data", 2)))


def _of_aspects(quotes: SummaryQuotes, wanted: Sequence[tuple[str, int]]) -> list[tuple[str, list[PaperSentence]]]:
    """The best sentences of each aspect, the first ones choosing first, in the order of ASPECTS."""
    chosen: dict[str, list[PaperSentence]] = {}
    for name, most in wanted:
        before = [sentence for sentences in chosen.values() for sentence in sentences]
        chosen[name] = quotes.of(_BY_NAME[name], most, before)
    return [(aspect.name, chosen[aspect.name]) for aspect in ASPECTS if chosen.get(aspect.name)]


def _blocks(parts: Sequence[tuple[str, list[PaperSentence]]], *, has_headings: bool) -> list[Block]:
    blocks: list[Block] = []
    for name, sentences in parts:
        if has_headings and len(parts) > 1:
            blocks.append(Block("heading", name))
        blocks += [Block("quote", sentence.text, sentence.citations) for sentence in sentences]
    return blocks


def _confidence(parts: Sequence[tuple[str, list[PaperSentence]]], what: str) -> str:
    if not parts:
        return "low"
    names = {name for name, _ in parts}
    is_whole = {"Method", "Results"} <= names if what == "summary" else bool(names)
    return "high" if is_whole else "medium"
