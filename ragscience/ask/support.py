"""Whether pages say what a sentence claims, by its words, numbers and names alone: the same answer every time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from ragscience.ask.claim_facts import (
    antonyms_of,
    claim_names,
    claim_numbers,
    counted,
    denies,
    holds_name,
    is_negator,
    is_same_number,
    negated_terms,
    spelled_numbers,
    words_of,
)
from ragscience.ask.contradictions import is_altered
from ragscience.ask.evidence import EvidenceIndex, PageSpan, Place, squeezed
from ragscience.core.errors import ModelProblem
from ragscience.core.tokenizing import terms

if TYPE_CHECKING:
    from ragscience.models.model_protocols import Reranker

__all__ = [
    "SUPPORT_THRESHOLD",
    "WEAK_THRESHOLD",
    "Claim",
    "Finding",
    "Quote",
    "SupportScorer",
    "judge",
    "verbatim_quotes",
]

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


class Claim:
    """The parsed text of a sentence, without its citations."""

    def __init__(self, text: str, *, quoted: bool = False) -> None:
        self.text = text
        self.quoted = quoted
        """Whether it says that it is word for word on a page."""
        self.terms = frozenset(terms(text))
        self.numbers = claim_numbers(text)

    @cached_property
    def names(self) -> dict[str, bool]:
        """Its names, and whether each is certain."""
        return claim_names(self.text)

    @cached_property
    def words(self) -> list[str]:
        """All its words in order."""
        return words_of(self.text)

    @cached_property
    def spelled(self) -> frozenset[str]:
        """The values of its number words."""
        return spelled_numbers(self.text)

    @cached_property
    def pieces(self) -> list[str]:
        """Its words between "…", squeezed; empty where it is too short to be a quote."""
        found = [piece for piece in map(squeezed, _GAP.split(self.text)) if piece]
        return found if max(map(len, found), default=0) >= _VERBATIM_CHARS and len(self.words) >= 3 else []

    @cached_property
    def polarity(self) -> tuple[frozenset[str], frozenset[str]]:
        """The terms that it denies, and those that it says."""
        return negated_terms(self.text)


@dataclass(frozen=True, slots=True)
class Quote:
    """`part.text[start:end]`, the words of a page that support a claim."""

    part: PageSpan
    start: int
    end: int
    share: float
    """Of the claim's terms that it and its neighbours hold, 0 to 1."""


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


def judge(claim: Claim, places: Sequence[Place], index: EvidenceIndex) -> Finding:
    """How far the pages at `places` together hold `claim`.

    Supported is what is there word for word; or whose terms are in the best lines of the pages to the share of
    SUPPORT_THRESHOLD, while each number is near some of the other words, each name is there, and nothing is denied
    or turned round. A quotation must be word for word. A number that is on none of the pages makes it unsupported,
    whatever the words.
    """
    literal = verbatim_quotes(claim, index)
    quotes = [literal[place] for place in places if place in literal]
    if quotes:
        others = [place for place in places if place not in literal]
        return Finding("supported", 1.0, (*quotes, *_best_quotes(claim, others, index)), verbatim=True, hard=True)
    found = _best_quotes(claim, places, index)
    parts = index.parts(places)
    held = frozenset().union(*(_window(quote) for quote in found)) & claim.terms
    share = len(held) / len(claim.terms) if claim.terms else 0.0
    on_page = frozenset().union(*(part.numbers for part in parts))
    if not all(number & on_page for number in claim.numbers):
        return Finding("unsupported", round(min(share, WEAK_THRESHOLD), 4), found, verbatim=False, hard=False)
    hard = bool(parts) and not _doubtful(claim, found, parts, on_page, index)
    if share < WEAK_THRESHOLD:
        return Finding("unsupported", round(share, 4), found, verbatim=False, hard=hard)
    verdict = "supported" if hard and share >= SUPPORT_THRESHOLD else "weak"
    return Finding(verdict, round(share if hard else share / 2, 4), found, verbatim=False, hard=hard)


def verbatim_quotes(claim: Claim, index: EvidenceIndex) -> dict[Place, Quote]:
    """Where the claim occurs word for word, and the words on each of these pages; line breaks and hyphens aside.

    Of a claim with gaps ("lead … row") the longest piece decides, and the others must be in the same stretch of text,
    if need be in another order, as a table's caption and header are.
    """
    found: dict[Place, Quote] = {}
    if not claim.pieces:
        return found
    longest = max(claim.pieces, key=len)
    for passage in index.passages:
        for start, end in islice(passage.find(longest), _MOST_TIMES):
            if not _others_there(claim, longest, passage.text, passage.squeezed):
                break
            for place, left, right in passage.parts(start, end):
                for part in index.by_place[place]:
                    offset = passage.start + left - part.start
                    if (
                        part.path == passage.path
                        and offset >= 0
                        and part.text[offset:].startswith(passage.text[left:right])
                    ):
                        stop = offset + right - left
                        closing = _CLOSING.match(part.text, stop)
                        quote = Quote(part, offset, closing.end() if closing else stop, 1.0)
                        found.setdefault(place, quote)
                        break
    return found


def _others_there(claim: Claim, longest: str, text: str, squeezed_text: str) -> bool:
    missing = [piece for piece in claim.pieces if piece != longest and piece not in squeezed_text]
    if not missing:
        return True
    asked = [frozenset(terms(piece)) for piece in _GAP.split(claim.text) if squeezed(piece) in missing]
    held = frozenset(terms(text))
    return all(each <= held for each in asked)


def _best_quotes(claim: Claim, places: Sequence[Place], index: EvidenceIndex) -> tuple[Quote, ...]:
    """For each page the sentence or row that shares most terms with the claim, by itself and then with neighbours."""
    quotes = []
    asked = max(1, len(claim.terms))
    for place in places:
        best: tuple[tuple[int, int], Quote] | None = None
        for part in index.parts([place]):
            for i, unit in enumerate(part.units):
                around = len(part.terms_around(i) & claim.terms)
                order = (len(unit.terms & claim.terms), around)
                if best is None or order > best[0]:
                    best = order, Quote(part, unit.start, unit.end, around / asked)
        if best is not None:
            quotes.append(best[1])
    return tuple(quotes)


def _window(quote: Quote) -> frozenset[str]:
    return quote.part.terms_around(quote.part.unit_at(quote.start))


def _doubtful(
    claim: Claim, quotes: Sequence[Quote], parts: Sequence[PageSpan], on_page: frozenset[str], index: EvidenceIndex
) -> bool:
    """Whether something hard speaks against the claim, all of whose numbers are on the pages."""
    return (
        (claim.quoted and bool(claim.pieces))
        or not claim.spelled <= on_page
        or (any(map(is_negator, claim.words)) and not any(denies(_words_around(quote)) for quote in quotes))
        or _counts_otherwise(claim, parts)
        or any(not _stands_near(number, claim, parts) for number in claim.numbers)
        or any(_lacks(name, certain, claim, parts, index) for name, certain in claim.names.items())
        or any(_turns_round(claim, quote) for quote in quotes if quote.share >= WEAK_THRESHOLD)
        or any(is_altered(claim.words, part.words, claim.names, part.proper_names) for part in parts)
    )


def _stands_near(number: frozenset[str], claim: Claim, parts: Sequence[PageSpan]) -> bool:
    """Whether a number of the claim is in or next to a sentence that shares two other terms with it."""
    others = frozenset(term for term in claim.terms if not term[0].isdigit())
    needed = min(2, len(others))
    return any(
        number & there and len(part.terms_around(i) & others) >= needed
        for part in parts
        if number & part.numbers
        for i, there in enumerate(part.numbers_by_unit)
    )


def _counts_otherwise(claim: Claim, parts: Sequence[PageSpan]) -> bool:
    """Whether the claim says "35 layers" where the pages say "12 layers" and never 35."""
    for word, numbers in counted(claim.words).items():
        there = set().union(*(part.counted.get(word, ()) for part in parts))
        if there and not all(any(is_same_number(number, other) for other in there) for number in numbers):
            return True
    return False


def _lacks(name: str, certain: bool, claim: Claim, parts: Sequence[PageSpan], index: EvidenceIndex) -> bool:
    if any(name in squeezed(part.place[0]) for part in parts):
        return False
    if certain:
        return not any(holds_name(name, part.names, part.initials, part.squeezed) for part in parts)
    every = (part for parts_of_page in index.by_place.values() for part in parts_of_page)
    return bool(_SUBJECT.match(claim.text)) and not any(name in part.squeezed for part in every)


def _words_around(quote: Quote) -> frozenset[str]:
    return frozenset(words_of(quote.part.around(quote.part.unit_at(quote.start))))


def _turns_round(claim: Claim, quote: Quote) -> bool:
    """Whether the lines of the quote deny what the claim says, or the other way, or compare the other way round."""
    i = quote.part.unit_at(quote.start)
    present = _words_around(quote)
    if any(word not in present and antonyms_of(word) & present for word in claim.words):
        return True
    denied, said = claim.polarity
    page_denied, page_said = quote.part.polarity(i)
    return bool(denied & (page_said - page_denied) or (said - denied) & (page_denied - page_said))


class SupportScorer:
    """A reranker's score of a quote for a claim; none without a reranker, or after its failure."""

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self._warnings: list[str] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the reranker failed, if it did."""
        return tuple(self._warnings)

    def adjusted(self, claim: Claim, finding: Finding) -> Finding:
        """The finding, lifted to supported or lowered to weak.

        What is there word for word stays, and nothing is lifted against hard evidence.
        """
        if self._reranker is None or finding.verbatim or not finding.hard or not finding.quotes:
            return finding
        quotes = [quote.part.around(quote.part.unit_at(quote.start)) for quote in finding.quotes]
        try:
            scores = self._reranker.score(claim.text, [_ABOUT_NOTHING, claim.text, *quotes])
        except ModelProblem as problem:
            self._reranker = None
            self._warnings.append(f"Sentences are checked by words alone, because the reranker failed: {problem}")
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
