"""Whether pages say what a sentence claims, by its words, numbers and names: the same answer every time.

A number is read: with "how many" in its place the sentence is a question, and the number must be what the span reader
finds for it (as in QAGS: Wang, Cho and Lewis, ACL 2020). A name is read with "which" in its place, and the reader must
not surely find another one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from ragscience.claims.evidence import EvidenceIndex, PageSpan, PageUnit, Place
from ragscience.claims.facts import UNIVERSAL, Difference, Number, Said, alteration, squeezed
from ragscience.core.errors import ModelProblem
from ragscience.core.tokenizing import joined_lines
from ragscience.core.tokenizing import terms as stems
from ragscience.models.model_protocols import Reader

SUPPORT_THRESHOLD = 0.5
"""Share of a sentence's content words that the cited lines must hold."""
WEAK_THRESHOLD = 0.25
"""Below it a page has nothing to do with the sentence."""

_NEARLY_ALL = 0.9
"""Share of a sentence's terms that a page's lines must hold to support it: other words may say something else."""
_DENSE = 0.6
"""Words of a sentence over those of the shortest part of a line with its terms: further apart they say other things."""
_VERBATIM_CHARS, _VERBATIM_WORDS = 12, 3
"""Letters and digits, and words: less is on many pages by chance."""
_MOST_TIMES = 50
"""Most occurrences of the same words in one passage that are compared."""
_READ_UNITS = 8
"""Sentences or rows of the pages that are read for a number: those that share most terms with the claim."""
_MOST_READ = 4
"""Numbers, and names, of a sentence that are read."""
_BEHIND = 0.5
"""Log-odds by which the reader may prefer another place: it is not so sure of itself."""
_SURELY = 0.5
"""Probability from which on another name that the reader finds counts."""
_BESIDE_UNITS = 3
_FEW = 3
"""A number in words up to this is often the writer's own: "both of the two", "on one page"."""
_BESIDE = 25
"""Characters around a span in which a number's unit is looked for."""
_CLOSING = re.compile(r"[.!?…”\"'’)\]]*")


class Claim(Said):
    """A sentence of an answer, without its citations."""

    def __init__(self, text: str, *, quoted: bool = False, own: str = "") -> None:
        super().__init__(text)
        self._own = frozenset(stems(own))
        """The names of the paper that it is held against and its authors': its lines say "we" and "our model"."""
        self.quoted = quoted
        """Whether it says that it is word for word on a page."""
        self.verbatim: dict[Place, Quote] | None = None
        """Where it is, once that was looked for."""

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its content words, as stems, without the paper's own names."""
        return (super().terms - self._own) or super().terms

    def owns(self, name: str) -> bool:
        """Whether it is a name of the paper that it is held against."""
        return bool(stems(name)) and self._own.issuperset(stems(name))

    def share_in(self, *texts: Said) -> float:
        """Share of its terms that the texts hold together, 0 to 1."""
        held = frozenset[str]().union(*(text.terms for text in texts)) & self.terms
        return len(held) / max(1, len(self.terms))

    def density_in(self, text: Said) -> float:
        """Its content words, over those of the shortest part of the text that has all of them that the text has."""
        own = frozenset[str]().union(*self.content) & frozenset[str]().union(*text.content)
        shortest, begin, seen = len(text.content), 0, Counter[str]()
        for end, word in enumerate(text.content, start=1):
            seen.update(word & own)
            while own and len(seen) == len(own):
                shortest = min(shortest, end - begin)
                seen -= Counter(text.content[begin] & own)
                begin += 1
        return len(self.content) / max(1, shortest)


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
    verbatim: bool = False
    differences: tuple[Difference, ...] = ()
    """What the pages say otherwise."""

    @property
    def best(self) -> Quote | None:
        """The quote that holds most."""
        return max(self.quotes, key=lambda quote: quote.share, default=None)


_RANK = {"unsupported": 0, "weak": 1, "supported": 2}


def strength(finding: Finding) -> tuple[int, float]:
    """By which findings are compared."""
    return _RANK[finding.verdict] + (2 if finding.verbatim else 0), finding.score


class Judge:
    """Holds claims against pages. `read` reads their numbers; without it, no number is supported by words alone."""

    def __init__(self, index: EvidenceIndex, read: Reader | None) -> None:
        self._index = index
        self._read = read
        self.warnings: tuple[str, ...] = ()
        """Why the model failed, if it did."""

    def judge(self, claim: Claim, places: Sequence[Place]) -> Finding:
        """As the words find it, but weak where the pages have another number or name in the place of the claim's."""
        finding = self.by_words(claim, places)
        is_read = claim.numbers or claim.names
        if finding.verdict == "supported" and not finding.verbatim and is_read and not self._reads(claim, places):
            return replace(finding, verdict="weak")
        return finding

    def best_place(self, claim: Claim, places: Iterable[Place]) -> tuple[Place, ...]:
        """The one of the pages that holds most of the claim, as far as words go; none of none."""
        by_strength = lambda place: strength(self.by_words(claim, [place]))  # noqa: E731
        return tuple(sorted(places, key=by_strength, reverse=True)[:1])

    def share_beside(self, claim: Claim, nearest: Sequence[PageUnit]) -> float:
        """Share of the claim's terms that the first lines of `nearest` and those around them hold, 0 to 1."""
        return claim.share_in(*(unit.around for unit in nearest[:_BESIDE_UNITS]))

    def nearest(self, claim: Claim, places: Sequence[Place]) -> list[tuple[PageSpan, PageUnit]]:
        """The sentences and rows of these pages that share most terms with the claim, with those around them, 8."""
        units = [(span, unit) for span in self._index.spans(places) for unit in span.units]

        def nearness(one: tuple[PageSpan, PageUnit]) -> float:
            unit = one[1]
            numbers = sum(number.is_in(unit) for number in claim.numbers) / max(1, len(claim.numbers))
            return claim.share_in(unit) + (claim.share_in(unit.around) + numbers) / 2

        return sorted(units, key=nearness, reverse=True)[:_READ_UNITS]

    def doubts(self, claim: Claim, nearest: Sequence[PageUnit], places: Sequence[Place]) -> Iterator[Difference]:
        """What the claim says and the paper, at `places`, does not; `nearest` are its lines, as `nearest` gives them.

        That is what the nearest line, nearly the same, says otherwise; the numbers, with unit and bound, that no line
        around these and no row about the same has; names that are nowhere; and words by which it says more.
        """
        if altered := alteration(claim, nearest[0]):
            yield altered
        told = altered.kind if altered else ""
        words = frozenset(word for unit in nearest[:_BESIDE_UNITS] for word in unit.around.words)
        asked = [] if told == "number" else claim.numbers
        numbers = [number for number in asked if not (number.spelled and number.value <= _FEW)]
        lacking = [number for number in numbers if not any(number.is_said_in(unit.around) for unit in nearest)]
        spans = self._index.spans(places)
        if lacking:
            units = (unit for span in spans for unit in span.units)
            rows = [unit for unit in units if unit.is_row and claim.share_in(unit) >= WEAK_THRESHOLD]
            lacking = [number for number in lacking if not any(number.is_said_in(row) for row in rows)]
        for number in lacking:
            printed = dict.fromkeys(one.shown for one in nearest[0].numbers)
            yield Difference("number", number.shown, ", ".join(printed))
        names = [] if told == "name" else claim.names
        yield from (Difference("name", name) for name in names if not _has_name(claim, name, spans))
        yield from (Difference("overclaim", word) for word in claim.words if word in UNIVERSAL and word not in words)

    def by_words(self, claim: Claim, places: Sequence[Place]) -> Finding:
        """How far the pages at `places` together hold `claim`, by its words.

        Supported is what is there word for word, and as far as words go: nearly all of whose terms stand near each
        other in the best lines, or in a row of a table and its header, and that deny as it does.
        Unsupported is what the pages speak against: a number or name that is on none of them, or the best lines with
        something else in its place; and what shares nearly nothing with them. A quotation must be word for word.
        """
        literal = self._verbatim(claim)
        quotes = tuple(quote for place in places if (quote := literal.get(place) or self._best_quote(claim, place)))
        if any(place in literal for place in places):
            return Finding("supported", 1.0, quotes, verbatim=True)
        share = claim.share_in(*(quote.unit.around for quote in quotes))
        spans = self._index.spans(places)
        is_near = share >= WEAK_THRESHOLD
        differences = tuple(dict.fromkeys(_contradictions(claim, quotes, spans))) if is_near else ()
        if differences or not is_near:
            return Finding("unsupported", round(min(share, WEAK_THRESHOLD), 4), quotes, differences=differences)
        lines = [quote.unit.around if quote.unit.is_row else quote.unit for quote in quotes]
        denied = all(_near(claim, quote.unit).negates != claim.negates for quote in quotes)
        is_held = claim.share_in(*lines) >= _NEARLY_ALL and not (denied or claim.quoted)
        is_held &= any(quote.unit.is_row or claim.density_in(quote.unit) >= _DENSE for quote in quotes)
        return Finding("supported" if is_held else "weak", round(share, 4), quotes)

    def _verbatim(self, claim: Claim) -> dict[Place, Quote]:
        """Where the claim occurs word for word, and the words on each of these pages; line breaks and hyphens aside."""
        if claim.verbatim is not None:
            return claim.verbatim
        found: dict[Place, Quote] = {}
        claim.verbatim = found
        if len(claim.squeezed) < _VERBATIM_CHARS or len(claim.words) < _VERBATIM_WORDS:
            return found
        for passage in self._index.passages:
            for start, end in islice(passage.find(claim.squeezed), _MOST_TIMES):
                for span in passage.spans:
                    left, right = max(0, start - span.at), min(len(span.text), end - span.at)
                    if left < right and span.text[left:right].strip():
                        closing = _CLOSING.match(span.text, right)
                        quote = Quote(span, left, closing.end() if closing else right, 1.0)
                        found.setdefault(span.place, quote)
        return found

    def _best_quote(self, claim: Claim, place: Place) -> Quote | None:
        """The sentence or row of a page that shares most terms with the claim, then that whose neighbours do."""
        units = [(span, unit) for span in self._index.spans([place]) for unit in span.units]
        if not units:
            return None
        most = max(claim.share_in(unit) for _, unit in units)
        best = [each for each in units if claim.share_in(each[1]) == most]
        span, unit = max(best, key=lambda each: (claim.share_in(each[1].around), -len(each[1].terms)))
        return Quote(span, unit.start, unit.end, claim.share_in(unit.around))

    def _reads(self, claim: Claim, places: Sequence[Place]) -> bool:
        """Whether each number of the claim is what the pages have in its place, and no name is surely another."""
        read = self._read
        if read is None:
            return not claim.numbers
        texts = [joined_lines(unit.text) for _, unit in self.nearest(claim, places)]
        names = [(name, question) for name, question in claim.name_questions() if not claim.owns(name)]
        try:
            return all(_is_read(number, texts, read) for number in claim.numbers[:_MOST_READ]) and not any(
                _is_another(name, question, texts, read) for name, question in names[:_MOST_READ]
            )
        except ModelProblem as problem:
            self._read = None
            self.warnings = (f"No number is found supported, because the model that reads them failed: {problem}",)
            return not claim.numbers


def _contradictions(claim: Claim, quotes: Sequence[Quote], spans: Sequence[PageSpan]) -> Iterator[Difference]:
    """The numbers and names of the claim that the pages lack, and where their best lines say otherwise."""
    near = (_near(claim, quote.unit) for quote in quotes if quote.share >= WEAK_THRESHOLD)
    altered = [found for text in near if (found := alteration(claim, text)) is not None]
    yield from altered
    for number in () if any(one.kind == "number" for one in altered) else claim.numbers:
        if not number.spelled and not any(number.is_in(span) for span in spans):
            printed = dict.fromkeys(each.shown for quote in quotes for each in quote.unit.numbers)
            yield Difference("number", number.shown, ", ".join(printed))
    yield from (Difference("name", name) for name in claim.names if not _has_name(claim, name, spans))


def _has_name(claim: Claim, name: str, spans: Sequence[PageSpan]) -> bool:
    """Whether a name of the claim is the paper's own, in a file's name or in the text."""
    return claim.owns(name) or any(name in squeezed(span.place[0]) or span.holds_name(name) for span in spans)


def _near(claim: Claim, unit: PageUnit) -> Said:
    """The line; with those beside it where it says less than half of the claim."""
    return unit if claim.share_in(unit) >= SUPPORT_THRESHOLD else unit.around


def _is_read(number: Number, texts: Sequence[str], read: Reader) -> bool:
    found = read(f"{number.question.rstrip(' .')}?", texts)
    enough = max((span.score for span in found), default=0.0) - _BEHIND
    return any(
        span.score >= enough and _agrees(number, text, span.start, span.end)
        for text, span in zip(texts, found, strict=True)
    )


def _is_another(name: str, question: str, texts: Sequence[str], read: Reader) -> bool:
    found = read(f"{question.rstrip(' .')}?", texts)
    best = max(found, key=lambda span: span.score)
    bare = squeezed(name)
    return best.probability >= _SURELY and not any(
        span.score >= best.score - _BEHIND and bare in squeezed(text[span.start : span.end])
        for text, span in zip(texts, found, strict=True)
    )


def _agrees(number: Number, text: str, start: int, end: int) -> bool:
    """Whether the span has this number, and what is beside it the same unit and bound."""
    beside = Said(text[max(0, start - _BESIDE) : end + _BESIDE])
    return number.is_in(Said(text[start:end])) and number.is_said_in(beside)
