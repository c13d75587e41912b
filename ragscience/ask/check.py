"""Checks every sentence of an answer against the pages that it cites; deterministic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from ragscience.ask.answer_sentences import AnswerSentence, split_answer
from ragscience.ask.citations import Mention, find_mentions
from ragscience.ask.evidence import EvidenceIndex, Place
from ragscience.ask.support import SUPPORT_THRESHOLD, Claim, Finding, Quote, Verdicts, judge, verbatim
from ragscience.core.paper_records import page_label
from ragscience.core.records import Citation, Hit, Sentence

if TYPE_CHECKING:
    from ragscience.ask.unit_scores import Reader


_RANK = {"unsupported": 0, "weak": 1, "supported": 2, "no-claim": 3}
_FEWEST_TERMS = 3
"""A part before a citation with fewer content words is not a claim: it is joined with the next."""
_FEWEST_WORDS = 4
"""A shorter sentence is on a page too easily for a citation of ours."""
_CLEARLY_BETTER = 0.25
"""Share of a sentence's terms that another page must hold more than the cited one, to be put in its place."""
_MOST_PLACES = 6
"""A sentence that cites more pages is checked as it is."""
_Verdict = tuple[str, float, Citation | None]
"""Verdict, score and evidence of a sentence."""


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
    text: str,
    hits: Sequence[Hit],
    *,
    read: Reader | None,
    on_sentence: Callable[[], None] = lambda: None,
    adds: bool = False,
) -> Checked:
    """`text` with its citations resolved against the passages given, and a verdict on each sentence.

    A sentence is held against the pages that it cites, or each part of it against the citation behind that part. One
    that cites nothing is at most weak. Small models often cite nothing, whatever the prompt says: with `adds`, each
    sentence of an answer without any citation gets the page that supports it, marked as ours.
    `read` reads the numbers of what the words support; when it fails, sentences with numbers are weak and a warning
    says so. `on_sentence` is called before each sentence, and may raise.
    """
    return _Check(text, hits, read, adds=adds).done(on_sentence)


class _Check:
    """One answer under way."""

    def __init__(self, text: str, hits: Sequence[Hit], read: Reader | None, *, adds: bool) -> None:
        self._text = text
        self._index = EvidenceIndex(hits)
        self._mentions = find_mentions(text, hits)
        self._adds = adds and not any(each.places or each.either or each.unknown for each in self._mentions)
        self._sentences = split_answer(text, [(m.start, m.end) for m in self._mentions])
        self._homes = _homes(text, self._sentences, self._mentions)
        self._verdicts = Verdicts(read)
        self._places: list[tuple[Place, ...]] = [mention.places for mention in self._mentions]
        self._citations: dict[Citation, None] = {}
        self._added: list[_Edit] = []
        self._corrected = 0

    def done(self, on_sentence: Callable[[], None]) -> Checked:
        judged: list[tuple[int, int, _Verdict]] = []
        for i, sentence in enumerate(self._sentences):
            on_sentence()
            own = [m for m, home in enumerate(self._homes) if i in home]
            end = max([sentence.end, *(self._mentions[m].end for m in own if self._homes[m] == (i,))])
            judged.append((sentence.start, end, self._judged(sentence, own)))
        edits = sorted([*self._edits(), *self._added], key=lambda edit: edit.end)
        sentences = [Sentence(_rewritten(self._text, edits, start, end), *what) for start, end, what in judged]
        shown = tuple(each for each in sentences if any(character.isalnum() for character in each.text))
        whole = _rewritten(self._text, edits, 0, len(self._text))
        unknown = sum(mention.unknown for mention in self._mentions)
        return Checked(whole, tuple(self._citations), shown, unknown, self._corrected, self._verdicts.warnings)

    def _judged(self, sentence: AnswerSentence, own: Sequence[int]) -> _Verdict:
        """What the pages of the citations with the numbers `own` hold of a sentence."""
        whole = Claim(sentence.claim, quoted=sentence.quoted)
        self._resolve(whole, own)
        if not any(self._places[m] for m in own):
            return ("no-claim", 0.0, None) if sentence.kind == "nothing" else self._uncited(whole, sentence)
        findings = [self._cited(claim, mentions) for claim, mentions in self._segments(sentence, own, whole)]
        if sentence.kind == "nothing":
            return "no-claim", 0.0, None
        worst = min(findings, key=lambda finding: (_RANK[finding.verdict], finding.score))
        quote = max(findings, key=lambda finding: finding.score).best
        if worst.verdict != "supported":
            elsewhere = self._best_of_all(whole)
            cited = max((judge(whole, self._places[m], self._index).score for m in own), default=0.0)
            if elsewhere is not None and (elsewhere.score > cited or quote is None):
                quote = elsewhere.best
        evidence = _citation(quote, supported=worst.verdict == "supported") if quote else None
        return worst.verdict, worst.score, evidence

    def _resolve(self, claim: Claim, mentions: Sequence[int]) -> None:
        """Choose the page of each mention that names none."""
        for m in mentions:
            if not self._places[m] and self._mentions[m].either:
                by_strength = lambda place: _strength(judge(claim, [place], self._index))  # noqa: E731
                self._places[m] = (max(self._mentions[m].either, key=by_strength),)

    def _segments(
        self, sentence: AnswerSentence, own: Sequence[int], whole: Claim
    ) -> Iterator[tuple[Claim, Sequence[int]]]:
        """The parts of a sentence, each with the citations behind it; one too short goes with the next."""
        parts: list[tuple[str, list[int]]] = []
        inside = [m for m in own if self._mentions[m].start < sentence.end and self._places[m]]
        at, waiting, mentions = sentence.start, "", list[int]()
        for m in inside if sentence.kind == "prose" else ():
            said, at = self._text[at : self._mentions[m].start], self._mentions[m].end
            if parts and not mentions and not Claim(said).terms:
                parts[-1][1].append(m)
                continue
            waiting, mentions = f"{waiting} {said}", [*mentions, m]
            if len(Claim(waiting).terms) >= _FEWEST_TERMS:
                parts.append((waiting, mentions))
                waiting, mentions = "", []
        if len(parts) < 2:
            yield whole, own
            return
        text, numbers = parts[-1]
        rest = [*numbers, *mentions, *(m for m in own if m not in inside)]
        parts[-1] = (f"{text} {waiting} {self._text[at : sentence.end]}", rest)
        for text, numbers in parts:
            claim = Claim(" ".join(text.split()))
            self._resolve(claim, numbers)
            yield claim, numbers

    def _cited(self, claim: Claim, mentions: Sequence[int]) -> Finding:
        """What the cited pages hold, after wrong pages were corrected."""
        places = tuple(dict.fromkeys(place for m in mentions for place in self._places[m]))
        if not places:
            return judge(claim, (), self._index)
        finding = self._verdicts.judge(claim, places, self._index)
        better = self._better(claim, places, finding)
        if better is not None:
            wrong, right, finding = better
            for m in mentions:
                corrected = tuple(right if place == wrong else place for place in self._places[m])
                self._corrected += corrected != self._places[m]
                self._places[m] = tuple(dict.fromkeys(corrected))
            places = tuple(dict.fromkeys(right if place == wrong else place for place in places))
        by_place = {quote.span.place: quote for quote in finding.quotes}
        for place in places:
            quote = by_place.get(place)
            if quote is not None:
                enough = quote.share >= SUPPORT_THRESHOLD / len(places)
                supported = finding.verdict == "supported" and enough
                self._citations.setdefault(_citation(quote, supported=supported))
        return finding

    def _better(self, claim: Claim, places: tuple[Place, ...], now: Finding) -> tuple[Place, Place, Finding] | None:
        """(wrong page, right page, its support): the page of the same paper that clearly supports the claim."""
        if now.verbatim or len(places) > _MOST_PLACES:
            return None
        literal = verbatim(claim, self._index)
        if now.verdict == "supported" and not literal:
            return None
        share = {quote.span.place: quote.share for quote in now.quotes}
        better: list[tuple[tuple[int, float], Place, Place, Finding]] = []
        for wrong in sorted(places, key=lambda place: share.get(place, 0.0)):
            for right in self._index.places_of(wrong[0]):
                if right in places or (literal and right not in literal):
                    continue
                then = judge(claim, [right if place == wrong else place for place in places], self._index)
                missing = now.verdict == "unsupported" and then.hard and not now.hard
                clearly = then.verbatim or missing or then.share >= now.share + _CLEARLY_BETTER
                if then.verdict == "supported" and clearly:
                    better.append((_strength(then), wrong, right, then))
        if not better:
            return None
        _, wrong, right, _ = max(better, key=lambda each: each[0])
        then = self._verdicts.judge(claim, [right if place == wrong else place for place in places], self._index)
        return (wrong, right, then) if then.verdict == "supported" else None

    def _uncited(self, claim: Claim, sentence: AnswerSentence) -> _Verdict:
        best = self._best_of_all(claim)
        if best is None or best.best is None:
            return "unsupported", 0.0, None
        quote = best.best
        best = self._verdicts.judge(claim, [quote.span.place], self._index)
        if best.verdict != "supported":
            return "unsupported", best.score, _citation(quote, supported=False)
        if not self._adds or len(sentence.claim.split()) < _FEWEST_WORDS:
            return "weak", best.score, _citation(quote, supported=False)
        citation = replace(_citation(quote, supported=True), added=True)
        said = self._text[sentence.start : sentence.end].rstrip(".!? \n")
        at = sentence.start + len(said)
        self._added.append(_Edit(at, at, f" {page_label(citation.file, citation.page)}"))
        self._citations.setdefault(citation)
        return "supported", best.score, citation

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


def _strength(finding: Finding) -> tuple[int, float]:
    return _RANK[finding.verdict] + (2 if finding.verbatim else 0), finding.score


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
            rows = takewhile(lambda i: sentences[i].kind in ("row", "code"), range(before, -1, -1))
            homes.append(tuple(sorted(set(rows) - has_own)))
        else:
            homes.append((before,))
    return homes


def _citation(quote: Quote, *, supported: bool) -> Citation:
    span, start, end = quote.span, quote.start, quote.end
    file, page = span.place
    return Citation(
        file, page, span.text[start:end], supported, path=span.path, start=span.start + start, end=span.start + end
    )


@dataclass(frozen=True, slots=True)
class _Edit:
    """`text[start:end]` becomes `new`."""

    start: int
    end: int
    new: str


def _rewritten(text: str, edits: Sequence[_Edit], start: int, end: int) -> str:
    """What has become of `text[start:end]`; an edit that reaches over its edge counts where it ends inside."""
    pieces: list[str] = []
    at = start
    for edit in edits:
        if start < edit.end <= end:
            pieces += [text[at : max(at, edit.start)], edit.new]
            at = edit.end
    return "".join([*pieces, text[at:end]]).strip()
