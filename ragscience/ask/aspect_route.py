"""What a paper says of itself as a whole: a summary, its contributions, findings, limits, aims, and what it uses.

Which sentences say so is told by a model of words, headings and places (said_of_paper.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from ragscience.ask.paper_text import PaperSentence, PaperText
from ragscience.ask.route_records import RouteContext, Routed, label, listed
from ragscience.ask.said_of_paper import ASPECTS, chances
from ragscience.ask.slots import Slots
from ragscience.core.records import Block, Hit, title_of
from ragscience.core.tokenizing import joined_lines, terms
from ragscience.graph.graph_records import canonical
from ragscience.graph.local_extraction import own_names
from ragscience.search.names import PaperNames

_ASKED = {
    "summary": (("method", 2), ("results", 3), ("limits", 2), ("question", 1), ("data_sets", 2)),
    "definition": (("method", 2),),
    "contributions": (("contributions", 6),),
    "findings": (("results", 6),),
    "limitations": (("limits", 8),),
    "aims": (("method", 1), ("question", 3)),
}
"""The aspects that a kind of question asks for, and how many sentences; of the other kinds the one of their name."""
_CORE = ("method", "results")
"""What a summary has wherever anything says it; the rest is to be surer."""
_HEADINGS = {"question": "Question", "method": "Method", "data_sets": "Data", "results": "Results", "limits": "Limits"}
_MOST_QUALIFIERS, _MOST_LISTED = 5, 20
_OF_SEVERAL = (("method", 2), ("results", 2))
"""Of each of several papers."""
_MOST_PAPERS = 6
_MOST_ANNOUNCED, _MOST_QUOTED = 10, 5
_MOST_NAMES, _MOST_PLACES = 12, 4
_BEGINNING = 3
"""Sentences from which a summary begins where none says what the paper does."""
_TYPES = {"data_sets": ("DATASET", "CONCEPT"), "baselines": ("METHOD", "ALGORITHM", "CONCEPT")}
"""Of the graph's entities: names of these types are what is asked for."""
_HEADED = {
    name: frozenset(terms(words))
    for name, words in {
        "limits": "limitations limits weaknesses drawbacks",
        "contributions": "contributions",
        "data_sets": "data datasets corpora",
        "baselines": "baselines compared",
        "tasks": "tasks",
        "metrics": "metrics measures",
        "hyperparameters": "hyperparameters hyper",
    }.items()
}
"""Words of a heading, of a table's caption, or of what announces a list, under which little else is said."""
_UNDER_IT = 3.0
"""What its odds are multiplied by, as a power of e."""
_BEHIND = 0.5
"""What the chance of a sentence in an appendix is multiplied by."""
_IS_A = re.compile(r"((?:\S+ ){0,4}\S+) (?:is|are) (?:a|an|the)\b")
_LEAST, _SURE, _LIKE = 0.15, 0.5, 0.6
"""The chance from which on a sentence says an aspect, and surely does; the share of its words that another may have."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The sentences of the papers that say what was asked for; None where none does, or something else is asked."""
    papers = [_AspectSentences(PaperText(context.library, paper), context.names) for paper in slots.papers]
    if kind not in (*_ASKED, "comparison"):
        return _listed(kind, papers[0], slots) if len(papers) == 1 else None
    titles = terms(" ".join(f"{title_of(paper)} {paper.file}" for paper in slots.papers))
    names = terms(" ".join(slots.question[start:end] for start, end in slots.spans))
    is_inside = kind == "definition" and bool(names) and {*names}.isdisjoint(titles)  # a part of a paper's work
    if len(slots.extra) > (kind != "comparison") or is_inside:
        return None  # it asks for something in them: the passages say more
    if kind != "comparison":
        return _said(kind, papers[:_MOST_PAPERS])
    note = "Says what each paper is about: the question names nothing to compare them by."
    routed = _said("summary", papers[:_MOST_PAPERS])
    return routed and replace(routed, route="comparison", note=note, confidence="medium")


def _listed(aspect: str, said: _AspectSentences, slots: Slots) -> Routed | None:
    """The sentences and tables that say what a paper uses: data sets, baselines, measures, hyperparameters."""
    if len(slots.extra) > _MOST_QUALIFIERS:
        return None
    ranked, paper = said.ranked(aspect, slots.extra), said.paper
    found = list(dict.fromkeys(each for one in ranked for each in said.announced(one)))[:_MOST_LISTED]
    blocks = [Block("quote", one.text, one.citations, is_brief=n >= _MOST_QUOTED) for n, one in enumerate(found)]
    for caption, part in pairwise(paper.parts) if aspect == "hyperparameters" else ():
        text, words = joined_lines(caption.text), {*terms(caption.text)}
        is_asked = _HEADED[aspect] & words and (not slots.extra or slots.extra & words)
        if (caption.kind, part.kind) == ("caption", "table") and is_asked:
            blocks.insert(0, Block("table", part.text.strip(), paper.cite([caption, part]), text))
    if not blocks:
        return None
    blocks = [*said.named(aspect, found), *blocks] if aspect in _TYPES else blocks
    hits = paper.hits([cited for block in blocks for cited in block.citations], "list")
    note = f"Looked for the {aspect.replace('_', ' ')} of “{label(paper.paper, year=False)}” in its text and tables."
    return Routed("list", note, tuple(blocks), hits, "medium", for_llm=True)


def _said(kind: str, papers: Sequence[_AspectSentences]) -> Routed | None:
    blocks, hits, confidences = list[Block](), list[Hit](), list[str]()
    for said in papers:
        paper = said.paper
        wanted = _OF_SEVERAL if kind == "summary" and len(papers) > 1 else _ASKED[kind]
        parts = said.of_all(wanted)
        if kind == "contributions" and not parts:
            parts = said.of_all((("method", 3), ("results", 3)))
        is_whole = parts.keys() >= {*_CORE} if kind == "summary" else bool(parts)
        is_whole &= kind != "limitations" or len(said.surely("limits")) > 1
        is_whole &= kind != "definition" or any(said.is_named(one.text) for one in parts.get("method", ()))
        confidences.append("high" if is_whole else "medium" if parts else "low")
        if not parts and kind == "summary":
            parts = {"beginning": list(paper.sentences[:_BEGINNING])}
        if len(papers) > 1:
            blocks.append(Block("heading", label(paper.paper, year=False)))
        for name, sentences in parts.items():
            blocks += [Block("heading", _HEADINGS[name])] if len(parts) > 1 and len(papers) == 1 else []
            blocks += [Block("quote", one.text, one.citations) for one in sentences]
        cited = [each for sentences in parts.values() for one in sentences for each in one.citations]
        hits += paper.hits(cited, "summary")
    if not hits:
        return None
    titles = " and ".join(f"“{label(said.paper.paper, year=False)}”" for said in papers)
    note = f"Chose sentences of {titles} by their words, headings and places."
    worst = next(level for level in ("low", "medium", "high") if level in confidences)
    return Routed("summary", note, tuple(blocks), tuple(hits), worst, for_llm=True)


@dataclass
class _AspectSentences:
    """The sentences of one paper by what they say of it."""

    paper: PaperText
    names: PaperNames

    def of_all(self, wanted: Sequence[tuple[str, int]]) -> dict[str, list[PaperSentence]]:
        """The best sentences of each aspect, none like another, the first aspects choosing first.

        Those of one aspect alone are in their order, the best first, those of several in the paper's.
        """
        chosen: dict[str, list[PaperSentence]] = {}
        taken = list[set[str]]()
        for name, most in wanted:
            own = list[PaperSentence]()
            is_core = len(wanted) == 1 or name in _CORE
            for sentence in self.ranked(name, least=_LEAST if is_core else 2 * _LEAST):
                words = set(terms(sentence.text))
                is_new = all(len(words & other) < _LIKE * min(len(words), len(other)) for other in taken)
                if len(own) < most and is_new:
                    own.append(sentence)
                    taken.append(words)
            if len(wanted) > 1:
                own.sort(key=self.paper.sentences.index)
            chosen[name] = list(dict.fromkeys(each for one in own for each in self.announced(one)))
        return {name: chosen[name] for name in ASPECTS if chosen.get(name)}

    def announced(self, sentence: PaperSentence) -> list[PaperSentence]:
        """A sentence, and the items of a list behind its colon."""
        after = self.paper.sentences[self.paper.sentences.index(sentence) + 1 :]
        is_open = sentence.text.rstrip().endswith(":")
        return [sentence, *takewhile(lambda one: is_open and one.kind == "list", after[:_MOST_ANNOUNCED])]

    def ranked(self, aspect: str, wanted: frozenset[str] = frozenset(), least: float = _LEAST) -> list[PaperSentence]:
        """The sentences that say an aspect, the best first; of `wanted` terms they or their headings hold one."""
        scores = self._scores[:, ASPECTS.index(aspect)]
        return [
            one
            for at in np.argsort(-scores, kind="stable")
            if scores[at] >= least
            and (one := self.paper.sentences[at])
            and (not wanted or wanted & {*terms(one.text), *terms(one.section)})
        ]

    def surely(self, aspect: str) -> list[PaperSentence]:
        """Those of the sentences that surely say it."""
        scores = self._scores[:, ASPECTS.index(aspect)]
        return [self.paper.sentences[at] for at in np.flatnonzero(scores >= _SURE)]

    @cached_property
    def _scores(self) -> NDArray[np.float32]:
        """[sentences, aspects]: the chance, more under a heading of it, less in an appendix, none of fragments."""
        found = chances(self.paper.sentences)
        appendix = min((part.start for part in self.paper.parts if part.kind == "reference"), default=math.inf)
        for at, one in enumerate(self.paper.sentences):
            is_open = one.text.rstrip().endswith(":")
            above = {*terms(one.section.rpartition(" › ")[2]), *terms(one.text if is_open else "")}
            for column, name in enumerate(ASPECTS):
                if above & _HEADED.get(name, frozenset()):
                    found[at, column] = 1 / (1 + (1 / found[at, column] - 1) * math.exp(-_UNDER_IT))
            is_open = is_open or (one.kind == "list" and any(map(str.isdigit, one.text)))
            is_behind = any(cited.start > appendix for cited in one.citations)
            found[at] *= (is_open or _is_sentence(one.text)) * (_BEHIND if is_behind else 1.0)
            if (said := _IS_A.match(one.text)) and self.is_named(said[1], said.end(1)):
                found[at, ASPECTS.index("method")] = max(found[at, ASPECTS.index("method")], _SURE)
        return found

    def named(self, aspect: str, sentences: Sequence[PaperSentence]) -> list[Block]:
        """The names of the aspect's types in its sentences, those of most sentences first, with the places of some."""
        known = own_names(self.paper.chunks, frozenset(_TYPES[aspect]))
        found = dict[str, list[tuple[str, PaperSentence]]]()
        for one in sentences:
            for match in {canonical(match[0]): match[0] for match in known.pattern.finditer(one.text)}.items():
                if match[0] in known.kinds and not (match[1].islower() or self.is_named(match[1])):
                    found.setdefault(match[0], []).append((match[1], one))
        best = sorted(found.values(), key=len, reverse=True)[:_MOST_NAMES]
        cited = {place.page: place for each in best for place in each[0][1].citations}
        what = aspect.replace("_", " ")
        said = f"Its sentences on {what} name {listed([each[0][0] for each in best])}."
        return [Block("text", said, tuple(cited.values())[:_MOST_PLACES])] if best else []

    def is_named(self, text: str, end: int | None = None) -> bool:
        """Whether a text has the name of the paper's work, there that ends at `end`."""
        mine = self.paper.paper.paper_id
        return any(one.paper_id == mine and end in (None, one.end) for one in self.names.in_text(text))


def _is_sentence(text: str) -> bool:
    """Whether it is a whole sentence of words, and no label or formula."""
    letters = sum(letter.isalpha() or letter == " " for letter in text)
    is_whole = (text[0].isupper() or text[0].isdigit()) and text.rstrip()[-1] in ".!?:”)"
    return is_whole and len(text) >= 45 and letters >= 0.55 * len(text)
