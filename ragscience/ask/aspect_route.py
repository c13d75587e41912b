"""What a paper says of itself as a whole: a summary, its contributions, findings, limits, aims, and what it uses.

aspects.toml has the aspects. Of each the sentences are chosen that hold its words where such sentences stand, after the
classic features of extracts (Edmundson 1969, J. ACM 16(2)).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise, takewhile
from pathlib import Path

from ragscience.ask.paper_text import PaperSentence, PaperText
from ragscience.ask.route_records import RouteContext, Routed, label, listed
from ragscience.ask.slots import Slots
from ragscience.core.records import Block, Hit
from ragscience.core.tokenizing import joined_lines, terms
from ragscience.graph.graph_records import canonical
from ragscience.graph.local_extraction import own_names
from ragscience.search.names import PaperNames

_ASKED = {
    "summary": (("Method", 2), ("Results", 3), ("Limits", 2), ("Question", 1), ("Data", 2)),
    "definition": (("Method", 2),),
    "contributions": (("Contributions", 6),),
    "findings": (("Results", 6),),
    "limitations": (("Limits", 8),),
    "aims": (("Method", 1), ("Question", 3)),
}
"""The aspects that a kind of question asks for, and how many sentences; of the other kinds the one of their name."""
_MOST_QUALIFIERS, _MOST_LISTED = 5, 20
_OF_SEVERAL = (("Method", 2), ("Results", 2))
"""Of each of several papers."""
_MOST_PAPERS = 6
_MOST_ANNOUNCED = 10
_MOST_NAMES, _MOST_PLACES = 12, 4
_BEGINNING = 3
"""Sentences from which a summary begins where none says what the paper does."""
_LEANS = re.compile(
    r"(?:this|these|those|it|they|such|that|thus|therefore|hence|also|but|and|so|second|third|finally|section|here)\b|"
    r".{0,300}\b(?:fig(?:ure)?s?|tables?|sections?|appendix|eqs?|equations?|above|below)\b",
    re.IGNORECASE,
)
"""A sentence that says nothing by itself, or announces what stands elsewhere."""
_IS_A = re.compile(r"((?:\S+ ){0,4}\S+) (?:is|are) (?:a|an|the)\b")
_OWN = re.compile(r"\b(?:we|our|ours)\b", re.IGNORECASE)
_LEAST, _LIKE = 1.5, 0.6
"""The score from which on a sentence says an aspect; the share of its words that another may have."""


@dataclass(frozen=True, slots=True)
class Aspect:
    """An aspect, as aspects.toml has it."""

    name: str
    words: re.Pattern[str]
    heading: re.Pattern[str]
    zones: dict[str, float]
    gives: str = ""
    values: bool = False
    types: tuple[str, ...] = ()
    """Of the graph's entities: names of these types are what is asked for."""


def _words(texts: Sequence[str], behind: str = "") -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(texts)}){behind}", re.IGNORECASE)


@cache
def _table() -> tuple[dict[str, Aspect], dict[str, re.Pattern[str]]]:
    """aspects.toml: the aspects and the zones, by name, in its order."""
    given = tomllib.loads(Path(__file__).with_name("aspects.toml").read_text("utf-8"))
    zones = {name: _words(words) for name, words in given.pop("zones").items()}
    found = dict[str, Aspect]()
    for name, one in given.items():
        words, heading = _words(one.pop("words"), r"\b"), _words([one.pop("heading", "(?!)")])
        found[name] = Aspect(name, words, heading, types=tuple(one.pop("types", ())), **one)
    return found, zones


def aspects() -> dict[str, Aspect]:
    """All aspects, by name, in the order in which a summary has them."""
    return _table()[0]


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The sentences of the papers that say what was asked for; None where none does, or something else is asked."""
    papers = [_AspectSentences(PaperText(context.library, paper), context.names) for paper in slots.papers]
    if kind not in (*_ASKED, "comparison"):
        return _listed(aspects()[kind], papers[0], slots) if len(papers) == 1 else None
    if len(slots.extra) > (kind != "comparison"):
        return None  # it asks for something in them: the passages say more
    if kind != "comparison":
        return _said(kind, papers[:_MOST_PAPERS])
    note = "Says what each paper is about: the question names nothing to compare them by."
    routed = _said("summary", papers[:_MOST_PAPERS])
    return routed and replace(routed, route="comparison", note=note, confidence="medium")


def _listed(aspect: Aspect, said: _AspectSentences, slots: Slots) -> Routed | None:
    """The sentences and tables that say what a paper uses: data sets, baselines, measures, hyperparameters."""
    if len(slots.extra) > _MOST_QUALIFIERS:
        return None
    found, paper = said.ranked(aspect, slots.extra)[:_MOST_LISTED], said.paper
    blocks = [Block("quote", one.text, one.citations, is_brief=n > 1) for n, one in enumerate(found)]
    for caption, part in pairwise(paper.parts) if aspect.values else ():
        text, is_asked = joined_lines(caption.text), not slots.extra or slots.extra & {*terms(caption.text)}
        if (caption.kind, part.kind) == ("caption", "table") and is_asked and aspect.heading.search(text):
            blocks.insert(0, Block("table", part.text.strip(), paper.cite([caption, part]), text))
    if not blocks:
        return None
    blocks = [*said.named(aspect, found), *blocks] if aspect.types else blocks
    hits = paper.hits([cited for block in blocks for cited in block.citations], "list")
    note = (
        f"Looked for the {aspect.name.replace('_', ' ')} of “{label(paper.paper, year=False)}” in its text and tables."
    )
    return Routed("list", note, tuple(blocks), hits, "medium", for_llm=True)


def _said(kind: str, papers: Sequence[_AspectSentences]) -> Routed | None:
    blocks, hits, confidences = list[Block](), list[Hit](), list[str]()
    for said in papers:
        paper = said.paper
        wanted = _OF_SEVERAL if kind == "summary" and len(papers) > 1 else _ASKED[kind]
        parts = said.of_all(wanted)
        if kind == "contributions" and not parts:
            parts = said.of_all((("Method", 3), ("Results", 3)))
        is_whole = len({"Method", "Results"} & parts.keys()) == 2 if kind == "summary" else bool(parts)
        is_whole &= kind != "limitations" or len(parts.get("Limits", ())) > 1
        is_whole &= kind != "definition" or any(said.is_named(one.text) for one in parts.get("Method", ()))
        confidences.append("high" if is_whole else "medium" if parts else "low")
        if not parts and kind == "summary":
            parts = {"Beginning": list(paper.sentences[:_BEGINNING])}
        if len(papers) > 1:
            blocks.append(Block("heading", label(paper.paper, year=False)))
        for name, sentences in parts.items():
            blocks += [Block("heading", name)] if len(parts) > 1 and len(papers) == 1 else []
            blocks += [Block("quote", one.text, one.citations) for one in sentences]
        cited = [each for sentences in parts.values() for one in sentences for each in one.citations]
        hits += paper.hits(cited, "summary")
    if not hits:
        return None
    titles = " and ".join(f"“{label(said.paper.paper, year=False)}”" for said in papers)
    note = f"Chose sentences of {titles} by where they stand and what they announce."
    worst = next(level for level in ("low", "medium", "high") if level in confidences)
    return Routed("summary", note, tuple(blocks), tuple(hits), worst, for_llm=True)


@dataclass
class _AspectSentences:
    """The sentences of one paper by what they say of it."""

    paper: PaperText
    names: PaperNames

    def of_all(self, wanted: Sequence[tuple[str, int]]) -> dict[str, list[PaperSentence]]:
        """The best sentences of each aspect, none like another, the first aspects choosing first."""
        chosen: dict[str, list[PaperSentence]] = {}
        taken = list[set[str]]()
        for name, most in wanted:
            own = list[PaperSentence]()
            for sentence in self.ranked(aspects()[name]):
                words = set(terms(sentence.text))
                is_new = all(len(words & other) < _LIKE * min(len(words), len(other)) for other in taken)
                if len(own) < most and is_new:
                    own.append(sentence)
                    taken.append(words)
            own.sort(key=self.paper.sentences.index)
            chosen[name] = list(dict.fromkeys(each for one in own for each in self._announced(one)))
        return {name: chosen[name] for name in aspects() if chosen.get(name)}

    def _announced(self, sentence: PaperSentence) -> list[PaperSentence]:
        """A sentence, and the items of a list behind its colon."""
        after = self.paper.sentences[self.paper.sentences.index(sentence) + 1 :]
        is_open = sentence.text.rstrip().endswith(":")
        return [sentence, *takewhile(lambda one: is_open and one.kind == "list", after[:_MOST_ANNOUNCED])]

    def ranked(self, aspect: Aspect, wanted: frozenset[str] = frozenset()) -> list[PaperSentence]:
        """The sentences that say an aspect, the best first; of `wanted` terms they or their headings hold one."""
        scored = [
            (self._score(one, zone, aspect), one)
            for one, zone in zip(self.paper.sentences, self._zones, strict=True)
            if not wanted or wanted & {*terms(one.text), *terms(one.section)}
        ]
        return [one for score, one in sorted(scored, key=lambda each: -each[0]) if score >= _LEAST]

    def named(self, aspect: Aspect, sentences: Sequence[PaperSentence]) -> list[Block]:
        """The names of the aspect's types in its sentences, those of most sentences first, with the places of some."""
        known = own_names(self.paper.chunks, frozenset(aspect.types))
        found = dict[str, list[tuple[str, PaperSentence]]]()
        for one in sentences:
            for match in {canonical(match[0]): match[0] for match in known.pattern.finditer(one.text)}.items():
                if match[0] in known.kinds and not (match[1].islower() or self.is_named(match[1])):
                    found.setdefault(match[0], []).append((match[1], one))
        best = sorted(found.values(), key=len, reverse=True)[:_MOST_NAMES]
        cited = {place.page: place for each in best for place in each[0][1].citations}
        what = aspect.name.replace("_", " ")
        said = f"Its sentences on {what} name {listed([each[0][0] for each in best])}."
        return [Block("text", said, tuple(cited.values())[:_MOST_PLACES])] if best else []

    @cached_property
    def _zones(self) -> list[str]:
        """The zone of each sentence; without an abstract, what comes before the first heading is one."""
        has_abstract = any(part.kind == "abstract" for part in self.paper.parts)
        zones = list[str]()
        for one in self.paper.sentences:
            zone = zone_of(one.section, one.kind)
            if not one.section and one.kind != "abstract":
                zone = "other" if has_abstract else "abstract"
            zones.append(zone)
        return zones

    def is_named(self, text: str, end: int | None = None) -> bool:
        """Whether a text has the name of the paper's work, there that ends at `end`."""
        mine = self.paper.paper.paper_id
        return any(one.paper_id == mine and end in (None, one.end) for one in self.names.in_text(text))

    def _score(self, one: PaperSentence, zone: str, aspect: Aspect) -> float:
        """How well a sentence says an aspect; from _LEAST on it does."""
        text, is_called = one.text, bool(aspect.heading.search(one.section))
        is_item = text.rstrip().endswith(":") or (aspect.values and one.kind == "list")
        has_digit = any(map(str.isdigit, text))
        if not (zone in aspect.zones or is_called) or not (is_item or _is_sentence(text)):
            return 0.0
        held = {found.group().casefold() for found in aspect.words.finditer(text)}
        if aspect.name == "Method" and (said := _IS_A.match(text)) and self.is_named(said[1], said.end(1)):
            held |= {"is a"}
        if not (held or is_called) or (aspect.values and not has_digit):
            return 0.0
        score = aspect.zones.get(zone, 0.0) + 0.8 * bool(held) + 0.25 * min(max(len(held) - 1, 0), 4)
        score += is_called * (0.6 + 0.8 * one.is_first)
        if aspect.gives == "numbers":
            score += 0.7 * has_digit - 0.4
        return score + 0.5 * bool(aspect.gives and _OWN.search(text)) - 0.8 * bool(_LEANS.match(text))


def zone_of(section: str, kind: str) -> str:
    """What a section is for: the innermost heading that says so; "method" where none does."""
    zones = _table()[1].items()
    named = (zone for name in reversed(section.split(" › ")) for zone, words in zones if words.search(name))
    return "abstract" if kind == "abstract" else next(named, "method")


def _is_sentence(text: str) -> bool:
    """Whether it is a whole sentence of words, and no label or formula."""
    letters = sum(letter.isalpha() or letter == " " for letter in text)
    is_whole = (text[0].isupper() or text[0].isdigit()) and text.rstrip()[-1] in ".!?:”)"
    return is_whole and len(text) >= 45 and letters >= 0.55 * len(text)
