"""Checks every sentence of an answer against the pages that it cites; deterministic."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragscience.ask.citations import find_mentions
from ragscience.claims.answer_sentences import AnswerSentence, cited_parts, homes, split_answer
from ragscience.claims.evidence import EvidenceIndex, Place
from ragscience.claims.support import SUPPORT_THRESHOLD, Claim, Finding, Judge, Quote, strength
from ragscience.core.paper_records import page_label
from ragscience.core.records import Citation, Hit, Sentence
from ragscience.models.model_protocols import Reader

_FEWEST_WORDS = 4
"""A shorter sentence is on a page too easily for a citation of ours."""
_Verdict = tuple[str, float, Citation | None]
"""Verdict, score and evidence of a sentence."""
_Edit = tuple[int, int, str]
"""(start, end, new): what `text[start:end]` becomes."""


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
    sentence of an answer without any citation gets the page that supports it, or that has half of its words and does
    not speak against it, marked as ours.
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
        cited = [(m.start, m.end) for m in self._mentions]
        self._sentences = split_answer(text, cited)
        self._homes = homes(text, self._sentences, cited)
        self._judge = Judge(self._index, read)
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
        edits = sorted([*self._edits(), *self._added], key=lambda edit: edit[1])
        sentences = [Sentence(_rewritten(self._text, edits, start, end), *what) for start, end, what in judged]
        shown = tuple(each for each in sentences if any(character.isalnum() for character in each.text))
        whole = _rewritten(self._text, edits, 0, len(self._text))
        unknown = sum(mention.unknown for mention in self._mentions)
        return Checked(whole, tuple(self._citations), shown, unknown, self._corrected, self._judge.warnings)

    def _judged(self, sentence: AnswerSentence, own: Sequence[int]) -> _Verdict:
        """What the pages of the citations with the numbers `own` hold of a sentence."""
        whole = Claim(sentence.claim, quoted=sentence.quoted)
        self._resolve(whole, own)
        if not any(self._places[m] for m in own):
            return ("no-claim", 0.0, None) if sentence.kind == "nothing" else self._uncited(whole, sentence)
        findings = [self._cited(claim, mentions) for claim, mentions in self._parts(sentence, own, whole)]
        if sentence.kind == "nothing":
            return "no-claim", 0.0, None
        worst, best = min(findings, key=strength), max(findings, key=strength)
        if worst.verdict != "supported":  # it may be said elsewhere
            anywhere = self._judge.best_place(whole, self._index.by_place)
            best = max(best, self._judge.by_words(whole, anywhere), key=strength)
        evidence = _citation(best.best, supported=worst.verdict == "supported") if best.best else None
        return worst.verdict, worst.score, evidence

    def _resolve(self, claim: Claim, mentions: Sequence[int]) -> None:
        """Choose the page of each mention that leaves it open."""
        for m in mentions:
            self._places[m] = self._places[m] or self._judge.best_place(claim, self._mentions[m].either)

    def _parts(self, sentence: AnswerSentence, own: Sequence[int], whole: Claim) -> Iterator[tuple[Claim, list[int]]]:
        """The parts of a sentence, each with the citations behind it; one too short goes with the one before it."""
        cited = [(m, self._mentions[m].start if self._places[m] else -1, self._mentions[m].end) for m in own]
        parts = cited_parts(self._text, sentence, cited)
        if len(parts) < 2:
            yield whole, list(own)
            return
        for text, numbers in parts:
            yield Claim(" ".join(text.split())), numbers

    def _cited(self, claim: Claim, mentions: Sequence[int]) -> Finding:
        """What the cited pages hold, after a wrong page was corrected."""
        places = tuple(dict.fromkeys(place for m in mentions for place in self._places[m]))
        finding = self._judge.judge(claim, places)
        if finding.verdict != "supported":
            pages = [page for file in dict.fromkeys(file for file, _ in places) for page in self._index.places_of(file)]
            right = self._judge.best_place(claim, pages)
            corrected = self._judge.judge(claim, right)
            if corrected.verdict == "supported":
                finding = corrected
                for m in mentions:
                    now = tuple(dict.fromkeys(right[0] if p[0] == right[0][0] else p for p in self._places[m]))
                    self._corrected += now != self._places[m]
                    self._places[m] = now
        for quote in finding.quotes:
            enough = quote.share >= SUPPORT_THRESHOLD / len(finding.quotes)
            supported = finding.verdict == "supported" and enough
            self._citations.setdefault(_citation(quote, supported=supported))
        return finding

    def _uncited(self, claim: Claim, sentence: AnswerSentence) -> _Verdict:
        finding = self._judge.judge(claim, self._judge.best_place(claim, self._index.by_place))
        quote = finding.best
        if quote is None or not quote.share:
            return "unsupported", 0.0, None
        is_held = finding.verdict == "supported"
        if finding.verdict == "unsupported" or (not is_held and quote.share < SUPPORT_THRESHOLD):
            return "unsupported", finding.score, _citation(quote, supported=False)
        if not self._adds or len(sentence.claim.split()) < _FEWEST_WORDS:
            return "weak" if is_held else "unsupported", finding.score, _citation(quote, supported=False)
        citation = replace(_citation(quote, supported=is_held), added=True)
        at = sentence.start + len(self._text[sentence.start : sentence.end].rstrip(".!? \n"))
        self._added.append((at, at, f" {page_label(citation.file, citation.page)}"))
        self._citations.setdefault(citation)
        return finding.verdict, finding.score, citation

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
            edits.append((start, mention.end, " ".join(page_label(*place) for place in places)))
        return edits


def _citation(quote: Quote, *, supported: bool) -> Citation:
    span, start, end = quote.span, quote.start, quote.end
    file, page = span.place
    return Citation(
        file, page, span.text[start:end], supported, path=span.path, start=span.start + start, end=span.start + end
    )


def _rewritten(text: str, edits: Sequence[_Edit], start: int, end: int) -> str:
    """What has become of `text[start:end]`; an edit that reaches over its edge counts where it ends inside."""
    pieces: list[str] = []
    at = start
    for first, last, new in edits:
        if start < last <= end:
            pieces += [text[at : max(at, first)], new]
            at = last
    return "".join([*pieces, text[at:end]]).strip()
