"""Whether pages say what a sentence claims, by its words, numbers and names: the same answer every time.

A number is read: with "how many" in its place the sentence is a question, and the number must be what the span reader
finds for it (as in QAGS: Wang, Cho and Lewis, ACL 2020).
"""

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
from ragscience.core.tokenizing import joined_lines, terms

if TYPE_CHECKING:
    from ragscience.ask.unit_scores import Reader


SUPPORT_THRESHOLD = 0.5
"""Share of a sentence's content words that the cited lines must hold."""
WEAK_THRESHOLD = 0.25
"""Below it a page has nothing to do with the sentence."""

_NEARLY_ALL = 0.9
"""Share of a sentence's terms that a page's lines must hold to support it: other words may say something else."""
_VERBATIM_CHARS = 12
"""Letters and digits: shorter words are on many pages by chance."""
_MOST_TIMES = 50
"""Most occurrences of the same words in one passage that are compared."""
_READ_UNITS = 8
"""Sentences or rows of the pages that are read for a number: those that share most terms with the claim."""
_MOST_NUMBERS = 4
_BEHIND = 0.5
"""Log-odds by which the reader may prefer another place: it is not so sure of itself."""
_BESIDE = 25
"""Characters around a span in which a number's unit is looked for."""
_GAP = re.compile(r"(?:(?<!\s)\s++)?+\[?(?:…|\.\.\.)\]?\s*+")
_CLOSING = re.compile(r"[.!?…”\"'’)\]]*")


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

    @property
    def best(self) -> Quote | None:
        """The quote that holds most."""
        return max(self.quotes, key=lambda quote: quote.share, default=None)

    @property
    def share(self) -> float:
        """That of the best quote."""
        return self.best.share if self.best else 0.0


def judge(claim: Claim, places: Sequence[Place], index: EvidenceIndex) -> Finding:
    """How far the pages at `places` together hold `claim`, by its words.

    Supported is what is there word for word, and as far as words go: nearly all of whose terms are in the best lines
    and those beside them, or in the best lines alone where it has no numbers. `Verdicts` reads its numbers.
    Unsupported is what the pages speak against: a number or name that is on none of them, or the best lines deny it,
    turn it round or exchange something; and what shares nearly nothing with them. A quotation must be word for word.
    """
    literal = verbatim(claim, index)
    quotes = tuple(literal.get(place) or _best_quote(claim, place, index) for place in places)
    found = tuple(quote for quote in quotes if quote is not None)
    if any(place in literal for place in places):
        return Finding("supported", 1.0, found, verbatim=True, hard=True)
    spans = index.spans(places)
    held = frozenset().union(*(quote.unit.around.terms for quote in found)) & claim.terms
    share = len(held) / len(claim.terms) if claim.terms else 0.0
    if any(not number.spelled and not _is_on(number, spans) for number in claim.numbers):
        return Finding("unsupported", round(min(share, WEAK_THRESHOLD), 4), found, verbatim=False, hard=False)
    hard = bool(spans) and not _contradicted(claim, found, spans)
    if share < WEAK_THRESHOLD or not hard:
        return Finding("unsupported", round(share if hard else share / 2, 4), found, verbatim=False, hard=hard)
    own = frozenset().union(*(quote.unit.terms for quote in found)) & claim.terms
    enough = len(held if claim.numbers else own) >= _NEARLY_ALL * len(claim.terms)
    is_held = enough and not (claim.quoted and claim.pieces)
    return Finding("supported" if is_held else "weak", round(share, 4), found, verbatim=False, hard=True)


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


def _is_on(number: Number, spans: Sequence[PageSpan]) -> bool:
    return any(any(map(number.equals, span.numbers)) for span in spans)


def _contradicted(claim: Claim, quotes: Sequence[Quote], spans: Sequence[PageSpan]) -> bool:
    """Whether the pages speak against the claim, all of whose numbers are on them."""
    files = [squeezed(span.place[0]) for span in spans]
    names = [name for name, certain in claim.names.items() if certain]
    return (
        any(not any(name in file for file in files) and not any(s.holds_name(name) for s in spans) for name in names)
        or not all(any(amount in quote.unit.around.amounts for quote in quotes) for amount in claim.amounts)
        or any(_turns_round(claim, quote) for quote in quotes if quote.share >= WEAK_THRESHOLD)
    )


def _turns_round(claim: Claim, quote: Quote) -> bool:
    """Whether the lines of the quote deny what the claim says, or the other way, compare the other way, or differ."""
    unit = quote.unit
    near: Said = unit if len(unit.terms & claim.terms) >= SUPPORT_THRESHOLD * len(claim.terms) else unit.around
    denied, said = claim.polarity
    page_denied, page_said = near.polarity
    denies = denied & (page_said - page_denied) and not near.negates
    return claim.turns(near) or bool(denies or (said - denied) & (page_denied - page_said)) or is_altered(claim, near)


def _has_its_numbers(claim: Said, spans: Sequence[PageSpan], read: Reader) -> bool:
    """Whether each number of the claim is what the pages have in its place. Raises ModelProblem."""
    units = [unit for span in spans for unit in span.units]
    near = sorted(
        units, key=lambda unit: len(unit.terms & claim.terms) + 0.5 * len(unit.around.terms & claim.terms), reverse=True
    )
    texts = [joined_lines(unit.text) for unit in near[:_READ_UNITS]]
    return all(_is_read(number, texts, read) for number in claim.numbers[:_MOST_NUMBERS])


def _is_read(number: Number, texts: Sequence[str], read: Reader) -> bool:
    found = read(f"{number.question.rstrip(' .')}?", texts)
    enough = max((span.score for span in found), default=0.0) - _BEHIND
    return any(
        span.score >= enough and _agrees(number, text, span.start, span.end)
        for text, span in zip(texts, found, strict=True)
    )


def _agrees(number: Number, text: str, start: int, end: int) -> bool:
    inside, beside = Said(text[start:end]), Said(text[max(0, start - _BESIDE) : end + _BESIDE])
    return any(map(number.equals, inside.numbers)) and any(
        number.equals(there) and number.fits(there) for there in beside.numbers
    )


class Verdicts:
    """What words find, with the numbers read by a model; without one, no sentence with a number is supported by it."""

    def __init__(self, read: Reader | None) -> None:
        self._read = read
        self.warnings: tuple[str, ...] = ()
        """Why the model failed, if it did."""

    def judge(self, claim: Claim, places: Sequence[Place], index: EvidenceIndex) -> Finding:
        """As the words find it, but weak where the pages have another number in the place of one of the claim's."""
        finding = judge(claim, places, index)
        if finding.verdict != "supported" or finding.verbatim or not claim.numbers:
            return finding
        return finding if self._reads(claim, index.spans(places)) else replace(finding, verdict="weak")

    def _reads(self, claim: Claim, spans: Sequence[PageSpan]) -> bool:
        if self._read is None:
            return False
        try:
            return _has_its_numbers(claim, spans, self._read)
        except ModelProblem as problem:
            self._read = None
            self.warnings = (f"No number is found supported, because the model that reads them failed: {problem}",)
            return False
