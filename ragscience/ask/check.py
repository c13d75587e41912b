"""Checks every sentence of an answer against the pages that it cites; deterministic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.ask.answer_sentences import AnswerSentence, split_answer
from ragscience.ask.citations import Mention, find_mentions
from ragscience.ask.evidence import EvidenceIndex, Place
from ragscience.ask.support import SUPPORT_THRESHOLD, Claim, Finding, Quote, SupportScorer, judge, verbatim_quotes
from ragscience.core.paper_records import page_label
from ragscience.core.records import Citation, Hit, Sentence

if TYPE_CHECKING:
    from ragscience.models.model_protocols import Reranker

__all__ = ["Checked", "check"]

_RANK = {"unsupported": 0, "weak": 1, "supported": 2, "no-claim": 3}
_FEWEST_TERMS = 3
"""A part before a citation with fewer content words is not a claim: it is joined with the next."""
_CLEARLY_BETTER = 0.25
"""Share of a sentence's terms that another page must hold more than the cited one, to be put in its place."""
_MOST_PLACES = 6
"""A sentence that cites more pages is checked as it is."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer whose citations all point at passages given, and what these hold of it."""

    text: str
    """With each citation as `(file.pdf, p.N)`, unknown ones taken out, wrong pages corrected."""
    citations: tuple[Citation, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    """In order; the text of each is in `text`, as it is here."""
    unknown: int = 0
    """How many citations were taken out, because no passage given is from there."""
    corrected: int = 0
    """How many pages were changed to the page of the same paper that holds the sentence."""
    warnings: tuple[str, ...] = ()


def check(
    text: str, hits: Sequence[Hit], *, scorer: Reranker | None, on_sentence: Callable[[], None] = lambda: None
) -> Checked:
    """`text` with its citations resolved against the passages given, and a verdict on each sentence.

    A sentence is held against the pages that it cites, or each part of it against the citation behind that part. One
    that cites nothing is at most weak. `scorer` may lift and lower what the words leave open, never past a number, a
    name or a denial that is not on the page; when it fails, words alone decide and a warning says so.
    `on_sentence` is called before each sentence, and may raise.
    """
    return _Check(text, hits, scorer).done(on_sentence)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A claim and the mentions behind it, by number."""

    claim: Claim
    mentions: tuple[int, ...]


class _Check:
    """One answer under way."""

    def __init__(self, text: str, hits: Sequence[Hit], scorer: Reranker | None) -> None:
        self._text = text
        self._index = EvidenceIndex(hits)
        self._mentions = find_mentions(text, hits)
        self._sentences = split_answer(text, [(m.start, m.end) for m in self._mentions])
        self._scorer = SupportScorer(scorer)
        self._places: list[tuple[Place, ...]] = [mention.places for mention in self._mentions]
        self._citations: dict[Citation, None] = {}
        self._corrected = 0

    def done(self, on_sentence: Callable[[], None]) -> Checked:
        homes = _homes(self._text, self._sentences, self._mentions)
        judged = []
        for i, sentence in enumerate(self._sentences):
            on_sentence()
            own = tuple(m for m, home in enumerate(homes) if i in home)
            inside = [m for m in own if self._mentions[m].start < sentence.end and _resolves(self._mentions[m])]
            end = max([sentence.end, *(self._mentions[m].end for m in own if homes[m] == (i,))])
            judged.append((sentence.start, end, *self._judged(sentence, own, inside)))
        rewritten = _Rewritten(self._text, self._edits())
        sentences = [
            Sentence(rewritten.part(start, end), verdict, score, evidence)
            for start, end, verdict, score, evidence in judged
        ]
        shown = tuple(each for each in sentences if any(character.isalnum() for character in each.text))
        unknown = sum(mention.unknown for mention in self._mentions)
        return Checked(rewritten.text, tuple(self._citations), shown, unknown, self._corrected, self._scorer.warnings)

    def _judged(
        self, sentence: AnswerSentence, own: Sequence[int], inside: Sequence[int]
    ) -> tuple[str, float, Citation | None]:
        """(verdict, score, evidence) of a sentence whose citations have the numbers `own`."""
        self._resolve(_claim(sentence), own)
        if not any(self._places[m] for m in own):
            return self._uncited(sentence)
        findings: list[tuple[Claim, Finding]] = []
        for segment in self._segments(sentence, own, inside):
            self._resolve(segment.claim, segment.mentions)
            findings.append((segment.claim, self._cited(segment)))
        if sentence.kind == "nothing":
            return "no-claim", 0.0, None
        worst = min((finding for _, finding in findings), key=lambda f: (_RANK[f.verdict], f.score))
        quote = max((f for _, f in findings), key=lambda f: f.score).best
        if worst.verdict != "supported":
            whole = _claim(sentence)
            elsewhere = self._best_of_all(whole)
            if elsewhere is not None and elsewhere.best is not None:
                cited = max((judge(whole, self._places[m], self._index).score for m in own), default=0.0)
                quote = elsewhere.best if elsewhere.score > cited or quote is None else quote
        evidence = _citation(quote, supported=worst.verdict == "supported") if quote else None
        return worst.verdict, worst.score, evidence

    def _resolve(self, claim: Claim, mentions: Sequence[int]) -> None:
        """Choose the page of each mention that names none."""
        for m in mentions:
            if not self._places[m] and self._mentions[m].either:
                either = self._mentions[m].either
                findings = [judge(claim, [place], self._index) for place in either]
                best = max(range(len(either)), key=lambda i: (_strength(findings[i]), -i))
                self._places[m] = (either[best],)

    def _segments(self, sentence: AnswerSentence, own: Sequence[int], inside: Sequence[int]) -> Iterator[_Segment]:
        """The parts of a sentence, each with the citations behind it; all in one where they are together."""
        if sentence.kind != "prose" or len(inside) < 2:
            yield _Segment(_claim(sentence), tuple(own))
            return
        parts: list[tuple[str, list[int]]] = []
        at, waiting = sentence.start, ""
        for m in inside:
            mention = self._mentions[m]
            waiting += " " + self._text[at : mention.start]
            at = mention.end
            if parts and not Claim(waiting).terms:
                parts[-1][1].append(m)
            else:
                parts.append((waiting, [m]))
                waiting = ""
        rest = self._text[at : sentence.end]
        parts[-1] = (f"{parts[-1][0]}{rest}", [*parts[-1][1], *(m for m in own if m not in inside)])
        yield from _gathered(parts, sentence)

    def _cited(self, segment: _Segment) -> Finding:
        """What the cited pages hold, after wrong pages were corrected."""
        places = tuple(dict.fromkeys(place for m in segment.mentions for place in self._places[m]))
        if not places:
            return judge(segment.claim, (), self._index)
        finding = self._scorer.adjusted(segment.claim, judge(segment.claim, places, self._index))
        better = self._better(segment.claim, places, finding)
        if better is not None:
            wrong, right, finding = better
            for m in segment.mentions:
                corrected = tuple(right if place == wrong else place for place in self._places[m])
                self._corrected += corrected != self._places[m]
                self._places[m] = tuple(dict.fromkeys(corrected))
            places = tuple(dict.fromkeys(right if place == wrong else place for place in places))
        by_place = {quote.part.place: quote for quote in finding.quotes}
        for place in places:
            quote = by_place.get(place)
            if quote is not None:
                enough = quote.share >= SUPPORT_THRESHOLD / len(places)
                supported = finding.verdict == "supported" and (enough or finding.lifted)
                self._citations.setdefault(_citation(quote, supported=supported))
        return finding

    def _better(self, claim: Claim, places: tuple[Place, ...], now: Finding) -> tuple[Place, Place, Finding] | None:
        """(wrong page, right page, its support): the page of the same paper that clearly supports the claim."""
        if now.verbatim or len(places) > _MOST_PLACES:
            return None
        literal = verbatim_quotes(claim, self._index)
        if now.verdict == "supported" and not literal:
            return None
        share = {quote.part.place: quote.share for quote in now.quotes}
        best: tuple[tuple[int, float], Place, Place, Finding] | None = None
        for wrong in sorted(places, key=lambda place: share.get(place, 0.0)):
            for right in self._index.places_of(wrong[0]):
                if right in places or (literal and right not in literal):
                    continue
                then = judge(claim, [right if place == wrong else place for place in places], self._index)
                clearly = then.verbatim or (then.hard and not now.hard) or then.score >= now.score + _CLEARLY_BETTER
                if then.verdict == "supported" and clearly and (best is None or _strength(then) > best[0]):
                    best = _strength(then), wrong, right, then
        return best[1:] if best else None

    def _uncited(self, sentence: AnswerSentence) -> tuple[str, float, Citation | None]:
        if sentence.kind == "nothing":
            return "no-claim", 0.0, None
        claim = _claim(sentence)
        best = self._best_of_all(claim)
        if best is None:
            return "unsupported", 0.0, None
        best = self._scorer.adjusted(claim, best)
        verdict = "weak" if best.verdict == "supported" else "unsupported"
        return verdict, best.score, _citation(best.best, supported=False) if best.best else None

    def _best_of_all(self, claim: Claim) -> Finding | None:
        """What the one page of all given holds that holds most; None where none holds anything."""
        findings = [judge(claim, [place], self._index) for place in self._index.by_place]
        best = max(findings, key=_strength, default=None)
        return best if best is not None and best.best is not None and best.best.share > 0 else None

    def _edits(self) -> list[_Edit]:
        """Each citation in its one form, and none where it is taken out or was just said."""
        edits: list[_Edit] = []
        for i, mention in enumerate(self._mentions):
            places = self._places[i]
            end_before = self._mentions[i - 1].end if i else 0
            if i and not self._text[end_before : mention.start].strip():
                places = tuple(place for place in places if place not in self._places[i - 1])
            start = mention.start
            while not places and start > end_before and self._text[start - 1] == " ":
                start -= 1
            edits.append(_Edit(start, mention.end, " ".join(page_label(*place) for place in places)))
        return edits


def _claim(sentence: AnswerSentence) -> Claim:
    return Claim(sentence.claim, quoted=sentence.quoted)


def _resolves(mention: Mention) -> bool:
    return bool(mention.places or mention.either)


def _strength(finding: Finding) -> tuple[int, float]:
    return _RANK[finding.verdict] + (2 if finding.verbatim else 0), finding.score


def _gathered(parts: Sequence[tuple[str, Sequence[int]]], sentence: AnswerSentence) -> Iterator[_Segment]:
    """The parts as segments; one that is too short is joined with the next, or at the end with the one before."""
    waiting, mentions = "", list[int]()
    segments: list[tuple[str, list[int]]] = []
    for text, numbers in parts:
        waiting, mentions = f"{waiting} {text}", [*mentions, *numbers]
        if len(Claim(waiting).terms) >= _FEWEST_TERMS:
            segments.append((waiting, mentions))
            waiting, mentions = "", []
    if mentions and segments:
        segments[-1] = (f"{segments[-1][0]} {waiting}", [*segments[-1][1], *mentions])
    if len(segments) < 2:
        yield _Segment(_claim(sentence), tuple(m for _, numbers in parts for m in numbers))
        return
    for text, numbers in segments:
        yield _Segment(Claim(" ".join(text.split())), tuple(numbers))


def _homes(text: str, sentences: Sequence[AnswerSentence], mentions: Sequence[Mention]) -> list[tuple[int, ...]]:
    """For each mention the indices of the sentences that it follows; empty if there are none.

    One between two sentences belongs to that before it, unless that one has its own or is on another line. Alone below
    a table or a block of code it belongs to all rows that cite nothing.
    """
    homes: list[tuple[int, ...]] = []
    has_own: set[int] = set()
    for mention in mentions:
        within = [i for i, s in enumerate(sentences) if s.start <= mention.start < s.end]
        if within:
            homes.append((within[0],))
            has_own.update(within)
            continue
        before = max((i for i, s in enumerate(sentences) if s.end <= mention.start), default=None)
        after = min((i for i, s in enumerate(sentences) if s.start >= mention.end), default=None)
        if after is not None and "\n" in text[mention.end : sentences[after].start]:
            after = None
        same_line = before is not None and "\n" not in text[sentences[before].end : mention.start]
        if before is None or (after is not None and (not same_line or before in has_own)):
            homes.append(() if after is None else (after,))
        elif not same_line and sentences[before].kind in ("row", "code"):
            block = sentences[before].block
            homes.append(tuple(i for i, s in enumerate(sentences) if s.block == block and i not in has_own))
        else:
            homes.append((before,))
    return homes


def _citation(quote: Quote, *, supported: bool) -> Citation:
    part = quote.part
    words = part.text[quote.start : quote.end]
    return Citation(
        part.place[0],
        part.place[1],
        words,
        supported,
        path=part.path,
        start=part.start + quote.start,
        end=part.start + quote.end,
    )


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


class _Rewritten:
    """`text` after `edits`, which are in order and don't overlap, without blanks at either end."""

    def __init__(self, text: str, edits: Sequence[_Edit]) -> None:
        self._text = text
        self._edits = tuple(edits)

    @property
    def text(self) -> str:
        """All of it."""
        return self.part(0, len(self._text))

    def part(self, start: int, end: int) -> str:
        """What has become of `text[start:end]`; an edit that reaches over its edge counts where it ends inside."""
        pieces: list[str] = []
        at = start
        for edit in self._edits:
            if start < edit.end <= end:
                pieces += [self._text[at : max(at, edit.start)], edit.new]
                at = edit.end
        return "".join([*pieces, self._text[at:end]]).strip()
