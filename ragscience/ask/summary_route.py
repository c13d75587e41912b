"""Questions for what a paper is about as a whole: a summary, its contributions, findings, methods or limitations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ragscience.ask.asked_papers import AskedPapers
from ragscience.ask.paper_text import PaperText, Sentence
from ragscience.ask.router import RouteContext, Routed
from ragscience.ask.summary_cues import ASPECTS
from ragscience.ask.summary_quotes import SummaryQuotes
from ragscience.core.records import Block, Hit, Paper, title_of

__all__ = ["answer"]

_POLITE = (
    r"(?:please |can you |could you |would you |i (?:want|need|would like) |show |give |write |provide |get |me |us )*+"
)
_REF = r"(?P<ref>[^?]{1,300}?)"
_END = r"(?: (?:according to|as stated by|that)\b.{0,60})?(?: (?:please|briefly|in short|for me))?\s?[?.!]?"
_WHAT = (
    r"(?P<asked>contributions?|findings?|results?|limitations?|limits|weakness(?:es)?|shortcomings?|drawbacks?|"
    r"conclusions?|"
    r"takeaways?|ideas?|points?|messages?|novelty|goals?|aims?|objectives?|purpose|motivation|research questions?|"
    r"hypothes[ie]s|method(?:s|ology)?|approach)"
)
_MAIN = r"(?:main |key |major |core |central |primary |principal |most important |overall |biggest |stated )?"
_FRAMES = tuple(
    re.compile(pattern + _END, re.IGNORECASE)
    for pattern in (
        _POLITE + r"(?:an? |the )?(?:brief |short |quick |concise |high[- ]level )?(?:summari[sz]e|sum up|"
        r"(?:summary|overview|outline|synopsis|gist|tl;?dr)(?: of| for| on)?:?) " + _REF,
        r"what(?:['’]s| is| are) " + _REF + r" (?:all |mainly )?about",
        r"tell me (?:what|about what) " + _REF + r" (?:is|are) about",
        r"what (?:does|do|did) "
        + _REF
        + r" (?P<verb>say|propose|present|introduce|find|show|conclude|contribute|claim|argue)",
        _POLITE
        + r"(?:what(?:['’]s| is| are| were)|list|describe|explain|name|state)? ?(?:the |some )?"
        + _MAIN
        + _WHAT
        + r" (?:of|in|from|behind|reported (?:in|by)|made by|presented in) "
        + _REF,
        r"(?:what(?:['’]s| is| are| were) )?" + _REF + r"['’]s? " + _MAIN + _WHAT,
    )
)
_COMPARISONS = tuple(
    re.compile(pattern + _END, re.IGNORECASE)
    for pattern in (
        r"(?:what(?:['’]s| is| are) )?(?:the )?" + _MAIN + r"differences? between " + _REF,
        _POLITE + r"(?:compare|contrast)(?: and contrast)? " + _REF,
        r"how (?:do|does|did|are|is) " + _REF + r" (?:differ(?:ent)?|compare)(?: (?:from|to|with) each other)?",
        _REF + r" (?:vs\.?|versus) (?P<other>[^?]{1,100}?)",
    )
)
"""Comparisons that name no attribute: what there is to say of each is what it is about."""
_ASPECT_OF = {
    "contributions": ("contribut", "novel", "propose", "present", "introduce"),
    "findings": ("finding", "result", "conclu", "takeaway", "find", "show"),
    "limitations": ("limit", "weak", "shortcoming", "drawback"),
    "method": ("method", "approach", "idea"),
    "question": ("goal", "aim", "objective", "purpose", "motivation", "research question", "hypothes"),
}
"""What is asked for, by how the words for it begin; a summary for all others."""
_BY_NAME = {aspect.name: aspect for aspect in ASPECTS}
_THESE = re.compile(
    r"(?:(?:both|each|all)(?: of)? ?)?(?:(?:these|those|the|my|our) ?)?(?:(?:two|three|four|five|six|[2-6]) )?"
    r"(?:papers?|articles?|studies|works|preprints?|manuscripts?|pdfs?|documents?)|(?:both|all)(?: of (?:them|these))?|"
    r"them|these",
    re.IGNORECASE,
)
"""All papers that the filters leave, where they are few."""
_MOST = 6
_MOST_LIMITS = 8
_MOST_PAPERS = 6


def answer(question: str, context: RouteContext) -> Routed | None:
    """Quotes that say what a paper is about, by what they say; None for a question that says more than that."""
    if not any(word in question.casefold() for word in _TRIGGERS):
        return None
    asked = AskedPapers.of(question, context)
    for frame in _FRAMES:
        match = frame.fullmatch(asked.question)
        papers = _meant(match["ref"], asked) if match else ()
        if match and papers:
            groups = match.groupdict()
            what = (groups.get("asked") or groups.get("verb") or "").casefold()
            texts = [PaperText(context.library, paper) for paper in papers[:_MOST_PAPERS]]
            return _routed(
                context, texts, next((name for name, words in _ASPECT_OF.items() if what.startswith(words)), "summary")
            )
    return _compared(asked, context)


def _meant(words: str, asked: AskedPapers) -> tuple[Paper, ...]:
    """The papers that the words mean: those named or described, or "these papers", which are all that there are."""
    papers = asked.meant_by(words)
    is_all = not papers and len(asked.library) <= _MOST_PAPERS and _THESE.fullmatch(words.strip(" ,"))
    return asked.library if is_all else papers


def _compared(asked: AskedPapers, context: RouteContext) -> Routed | None:
    """Summaries of the papers that are compared as a whole, one after the other; None for any other question."""
    for frame in _COMPARISONS:
        match = frame.fullmatch(asked.question)
        named = f"{match['ref']} and {match.groupdict().get('other') or ''}" if match else ""
        papers = (asked.meant_by(named) or _meant(match["ref"], asked)) if match else ()
        if len(papers) > 1:
            texts = [PaperText(context.library, paper) for paper in papers[:_MOST_PAPERS]]
            routed = _routed(context, texts, "summary")
            note = "Says what each paper is about: the question names nothing to compare them by."
            return replace(routed, route="comparison", note=note, confidence="medium")
    return None


_TRIGGERS = [
    "summar",
    "sum",
    "overview",
    "outline",
    "synopsis",
    "gist",
    "tl;dr",
    "tldr",
    "about",
    "what",
    "contribution",
    "finding",
    "result",
    "limit",
    "weakness",
    "shortcoming",
    "drawback",
    "conclusion",
    "takeaway",
    "idea",
    "compare",
    "contrast",
    "differ",
    " vs",
    "versus",
]


def _routed(context: RouteContext, texts: Sequence[PaperText], what: str) -> Routed:
    blocks: list[Block] = []
    hits: list[Hit] = []
    confidences = []
    for paper in texts:
        parts = _parts(SummaryQuotes(paper, context.names), what, is_short=len(texts) > 1)
        chosen = [sentence for _, sentences in parts for sentence in sentences]
        if len(texts) > 1:
            blocks.append(Block("heading", title_of(paper.paper), (), ""))
        confidences.append(_confidence(parts, what))
        blocks += _blocks(paper, what, parts, has_headings=len(texts) == 1)
        hits += paper.hits([cited for sentence in chosen for cited in sentence.citations], "summary")
    titles = " and ".join(f"“{title_of(paper.paper)}”" for paper in texts)
    note = f"Chose sentences of {titles} by where they stand and what they announce."
    worst = next(level for level in ("low", "medium", "high") if level in confidences)
    return Routed("summary", note, tuple(blocks), tuple(hits), worst, for_llm=bool(hits))


def _parts(quotes: SummaryQuotes, what: str, *, is_short: bool) -> list[tuple[str, list[Sentence]]]:
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
    if what == "method":
        return _of_aspects(quotes, (("Method", 2 if is_short else 4),))
    if what == "question":
        return _of_aspects(quotes, (("Method", 1), ("Question", 3)))
    if is_short:
        return _of_aspects(quotes, (("Method", 2), ("Results", 2)))
    return _of_aspects(quotes, (("Method", 2), ("Results", 3), ("Limits", 2), ("Question", 1), ("Data", 2)))


def _of_aspects(quotes: SummaryQuotes, wanted: Sequence[tuple[str, int]]) -> list[tuple[str, list[Sentence]]]:
    """The best sentences of each aspect, the first ones choosing first, in the order of ASPECTS."""
    chosen: dict[str, list[Sentence]] = {}
    for name, most in wanted:
        before = [sentence for sentences in chosen.values() for sentence in sentences]
        chosen[name] = quotes.of(_BY_NAME[name], most, before)
    return [(aspect.name, chosen[aspect.name]) for aspect in ASPECTS if chosen.get(aspect.name)]


def _blocks(
    paper: PaperText, what: str, parts: Sequence[tuple[str, list[Sentence]]], *, has_headings: bool
) -> list[Block]:
    if not parts:
        return [Block("text", f"No sentence of “{title_of(paper.paper)}” names {_IN_WORDS[what]}.")]
    blocks: list[Block] = []
    for name, sentences in parts:
        if has_headings and len(parts) > 1:
            blocks.append(Block("heading", name))
        blocks += [Block("quote", sentence.text, sentence.citations) for sentence in sentences]
    return blocks


_IN_WORDS = {
    "summary": "what it is about in words that are known here",
    "contributions": "a contribution",
    "limitations": "a limitation",
    "findings": "a finding",
    "method": "the method",
    "question": "the question",
}


def _confidence(parts: Sequence[tuple[str, list[Sentence]]], what: str) -> str:
    if not parts:
        return "low"
    names = {name for name, _ in parts}
    is_whole = {"Method", "Results"} <= names if what == "summary" else bool(names)
    return "high" if is_whole else "medium"
