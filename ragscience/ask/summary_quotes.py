"""The sentences of a paper that say what it asks, does, uses, finds and leaves open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from ragscience.ask.paper_text import PaperSentence, PaperText
from ragscience.ask.summary_cues import ASPECTS, Aspect, zone_of
from ragscience.core.tokenizing import terms
from ragscience.search.names import PaperNames

_FIGURES = re.compile(r"\d\s?%|\d\.\d|\d\s?[×x]\b|\d\s(?:times|points|fold)|\d{2,}(?:,\d{3})?")
_YEAR_OR_SOURCE = re.compile(r"\(?\b(?:19|20)\d\d[a-z]?\b\)?|\[[\d, –-]{1,20}\]")
_LEANS = re.compile(
    r"(?:this|these|those|it|they|such|that|he|she|thus|therefore|hence|also|but|and|so|second|third|finally)\b", re.I
)
_POINTS = re.compile(r"\b(?:fig(?:ure)?s?|tables?|sections?|sec|appendix|eqs?|equations?|above|below)\b", re.I)
_ANNOUNCES = re.compile(
    r"(?:we (?:now |also |then |next |first |briefly )?(?:discuss|hope|thank|leave it|believe|conclude with)|"
    r"in this section|this section|(?:in )?the rest of|(?:in )?the remainder|availability|supplementary|key ?words|"
    r"section|here,? we discuss|for more|the remainder|the rest)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:we|our|ours)\b", re.IGNORECASE)
_OUR = re.compile(r"\bour\b", re.IGNORECASE)
_IS_A = re.compile(r"\s(?:is|are) (?:a|an|the)\b")
_LIMITS = re.compile(
    r"\b(?:not|only|cannot|limit\w{0,7}|however|fail\w{0,2}|lack\w{0,2}|neither|may|mostly|primarily|restrict\w{0,5})\b",
    re.I,
)
_NAMES_LIMIT = re.compile(r"\b(?:limitations?|drawbacks?|shortcomings?|weakness(?:es)?)\b", re.IGNORECASE)
_HOPES = re.compile(r"\b(?:hope\w{0,5}|inspir\w{1,4}|encourag\w{1,4})\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\b(?:to (?:determine|investigate|assess|examine|explore|evaluate|find out)|whether)\b", re.IGNORECASE
)
_SOURCE = re.compile(r"et al\.|\[\d")
_CONTRIBUTIONS = re.compile(r"\b(?:contributions?|our (?:main|key) (?:results|findings))\b", re.I)
_SPEAKS_OF_ITSELF = frozenset({"abstract", "introduction", "conclusion", "discussion", "data", "experiments"})
_LIKE = 0.6
_LONGEST = 420


@dataclass(frozen=True, slots=True)
class _Placed:
    """A sentence with its place in the paper."""

    sentence: PaperSentence
    zone: str
    along: float
    """How far along its zone it is, 0 to 1."""
    label: Aspect | None
    """In an abstract with labels, what its label names."""
    is_own: bool
    """Whether the paper speaks of its own work: "we", "our", its name."""
    says_what_it_is: bool
    """Whether it begins with the name of the paper's work, and "is a"."""


class SummaryQuotes:
    """The sentences of one paper by what they say of it."""

    def __init__(self, paper: PaperText, names: PaperNames) -> None:
        self._paper = paper
        self._names = names

    def of(self, aspect: Aspect, most: int, before: Sequence[PaperSentence] = ()) -> list[PaperSentence]:
        """At most `most` sentences for an aspect, in the order of the paper, none of them like one of `before`."""
        scored = [(_score(one, aspect), -n, one.sentence) for n, one in enumerate(self._placed)]
        best = sorted((each for each in scored if each[0] >= aspect.least), key=lambda each: each[:2], reverse=True)
        chosen: list[tuple[int, PaperSentence]] = []
        taken = [set(terms(sentence.text)) for sentence in before]
        for _, place, sentence in best:
            words = set(terms(sentence.text))
            shares = (len(words & other) / min(len(words), len(other)) for other in taken)
            if len(chosen) < most and not any(share >= _LIKE for share in shares):
                chosen.append((-place, sentence))
                taken.append(words)
        return [sentence for _, sentence in sorted(chosen, key=lambda each: each[0])]

    def contributions(self, most: int) -> list[PaperSentence]:
        """The first sentences of the items of the list that the introduction calls its contributions; else none."""
        paragraphs = self._paper.paragraphs
        for n, paragraph in enumerate(paragraphs):
            first = paragraph.parts[0]
            if zone_of(first.section, first.kind) != "introduction" or not _CONTRIBUTIONS.search(paragraph.text):
                continue
            items = [n] if first.kind == "list" else []
            while n + 1 < len(paragraphs) and paragraphs[n + 1].parts[0].kind == "list":
                n += 1
                items.append(n)
            if len(items) > 1:
                return [next(iter(self._paper.sentences_of(item))) for item in items][:most]
        return []

    def limitations(self, most: int) -> list[PaperSentence]:
        """Of a section of that name the first sentence of each paragraph and those that limit.

        Without one, the sentences that name a limitation of the paper's own work, each with the next of its paragraph.
        """
        begun: set[int] = set()
        found: list[tuple[bool, int, PaperSentence]] = []
        for n, sentence in enumerate(self._paper.sentences):
            if zone_of(sentence.section, sentence.kind) != "limits" or not is_sentence(sentence.text):
                continue
            is_first = sentence.paragraph not in begun
            begun.add(sentence.paragraph)
            if not _ANNOUNCES.match(sentence.text) and (is_first or _LIMITS.search(sentence.text)):
                found.append((not is_first, n, sentence))
        best = sorted(found, key=lambda each: each[:2])[:most]
        return [sentence for _, _, sentence in sorted(best, key=lambda each: each[1])] or self._named_limits(most)

    def _named_limits(self, most: int) -> list[PaperSentence]:
        named = list[PaperSentence]()
        for one, after in pairwise((*self._paper.sentences, None)):
            if one is None or one in named or zone_of(one.section, one.kind) == "related":
                continue
            if _ANNOUNCES.match(one.text):
                continue
            if _NAMES_LIMIT.search(one.text) and (_OUR.search(one.text) or self._named_at(one.text)):
                named += [one, after] if after is not None and after.paragraph == one.paragraph else [one]
        return named[:most]

    @cached_property
    def _placed(self) -> list[_Placed]:
        """The sentences with their zones; without an abstract, what comes before the first heading is one."""
        paper = self._paper
        has_abstract = any(part.kind == "abstract" for part in paper.parts)
        last_reference = max((part.start for part in paper.parts if part.kind == "reference"), default=None)
        zones: list[str] = []
        for sentence in paper.sentences:
            zone = zone_of(sentence.section, sentence.kind)
            if zone == "abstract" and has_abstract and sentence.kind != "abstract":
                zone = "introduction"
            if not sentence.section and zone == "method":
                zone = "other" if has_abstract else "abstract"
            if last_reference is not None and sentence.citations[0].start > last_reference:
                zone = "other"
            zones.append(zone)
        many, seen = Counter(zones), Counter[str]()
        label: Aspect | None = None
        placed = []
        for sentence, zone in zip(paper.sentences, zones, strict=True):
            if zone == "abstract" and has_abstract:
                label = next((one for one in ASPECTS if one.label.match(sentence.text)), label)
            own, is_a = self._own_in(sentence.text) if zone in _SPEAKS_OF_ITSELF else (False, False)
            known = label if zone == "abstract" else None
            placed.append(_Placed(sentence, zone, seen[zone] / many[zone], known, own, is_a))
            seen[zone] += 1
        return placed

    def _own_in(self, text: str) -> tuple[bool, bool]:
        """As `_Placed.is_own` and `_Placed.says_what_it_is`."""
        named = self._named_at(text)
        is_a = any(start == 0 and _IS_A.match(text, end) for start, end in named)
        return bool(named or _OWN.search(text)), is_a

    def _named_at(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each name of the paper's work in a text."""
        mine = self._paper.paper.paper_id
        return [(one.start, one.end) for one in self._names.in_text(text) if one.paper_id == mine]


def _score(one: _Placed, aspect: Aspect) -> float:
    """How well a sentence says an aspect; from 1.5 on it does."""
    text, label = one.sentence.text, one.label
    if one.zone not in aspect.zones or not is_sentence(text):
        return 0.0
    held = len({match.group().casefold() for match in aspect.cues.finditer(text)})
    held += aspect.name == "Method" and one.says_what_it_is
    if not held and label is not aspect and one.zone != "limits":
        return 0.0
    score = aspect.zones[one.zone] + (0.8 if held else 0.0) + 0.2 * min(max(held - 1, 0), 2)
    if label is not None:
        score += 1.0 if label is aspect else -0.8
    if aspect.needs_number:
        score += 0.7 * bool(_FIGURES.search(_YEAR_OR_SOURCE.sub(" ", text))) + 0.5 * one.is_own
    if one.zone == "abstract":
        score += {"Question": 0.5 * (1 - one.along) - 0.5 * one.is_own, "Results": 0.7 * one.along}.get(
            aspect.name, 0.0
        )
    score += 0.4 * (one.zone == "limits" and one.sentence.is_first)
    score -= 0.6 * (len(text) > _LONGEST) + 0.5 * bool(_LEANS.match(text)) + 0.4 * bool(_POINTS.search(text))
    score -= 0.8 * (aspect.name == "Limits" and bool(_HOPES.search(text)))
    score -= 1.5 * bool(_ANNOUNCES.match(text)) + 1.5 * (aspect.name == "Results" and bool(_ASKS.search(text)))
    return score - 0.25 * min(len(_SOURCE.findall(text)), 3)


def is_sentence(text: str) -> bool:
    """Whether it is a whole sentence of words, and no label or formula."""
    letters = sum(letter.isalpha() or letter == " " for letter in text)
    is_whole = (text[0].isupper() or text[0].isdigit()) and text.rstrip()[-1] in ".!?”)"
    return is_whole and len(text) >= 45 and letters >= 0.55 * len(text)
