"""Whether pages say what a sentence claims, by its words, numbers and names alone: the same answer every time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from ragscience.ask.claim_facts import Number, Said, is_altered, squeezed
from ragscience.ask.evidence import EvidenceIndex, PageSpan, PageUnit, Place
from ragscience.core.errors import ModelProblem
from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.models.model_protocols import Reranker


SUPPORT_THRESHOLD = 0.5
"""Share of a sentence's content words that the cited lines must hold."""
WEAK_THRESHOLD = 0.25
"""Below it a page has nothing to do with the sentence."""

_LIFTS, _LOWERS = 0.5, 0.1
"""On the scale from a text about nothing (0) to the claim itself (1), which is the same for logits and for sigmoids."""
_ABOUT_NOTHING = "The weather was pleasant that day."
_VERBATIM_CHARS = 12
"""Letters and digits: shorter words are on many pages by chance."""
_MOST_TIMES = 50
"""Most occurrences of the same words in one passage that are compared."""
_GAP = re.compile(r"(?:(?<!\s)\s++)?+\[?(?:…|\.\.\.)\]?\s*+")
_CLOSING = re.compile(r"[.!?…”\"'’)\]]*")
_SUBJECT = re.compile(
    r"\W*\w[\w'’-]*\s+(?:is|was|are|were|has|had|can|will|does|do|did|uses?|used|reach(?:es|ed)|achieve[sd]|"
    r"outperforms?|improves?|shows?)\b"
)
"""The beginning of a sentence whose first word is its subject, so a name if it has a capital."""


class Claim(Said):
    """A sentence of an answer, without its citations."""

    def __init__(self, text: str, *, quoted: bool = False) -> None:
        super().__init__(text)
        self.quoted = quoted
        """Whether it says that it is word for word on a page."""
        self.verbatim: dict[Place, Quote] | None = None
        """As `verbatim` found it."""

    @cached_property
    def pieces(self) -> list[str]:
        """Its words between "…", squeezed; empty where it is too short to be a quote."""
        found = [piece for piece in map(squeezed, _GAP.split(self.text)) if piece]
        return found if max(map(len, found), default=0) >= _VERBATIM_CHARS and len(self.words) >= 3 else []


@dataclass(frozen=True, slots=True)
class Quote:
    """`span.text[start:end]`, the words of a page that support a claim."""

    span: PageSpan
    start: int
    end: int
    share: float
    """Of the claim's terms that it and its neighbours hold, 0 to 1."""

    @property
    def unit(self) -> PageUnit:
        """The sentence or row that it is in."""
        return self.span.unit_at(self.start)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a claim's pages hold of it."""

    verdict: str
    """ "supported", "weak" or "unsupported"."""
    score: float
    quotes: tuple[Quote, ...]
    """The best of each page, as the pages were given; pages without a passage have none."""
    verbatim: bool
    hard: bool
    """Whether the numbers, names, denials and comparisons all hold: no more than words are in doubt."""
    lifted: bool = False
    """Whether a support scorer, not the words, found it supported."""

    @property
    def best(self) -> Quote | None:
        """The quote that holds most."""
        return max(self.quotes, key=lambda quote: quote.share, default=None)

    @property
    def share(self) -> float:
        """That of the best quote."""
        return self.best.share if self.best else 0.0


def judge(claim: Claim, places: Sequence[Place], index: EvidenceIndex) -> Finding:
    """How far the pages at `places` together hold `claim`.

    Supported is what is there word for word; or whose terms are in the best lines of the pages to the share of
    SUPPORT_THRESHOLD, while each number stands with its unit and near some of the words that it is said of, each name
    is there, and nothing is denied, turned round or exchanged. A quotation must be word for word. A number that is on
    none of the pages makes it unsupported, whatever the words.
    """
    literal = verbatim(claim, index)
    quotes = tuple(literal.get(place) or _best_quote(claim, place, index) for place in places)
    found = tuple(quote for quote in quotes if quote is not None)
    if any(place in literal for place in places):
        return Finding("supported", 1.0, found, verbatim=True, hard=True)
    spans = index.spans(places)
    held = frozenset().union(*(quote.unit.around.terms for quote in found)) & claim.terms
    share = len(held) / len(claim.terms) if claim.terms else 0.0
    if any(not number.spelled and not _found(number, spans) for number in claim.numbers):
        return Finding("unsupported", round(min(share, WEAK_THRESHOLD), 4), found, verbatim=False, hard=False)
    hard = bool(spans) and not _doubtful(claim, found, spans, index)
    if share < WEAK_THRESHOLD:
        return Finding("unsupported", round(share, 4), found, verbatim=False, hard=hard)
    verdict = "supported" if hard and share >= SUPPORT_THRESHOLD else "weak"
    return Finding(verdict, round(share if hard else share / 2, 4), found, verbatim=False, hard=hard)


def verbatim(claim: Claim, index: EvidenceIndex) -> dict[Place, Quote]:
    """Where the claim occurs word for word, and the words on each of these pages; line breaks and hyphens aside.

    Of a claim with gaps ("lead … row") the longest piece decides, and the others must be in the same stretch of text,
    if need be in another order, as a table's caption and header are.
    """
    if claim.verbatim is not None:
        return claim.verbatim
    found: dict[Place, Quote] = {}
    claim.verbatim = found
    longest = max(claim.pieces, key=len, default="")
    for passage in index.passages:
        missing = [piece for piece in claim.pieces if piece not in passage.squeezed]
        asked = [frozenset(terms(piece)) for piece in _GAP.split(claim.text) if squeezed(piece) in missing]
        if longest in missing or (asked and not frozenset().union(*asked) <= frozenset(terms(passage.text))):
            continue
        for start, end in islice(passage.find(longest), _MOST_TIMES):
            for span in passage.spans:
                left, right = max(0, start - span.at), min(len(span.text), end - span.at)
                if left < right and span.text[left:right].strip():
                    closing = _CLOSING.match(span.text, right)
                    quote = Quote(span, left, closing.end() if closing else right, 1.0)
                    found.setdefault(span.place, quote)
    return found


def _best_quote(claim: Claim, place: Place, index: EvidenceIndex) -> Quote | None:
    """The sentence or row of a page that shares most terms with the claim, by itself and then with its neighbours."""
    units = [(span, unit) for span in index.spans([place]) for unit in span.units]
    if not units:
        return None
    most = max(len(unit.terms & claim.terms) for _, unit in units)
    best = [each for each in units if len(each[1].terms & claim.terms) == most]
    span, unit = max(best, key=lambda each: (len(each[1].around.terms & claim.terms), -len(each[1].terms)))
    shared = len(unit.around.terms & claim.terms)
    return Quote(span, unit.start, unit.end, shared / max(1, len(claim.terms)))


def _found(number: Number, spans: Sequence[PageSpan]) -> list[tuple[PageUnit, Number]]:
    """Where a number of a claim stands on pages."""
    return [
        (unit, there)
        for span in spans
        if any(map(number.equals, span.numbers))
        for unit in span.units
        for there in unit.numbers
        if number.equals(there)
    ]


def _doubtful(claim: Claim, quotes: Sequence[Quote], spans: Sequence[PageSpan], index: EvidenceIndex) -> bool:
    """Whether something hard speaks against the claim, all of whose numbers are on the pages."""
    return (
        (claim.quoted and bool(claim.pieces))
        or not all(_stands(number, claim, spans) for number in claim.numbers)
        or any(_lacks(name, certain, claim, spans, index) for name, certain in claim.names.items())
        or not all(any(amount in quote.unit.around.amounts for quote in quotes) for amount in claim.amounts)
        or (claim.negates and not any(quote.unit.around.denies for quote in quotes))
        or any(_turns_round(claim, quote) for quote in quotes if quote.share >= WEAK_THRESHOLD)
    )


def _stands(number: Number, claim: Claim, spans: Sequence[PageSpan]) -> bool:
    """Whether a number of the claim stands on a page with its unit, and with the words that the claim says it of.

    Where the page counts the same thing, it must be this number of them; and the lines must share two other terms.
    """
    others = frozenset(term for term in claim.terms if not term[0].isdigit())
    found = [(unit, there) for unit, there in _found(number, spans) if number.fits(there)]
    counted = [there for span in spans for there in span.numbers if number.noun and there.noun == number.noun]
    if counted and not any(map(number.equals, counted)):
        return False
    return any(len(unit.around.terms & others) >= min(2, len(others)) for unit, _ in found)


def _lacks(name: str, certain: bool, claim: Claim, spans: Sequence[PageSpan], index: EvidenceIndex) -> bool:
    if any(name in squeezed(span.place[0]) for span in spans):
        return False
    if certain:
        return not any(span.holds_name(name) for span in spans)
    return bool(_SUBJECT.match(claim.text)) and not index.says(name)


def _turns_round(claim: Claim, quote: Quote) -> bool:
    """Whether the lines of the quote deny what the claim says, or the other way, compare the other way, or differ."""
    unit = quote.unit
    near: Said = unit if len(unit.terms & claim.terms) >= SUPPORT_THRESHOLD * len(claim.terms) else unit.around
    denied, said = claim.polarity
    page_denied, page_said = near.polarity
    denies = denied & (page_said - page_denied) and not near.negates
    return claim.turns(near) or bool(denies or (said - denied) & (page_denied - page_said)) or is_altered(claim, near)


class SupportScorer:
    """A reranker's score of a quote for a claim; none without a reranker, or after its failure."""

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self.warnings: tuple[str, ...] = ()
        """Why the reranker failed, if it did."""

    def adjusted(self, claim: Claim, finding: Finding) -> Finding:
        """The finding, lifted to supported or lowered to weak.

        What is there word for word stays, and nothing is lifted against hard evidence.
        """
        if self._reranker is None or finding.verbatim or not finding.hard or not finding.quotes:
            return finding
        quotes = [quote.unit.around.text for quote in finding.quotes]
        try:
            scores = self._reranker.score(claim.text, [_ABOUT_NOTHING, claim.text, *quotes])
        except ModelProblem as problem:
            self._reranker = None
            self.warnings = (f"Sentences are checked by words alone, because the reranker failed: {problem}",)
            return finding
        nothing, itself, best = float(scores[0]), float(scores[1]), float(max(scores[2:]))
        if not itself > nothing:
            return finding
        support = min(1.0, max(0.0, (best - nothing) / (itself - nothing)))
        if support >= _LIFTS and finding.verdict != "supported":
            return replace(finding, verdict="supported", score=max(finding.score, round(support, 4)), lifted=True)
        if support < _LOWERS and finding.verdict == "supported":
            return replace(finding, verdict="weak")
        return finding
