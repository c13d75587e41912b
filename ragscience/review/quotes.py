"""Where a quote stands in the papers, and how it differs from what is printed there.

A quote is looked for by its letters and digits alone, so that line ends, hyphens, ligatures and case do not matter;
where these are nowhere, by the likest run of letters (Levenshtein's distance, by rapidfuzz) in the passages that a
search finds.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.errors import LibraryDamaged, UsageError
from ragscience.core.records import Box, StoredChunk

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.paper_contents import PaperContents
    from ragscience.library.store import Store

ALIKE = 60.0
"""Of 100: how like its letters must be to those of an altered quote."""
_SAME_WORDS = 0.55
"""The least share of an altered quote's words that stand there, in order."""
_LEAST_WORDS, _LEAST_LETTERS = 4, 15
"""A shorter quote is found only as it is."""
_AROUND = 1500
"""Characters before and after a passage in which a quote of it may begin or end."""
_MOST_PLACES = 5
_LONGEST = 5000
_WORD = re.compile(r"\w+")
_LEFT_OUT = re.compile(r"\s*(?:\[?(?:…|\.\.\.)\]?)\s*")
_CUT_WORD = re.compile(r"(?<=\w)[-\u00ad\u2010]\s*\n\s*(?=\w)")
_ENDS = re.compile(r"^\W+|\W+$")
_MISREAD = 0.7
"""Words so like each other differ by a slip of the pen or of OCR."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A way in which a quote differs from what is printed."""

    kind: str
    """ "word", "number", "spelling", "missing" (of the quote), "added" (to it), "order", "hyphenation", "ligatures",
    "case" or "punctuation"."""
    quoted: str = ""
    printed: str = ""


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """Where a quote stands: `Document.text[start:end]`."""

    paper: Paper
    page: int
    """The first."""
    last_page: int
    start: int
    end: int
    text: str
    """What is printed there, on one line."""
    likeness: float
    """The share of the quote's words that stand there in order, 0 to 1."""
    differences: tuple[Difference, ...]
    """None for a quote that is exact but for where its lines end."""
    boxes: tuple[tuple[int, tuple[Box, ...]], ...]
    """The boxes on each page, in points; see `Box`."""


def find_quote_places(
    quote: str, library: Store, passages: Callable[[str], Sequence[StoredChunk]], papers: Sequence[Paper] = ()
) -> list[QuotePlace]:
    """The places of a quote, the likest first, _MOST_PLACES at most; exact ones alone where there are any.

    `passages` gives those that are most like a text; with `papers` only these are looked at, as a whole. Raises
    UsageError for a quote without a letter or digit, and for one of more than 5,000 characters.
    """
    wanted = quote.strip().strip("\"“”„«»'‘’").strip()
    if len(wanted) > _LONGEST or not _WORD.search(wanted):
        raise UsageError(
            "That is no quote." if len(wanted) <= _LONGEST else f"The quote has more than {_LONGEST:,} characters.",
            'Give some words of a paper: python query.py quote "…"',
        )
    near = list(passages(wanted)) if not papers else []
    known = {paper.paper_id: paper for paper in papers or library.papers()}
    ids = [paper.paper_id for paper in papers] or list(dict.fromkeys(chunk.paper_id for chunk in near))
    texts = [_PaperText(known[one], contents) for one in ids if one in known and (contents := _contents(library, one))]
    exact = [place for text in texts for place in text.exact(wanted)]
    if exact:
        return exact[:_MOST_PLACES]
    spans: dict[int, list[tuple[int, int]]] = {}
    for chunk in near:
        spans.setdefault(chunk.paper_id, []).append((chunk.start - _AROUND, chunk.end + _AROUND))
    found = [place for text in texts for place in text.altered(wanted, spans.get(text.paper.paper_id))]
    found.sort(key=lambda place: -place.likeness)
    return [place for place in found if place.likeness >= found[0].likeness - 0.1][:_MOST_PLACES]


def _contents(library: Store, paper_id: int) -> PaperContents | None:
    """The pages of a paper; None where they are damaged."""
    try:
        contents = library.contents(paper_id)
    except LibraryDamaged:
        return None
    return contents if contents.damage is None and contents.pages else None


class _Letters:
    """The letters and digits of a text, folded, each with its place."""

    def __init__(self, text: str, first: int = 0) -> None:
        letters: list[str] = []
        self.places: list[int] = []
        for place, char in enumerate(text, first):
            for folded in _folded(char):
                letters.append(folded)
                self.places.append(place)
        self.text = "".join(letters)


_KNOWN: dict[str, str] = {}


def _folded(char: str) -> str:
    """A character's letters and digits, without ligatures, case and accents."""
    if char not in _KNOWN:
        plain = unicodedata.normalize("NFKD", char).casefold()
        _KNOWN[char] = "".join(one for one in plain if one.isalnum())
    return _KNOWN[char]


class _PaperText:
    """The whole text of a paper, in which a quote may cross the end of a page."""

    def __init__(self, paper: Paper, contents: PaperContents) -> None:
        self.paper = paper
        self._contents = contents
        self._starts = [page.start for page in contents.pages]
        text = ""
        for page, words in zip(contents.pages, contents.texts, strict=True):
            text = text.ljust(page.start, "\n") + words
        self._text = text
        self._letters = _Letters(text)

    def exact(self, quote: str) -> Iterator[QuotePlace]:
        """Where all letters of the quote stand, in their order; an ellipsis leaves something out."""
        parts = [_Letters(part).text for part in _LEFT_OUT.split(quote)]
        parts = [part for part in parts if part]
        letters, at = self._letters, 0
        while (first := letters.text.find(parts[0], at)) >= 0:
            at = first + len(parts[0])
            for part in parts[1:]:
                following = letters.text.find(part, at, at + _LONGEST)
                if following < 0:
                    return
                at = following + len(part)
            start, end = letters.places[first], letters.places[at - 1] + 1
            if self._is_whole(start, end):
                yield self._place(start, end, 1.0, _small_differences(quote, self._text[start:end], parts))

    def _is_whole(self, start: int, end: int) -> bool:
        """Whether no word is cut at either end."""
        before, behind = self._text[max(0, start - 1) : start], self._text[end : end + 1]
        return not (before.isalnum() or behind.isalnum())

    def altered(self, quote: str, spans: Iterable[tuple[int, int]] | None) -> Iterator[QuotePlace]:
        """The place that is likest the quote, in these spans of the text or in all of it, where it is like enough."""
        from rapidfuzz import fuzz

        wanted = _Letters(quote).text
        words = _words(quote)
        if len(words) < _LEAST_WORDS or len(wanted) < _LEAST_LETTERS:
            return
        best: tuple[float, int, int] = (0.0, 0, 0)
        for low, high in spans if spans is not None else [(0, len(self._text))]:
            first = bisect_right(self._letters.places, max(0, low) - 1)
            part = self._letters.text[first : bisect_right(self._letters.places, high)]
            if len(part) < len(wanted):
                continue
            found = fuzz.partial_ratio_alignment(wanted, part, score_cutoff=max(ALIKE, best[0]))
            if found is not None and found.score > best[0] and found.dest_end > found.dest_start:
                places = self._letters.places
                best = found.score, places[first + found.dest_start], places[first + found.dest_end - 1] + 1
        if not best[0]:
            return
        start, end = self._at_words(best[1], best[2])
        share, differences = _differences(quote, self._text[start:end])
        if share >= _SAME_WORDS:
            yield self._place(start, end, share, differences)

    def _at_words(self, start: int, end: int) -> tuple[int, int]:
        """The span with whole words at its ends."""
        while start and self._text[start - 1].isalnum() and self._text[start].isalnum():
            start -= 1
        while end < len(self._text) and self._text[end].isalnum() and self._text[end - 1].isalnum():
            end += 1
        return start, end

    def _place(self, start: int, end: int, likeness: float, differences: Sequence[Difference]) -> QuotePlace:
        first, last = (bisect_right(self._starts, at) - 1 for at in (start, end - 1))
        pages = self._contents.pages[first : last + 1]
        boxes = tuple((page.number, self._contents.boxes(page.number, start, end)) for page in pages)
        text = " ".join(_CUT_WORD.sub("", self._text[start:end]).split())
        numbers = pages[0].number, pages[-1].number
        return QuotePlace(self.paper, *numbers, start, end, text, round(likeness, 3), tuple(differences), boxes)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFKC", _CUT_WORD.sub("", text)))]


def _small_differences(quote: str, printed: str, parts: Sequence[str]) -> list[Difference]:
    """How a quote of the same letters differs; nothing where only its lines end elsewhere."""
    one, other = (_ENDS.sub("", " ".join(text.split())) for text in (quote, printed))
    if one == other or len(parts) > 1:
        return []
    steps: list[tuple[str, Callable[[str], str]]] = [
        ("hyphenation", lambda text: re.sub(r"(?<=\w)[-\u00ad\u2010-\u2015]\s*(?=\w)|(?<=\w) (?=\w)", "", text)),
        ("ligatures", lambda text: unicodedata.normalize("NFKC", text)),
        ("case", str.casefold),
    ]
    found = []
    for kind, fold in steps:
        one, other, before = fold(one), fold(other), (one, other)
        if _alikeness(one, other) > _alikeness(*before):
            found.append(Difference(kind))
    return [*found, *([Difference("punctuation")] if one != other else [])]


def _alikeness(one: str, other: str) -> float:
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other)


def _differences(quote: str, printed: str) -> tuple[float, list[Difference]]:
    """(the share of the quote's words that are printed in order, how the others differ)."""
    mine, theirs = _words(quote), _words(printed)
    codes = difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    same = sum(last - first for tag, first, last, _, _ in codes if tag == "equal")
    found, gone, come = [], Counter[str](), Counter[str]()
    for tag, first, last, start, end in codes:
        quoted, said = mine[first:last], theirs[start:end]
        if tag != "equal":
            gone.update(quoted)
            come.update(said)
            found.append(Difference(_kind(quoted, said), " ".join(quoted), " ".join(said)))
    if gone and gone == come:
        found = [Difference("order", " ".join(mine), " ".join(theirs))]
    return same / len(mine), found


def _kind(quoted: Sequence[str], printed: Sequence[str]) -> str:
    one, other = "".join(quoted), "".join(printed)
    if not one or not other:
        return "added" if one else "missing"
    if any(char.isdigit() for char in one + other):
        return "number"
    if one == other:
        return "hyphenation"
    return "spelling" if difflib.SequenceMatcher(None, one, other).ratio() >= _MISREAD else "word"
